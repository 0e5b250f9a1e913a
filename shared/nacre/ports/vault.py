"""Small secrets, wrapped so that they can lie in the item store."""

from collections.abc import Mapping
from typing import Protocol


class Vault(Protocol):
    """Wraps small secrets under a key that never leaves its place.

    The context says what a secret belongs to, such as its Being and run. It is not
    secret; whoever opens names the same context again, so that a sealed value moved
    to another item does not open there.
    """

    def seal(self, plaintext: bytes, *, context: Mapping[str, str]) -> bytes:
        """Return the wrapped form of 1 to 4096 bytes, which differs from call to call."""
        ...

    def open(self, sealed: bytes, *, context: Mapping[str, str]) -> bytes:
        """Return what was wrapped; raise BrokenSealError when it does not open."""
        ...
