"""The vault on AWS: KMS with the context as its encryption context."""

import time
from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from nacre.adapters.aws.calls import AwsCalls, Sleep, error_code, unavailable
from nacre.adapters.rules.vault_rules import broken_seal, check_secret

if TYPE_CHECKING:
    from mypy_boto3_kms import KMSClient

_BROKEN = frozenset({"InvalidCiphertextException", "IncorrectKeyException"})


class KmsVault:
    """A Vault under one KMS key."""

    def __init__(
        self,
        client: "KMSClient",
        key_id: str,
        *,
        sleep: Sleep = time.sleep,
        rng: Random | None = None,
    ) -> None:
        self._aws = AwsCalls(client, sleep=sleep, rng=rng)
        self._key_id = key_id

    def seal(self, plaintext: bytes, *, context: Mapping[str, str]) -> bytes:
        """Return the wrapped form."""
        check_secret(plaintext, context)
        try:
            answer = self._aws.call(
                "encrypt",
                twice=True,
                KeyId=self._key_id,
                Plaintext=plaintext,
                EncryptionContext=dict(context),
            )
        except ClientError as error:
            raise unavailable("encrypt", error) from error
        return bytes(answer["CiphertextBlob"])

    def open(self, sealed: bytes, *, context: Mapping[str, str]) -> bytes:
        """Return what was wrapped; raise BrokenSealError when it does not open."""
        if not sealed:
            raise broken_seal()
        try:
            answer = self._aws.call(
                "decrypt",
                twice=True,
                KeyId=self._key_id,
                CiphertextBlob=sealed,
                EncryptionContext=dict(context),
            )
        except ClientError as error:
            if error_code(error) in _BROKEN:
                raise broken_seal() from error
            raise unavailable("decrypt", error) from error
        return bytes(answer["Plaintext"])
