"""Answers of AWS that did not arrive whole: errors, and never the answer "nothing is there"."""

import zlib
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import HTTPClientError


def refuse_broken_answers(client: Any) -> None:
    """Let a client's calls fail where an answer was cut off or is none.

    The SDK takes a body that it cannot read for an empty one. A read would then say that an
    item does not exist, and a write that it was done.
    """
    client.meta.events.register("before-parse", _check)


def _check(response_dict: Mapping[str, Any], operation_model: Any, **_: Any) -> None:
    body = response_dict["body"]
    if not isinstance(body, bytes) or operation_model.http.get("method") == "HEAD":
        return  # a stream is checked while it is read, and HEAD has no body
    headers = response_dict["headers"]
    told = headers.get("content-length")
    checksum = headers.get("x-amz-crc32")
    if told is not None and told.strip() != str(len(body)):
        raise _broken(f"{len(body)} bytes came of {told}")
    if checksum is not None and checksum.strip() != str(zlib.crc32(body)):
        raise _broken("its checksum is another")
    service = operation_model.service_model
    # Some services say nothing where there is nothing to say; DynamoDB is not one of them.
    says_json = service.resolved_protocol == "json" and (body or service.service_name == "dynamodb")
    if says_json and response_dict["status_code"] < 300 and not _is_object(body):
        raise _broken("it is no JSON object")


def _is_object(body: bytes) -> bool:
    return body.lstrip().startswith(b"{") and body.rstrip().endswith(b"}")


def _broken(why: str) -> HTTPClientError:
    return HTTPClientError(error=f"the answer did not arrive whole: {why}")
