"""The vault on AWS: KMS with the context as its encryption context."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nacre.adapters.aws.calls import AwsCalls, Sleep
from nacre.adapters.input_checks import broken_seal, check_secret

if TYPE_CHECKING:
    from mypy_boto3_kms import KMSClient

_BROKEN = ("InvalidCiphertextException", "IncorrectKeyException")


class KmsVault:
    """A Vault under one KMS key."""

    def __init__(self, client: "KMSClient", key_id: str, *, sleep: Sleep = time.sleep) -> None:
        self._aws = AwsCalls(client, sleep=sleep)
        self._key_id = key_id

    def seal(self, plaintext: bytes, *, context: Mapping[str, str]) -> bytes:
        """Return the sealed form."""
        check_secret(plaintext, context)
        answer = self._aws.ask(
            "encrypt", KeyId=self._key_id, Plaintext=plaintext, EncryptionContext=dict(context)
        )
        return bytes(answer["CiphertextBlob"])

    def open(self, sealed: bytes, *, context: Mapping[str, str]) -> bytes:
        """Return the plain form; raise BrokenSealError when it does not open."""
        if not sealed:
            raise broken_seal()
        answer = self._aws.ask(
            "decrypt",
            dict.fromkeys(_BROKEN, broken_seal()),
            KeyId=self._key_id,
            CiphertextBlob=sealed,
            EncryptionContext=dict(context),
        )
        return bytes(answer["Plaintext"])
