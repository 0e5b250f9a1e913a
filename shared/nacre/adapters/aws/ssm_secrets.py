"""Secrets on AWS: SecureString parameters of Systems Manager under one path."""

import time
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from nacre.adapters.aws.calls import AwsCalls, Sleep, error_code, unavailable
from nacre.core.errors import ForbiddenError
from nacre.core.names import checked_secret_name

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

_REFUSALS = ("AccessDeniedException", "UnrecognizedClientException", "ExpiredTokenException")


class SsmSecrets:
    """Secrets as parameters `PREFIX/NAME`, encrypted by one KMS key."""

    def __init__(
        self, client: "SSMClient", *, prefix: str, key_arn: str, sleep: Sleep = time.sleep
    ) -> None:
        self._aws = AwsCalls(client, sleep=sleep)
        self._prefix = prefix.rstrip("/")
        self._key_arn = key_arn

    def get(self, name: str) -> str | None:
        """Return the secret, or None when it is not set."""
        answer = self._call("get_parameter", Name=self._path(name), WithDecryption=True)
        return None if answer is None else str(answer["Parameter"]["Value"])

    def set(self, name: str, value: str) -> None:
        """Keep the secret, in place of what was there."""
        self._call(
            "put_parameter",
            Name=self._path(name),
            Value=value,
            Type="SecureString",
            KeyId=self._key_arn,
            Overwrite=True,
        )

    def unset(self, name: str) -> bool:
        """Forget the secret; False when it was not set."""
        return self._call("delete_parameter", Name=self._path(name)) is not None

    def names(self) -> list[str]:
        """Return the names that are set, in order."""
        names: list[str] = []
        more: dict[str, str] = {}
        while True:
            answer = self._call("get_parameters_by_path", Path=self._prefix, **more) or {}
            names += [found["Name"].rpartition("/")[2] for found in answer.get("Parameters", [])]
            if not (token := answer.get("NextToken")):
                return sorted(names)
            more = {"NextToken": token}

    def _path(self, name: str) -> str:
        return f"{self._prefix}/{checked_secret_name(name)}"

    def _call(self, operation: str, **parameters: Any) -> Any:
        """Return AWS's answer, or None when there is no such parameter."""
        try:
            return self._aws.call(operation, twice=True, **parameters)
        except ClientError as error:
            if error_code(error) == "ParameterNotFound":
                return None
            if error_code(error) in _REFUSALS:
                raise ForbiddenError(f"these AWS credentials may not do {operation}") from error
            raise unavailable(operation, error) from error
