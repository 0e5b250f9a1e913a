"""Secrets on AWS: SecureString parameters of Systems Manager under one path."""

import time
from typing import TYPE_CHECKING, Any

from nacre.adapters.aws.calls import REFUSALS, AwsCalls, Sleep
from nacre.core.errors import ForbiddenError
from nacre.core.names import checked_secret_name

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient


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
        """Store the secret, replacing an older value."""
        self._call(
            "put_parameter",
            Name=self._path(name),
            Value=value,
            Type="SecureString",
            KeyId=self._key_arn,
            Overwrite=True,
        )

    def unset(self, name: str) -> bool:
        """Delete the secret; return False if it was not set."""
        return self._call("delete_parameter", Name=self._path(name)) is not None

    def names(self) -> list[str]:
        """Return the names of the stored secrets, sorted."""
        names: list[str] = []
        next_page: dict[str, str] = {}
        while True:
            answer = self._call("get_parameters_by_path", Path=self._prefix, **next_page) or {}
            names += [
                parameter["Name"].rpartition("/")[2] for parameter in answer.get("Parameters", [])
            ]
            if not (token := answer.get("NextToken")):
                return sorted(names)
            next_page = {"NextToken": token}

    def _path(self, name: str) -> str:
        return f"{self._prefix}/{checked_secret_name(name)}"

    def _call(self, operation: str, **parameters: Any) -> Any:
        """Return AWS's answer, or None when there is no such parameter."""
        forbidden = ForbiddenError(f"these AWS credentials are not allowed to call {operation}")
        errors = {"ParameterNotFound": None, **dict.fromkeys(REFUSALS, forbidden)}
        return self._aws.ask(operation, errors, **parameters)
