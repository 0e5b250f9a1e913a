"""Links to media in S3, signed with the credentials of this process."""

import base64
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from botocore.exceptions import BotoCoreError
from urllib3.exceptions import HTTPError

from nacre.adapters.aws.calls import AwsCalls, Sleep, unavailable
from nacre.adapters.input_checks import check_blob_name
from nacre.core.errors import ConfigurationError, InvalidInputError
from nacre.core.limits import MEDIA_LINK_SECONDS
from nacre.ports.media.media_links import UploadLink

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class S3MediaLinks:
    """MediaLinks in one bucket, whose default encryption seals what clients send."""

    def __init__(
        self, client: "S3Client", bucket: str, *, kms_key_id: str, sleep: Sleep = time.sleep
    ) -> None:
        self._client = client
        self._aws = AwsCalls(client, sleep=sleep)
        self._bucket = bucket
        self._kms_key_id = kms_key_id

    def upload(self, name: str, *, size: int, mime_type: str, sha256: str = "") -> UploadLink:
        """Return a link for one PUT: length, type and hash are signed, and that it is the first."""
        check_blob_name(name)
        signed: dict[str, Any] = {"ContentType": mime_type, "IfNoneMatch": "*"}
        headers = {"Content-Type": mime_type, "If-None-Match": "*"}
        if sha256:
            digest = base64.b64encode(bytes.fromhex(sha256)).decode()
            signed["ChecksumSHA256"] = headers["x-amz-checksum-sha256"] = digest
        url = self._signed("put_object", name, ContentLength=size, **signed)
        return UploadLink(url, headers)

    def uploaded(self, name: str, *, size: int) -> bytes | None:
        """Return the uploaded content, or None; one of another size is not read."""
        check_blob_name(name)
        answer = self._call("get_object", Key=name)
        if answer is None:
            return None
        with answer["Body"] as body:
            if answer["ContentLength"] != size:
                raise InvalidInputError(
                    f"{answer['ContentLength']} bytes were uploaded, and {size} were announced"
                )
            try:  # the answer has begun; its bytes still have to arrive
                return bytes(body.read())
            except (BotoCoreError, HTTPError) as error:
                raise unavailable("get_object", error) from error

    def download(self, name: str, data: bytes, *, mime_type: str, file_name: str) -> str:
        """Store the content, and return a link that a browser saves and does not show."""
        check_blob_name(name)
        self._call(
            "put_object",
            Key=name,
            Body=data,
            ContentType=mime_type,
            ServerSideEncryption="aws:kms",
            SSEKMSKeyId=self._kms_key_id,
            BucketKeyEnabled=True,
        )
        disposition = f"attachment; filename*=UTF-8''{quote(file_name, safe='')}"
        return self._signed("get_object", name, ResponseContentDisposition=disposition)

    def delete(self, name: str) -> None:
        """Remove a content, if there is one."""
        check_blob_name(name)
        self._call("delete_object", Key=name)

    def _signed(self, operation: str, name: str, **parameters: Any) -> str:
        return self._client.generate_presigned_url(
            operation,
            Params={"Bucket": self._bucket, "Key": name, **parameters},
            ExpiresIn=MEDIA_LINK_SECONDS,
        )

    def _call(self, operation: str, **parameters: Any) -> Any:
        missing = ConfigurationError(
            f"the bucket {self._bucket} does not exist; is the stack deployed?"
        )
        errors = {"NoSuchKey": None, "404": None, "NoSuchBucket": missing}
        return self._aws.ask(operation, errors, Bucket=self._bucket, **parameters)
