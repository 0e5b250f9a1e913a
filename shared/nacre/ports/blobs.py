"""Blobs: what is too large for items and messages, kept for a few days."""

from datetime import datetime
from typing import Protocol


class Blobs(Protocol):
    """Bytes under names such as `being/run/result.json`, each kept for at most seven days.

    A name is 1 to 500 characters: parts of letters, digits, `.`, `_` and `-` with slashes
    between them, none of which begins with a dot. A store that cannot answer raises
    UnavailableError; a name or a size that cannot be kept raises InvalidInputError.
    """

    def put(self, name: str, data: bytes, *, until: datetime | None = None) -> None:
        """Keep the bytes under the name, in place of what was there, all or nothing.

        They are gone at `until`, and after seven days without it.
        """
        ...

    def get(self, name: str) -> bytes | None:
        """Return the bytes, or None when there are none or their time is over."""
        ...

    def delete(self, name: str) -> None:
        """Remove the bytes, if there are any."""
        ...

    def delete_all(self, folder: str) -> None:
        """Remove everything whose name begins with this part and a slash."""
        ...
