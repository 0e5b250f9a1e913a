"""Blobs in S3. Expired ones are hidden from readers, and the bucket's lifecycle removes them."""

import time
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError
from urllib3.exceptions import HTTPError

from nacre.adapters.aws.calls import AwsCalls, Sleep, unavailable
from nacre.adapters.input_checks import blob_end, check_blob_name
from nacre.core.clock import Clock, system_clock
from nacre.core.errors import ConfigurationError, UnavailableError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_END = "nacre-until"


class S3Blobs:
    """Blobs in one bucket, encrypted under one KMS key."""

    def __init__(
        self,
        client: "S3Client",
        bucket: str,
        *,
        kms_key_id: str,
        now: Clock = system_clock,
        sleep: Sleep = time.sleep,
    ) -> None:
        self._aws = AwsCalls(client, sleep=sleep)
        self._bucket = bucket
        self._kms_key_id = kms_key_id
        self._clock = now

    def put(self, name: str, data: bytes, *, until: datetime | None = None) -> None:
        """Store the bytes under the name, atomically; older bytes of that name are replaced."""
        check_blob_name(name)
        end = blob_end(data, until, self._clock())
        self._call(
            "put_object",
            Key=name,
            Body=data,
            Metadata={_END: str(end)},
            ServerSideEncryption="aws:kms",
            SSEKMSKeyId=self._kms_key_id,
            BucketKeyEnabled=True,
        )

    def get(self, name: str) -> bytes | None:
        """Return the bytes, or None when there are none or their time is over."""
        check_blob_name(name)
        # Without the right to list the bucket, S3 refuses what is not there.
        answer = self._call("get_object", {"AccessDenied": None}, Key=name)
        if answer is None or int(answer["Metadata"][_END]) <= self._clock().timestamp():
            return None
        try:  # the answer has begun; its bytes still have to arrive
            return bytes(answer["Body"].read())
        except (BotoCoreError, HTTPError) as error:
            raise unavailable("get_object", error) from error

    def delete(self, name: str) -> None:
        """Remove the bytes, if there are any."""
        check_blob_name(name)
        self._call("delete_object", Key=name)

    def delete_all(self, folder: str) -> None:
        """Remove everything whose name begins with this part and a slash."""
        check_blob_name(folder)
        while True:
            page = self._call("list_objects_v2", Prefix=f"{folder}/") or {}
            names = [{"Key": entry["Key"]} for entry in page.get("Contents", [])]
            if not names:
                return
            answer = self._call("delete_objects", Delete={"Objects": names, "Quiet": True})
            if answer.get("Errors"):
                code = answer["Errors"][0].get("Code")
                raise UnavailableError(f"S3 did not delete {len(answer['Errors'])} blobs ({code})")

    def _call(
        self,
        operation: str,
        absent: Mapping[str, None] = MappingProxyType({}),
        **parameters: Any,
    ) -> Any:
        missing = ConfigurationError(
            f"the bucket {self._bucket} does not exist; is the stack deployed?"
        )
        errors = {"NoSuchKey": None, "404": None, "NoSuchBucket": missing, **absent}
        return self._aws.ask(operation, errors, Bucket=self._bucket, **parameters)
