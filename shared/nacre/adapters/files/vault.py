"""The vault on the laptop: AES-256-GCM under a key file that only its owner reads."""

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from nacre.adapters.files.private_files import private_folder, write_private
from nacre.adapters.input_checks import broken_seal, check_secret
from nacre.core.errors import StoreError

_VERSION = b"\x01"
_KEY_BYTES = 32
_NONCE_BYTES = 12


class FileVault:
    """A Vault whose key is created on first use; without the file the secrets are lost."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def seal(self, plaintext: bytes, *, context: Mapping[str, str]) -> bytes:
        """Return the sealed form."""
        check_secret(plaintext, context)
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return _VERSION + nonce + self._cipher().encrypt(nonce, plaintext, _bound(context))

    def open(self, sealed: bytes, *, context: Mapping[str, str]) -> bytes:
        """Return the plain form; raise BrokenSealError when it does not open."""
        version, nonce = sealed[:1], sealed[1 : 1 + _NONCE_BYTES]
        if version != _VERSION or len(nonce) < _NONCE_BYTES:
            raise broken_seal()
        try:
            ciphertext = sealed[1 + _NONCE_BYTES :]
            return self._cipher().decrypt(nonce, ciphertext, _bound(context))
        except InvalidTag as error:
            raise broken_seal() from error

    def _cipher(self) -> AESGCM:
        try:
            return AESGCM(self._key())
        except OSError as error:
            raise StoreError(
                f"{self._path}: the key of the secrets cannot be read or created"
                f" ({error.strerror}). Make the file and its folder yours."
            ) from error

    def _key(self) -> bytes:
        if not self._path.exists():
            private_folder(self._path.parent)
            with suppress(FileExistsError):  # another process has just created the key
                write_private(self._path, secrets.token_bytes(_KEY_BYTES), replace=False)
        if os.name == "posix" and self._path.stat().st_mode & 0o077:
            raise StoreError(
                f"{self._path}: others can read the key of the secrets. Run: chmod 600 {self._path}"
            )
        key = self._path.read_bytes()
        if len(key) != _KEY_BYTES:
            raise StoreError(
                f"{self._path}: this is not the key of the secrets ({len(key)} bytes instead of"
                f" {_KEY_BYTES}). Put the right file back, or remove it and set the secrets again."
            )
        return key


def _bound(context: Mapping[str, str]) -> bytes:
    return json.dumps(dict(context), sort_keys=True).encode()
