"""Small secrets, wrapped so that they can lie in the item store."""

from collections.abc import Mapping
from typing import Protocol


class Vault(Protocol):
    """Seals small secrets with a key that never leaves the vault.

    The context names the owner of a secret, such as its Being and run. It is not secret. To open
    a sealed value the caller must pass the same context again, so a value that was moved to
    another item does not open there.
    """

    def seal(self, plaintext: bytes, *, context: Mapping[str, str]) -> bytes:
        """Return the wrapped form of 1 to 4096 bytes, which differs from call to call."""
        ...

    def open(self, sealed: bytes, *, context: Mapping[str, str]) -> bytes:
        """Return the wrapped bytes; raises BrokenSealError if they cannot be opened."""
        ...
