"""Make calls fail if an answer of AWS did not arrive completely."""

import zlib
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import HTTPClientError


def refuse_broken_answers(client: Any) -> None:
    """Make a client's calls fail if an answer was cut off or is not JSON.

    The SDK treats a body that it cannot read as an empty one. A read would then report that an
    item does not exist, and a write that it was done.
    """
    client.meta.events.register("before-parse", _check)


def _check(response_dict: Mapping[str, Any], operation_model: Any, **_: Any) -> None:
    body = response_dict["body"]
    if not isinstance(body, bytes) or operation_model.http.get("method") == "HEAD":
        return  # a stream is checked while it is read, and HEAD has no body
    headers = response_dict["headers"]
    length = headers.get("content-length")
    checksum = headers.get("x-amz-crc32")
    if length is not None and length.strip() != str(len(body)):
        raise _broken(f"{len(body)} of {length} bytes arrived")
    if checksum is not None and checksum.strip() != str(zlib.crc32(body)):
        raise _broken("its checksum is wrong")
    service = operation_model.service_model
    # Some services send an empty body if there is nothing to return; DynamoDB never does.
    expects_json = service.resolved_protocol == "json" and (
        body or service.service_name == "dynamodb"
    )
    if expects_json and response_dict["status_code"] < 300 and not _is_object(body):
        raise _broken("it is not a JSON object")


def _is_object(body: bytes) -> bool:
    return body.lstrip().startswith(b"{") and body.rstrip().endswith(b"}")


def _broken(why: str) -> HTTPClientError:
    return HTTPClientError(error=f"the answer did not arrive completely: {why}")
