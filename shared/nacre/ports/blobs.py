"""Blobs: values too large for items and messages, stored for a few days."""

from datetime import datetime
from typing import Protocol


class Blobs(Protocol):
    """Stores bytes under names such as `being/run/result.json`, for at most seven days.

    A name is 1 to 500 characters: parts of letters, digits, `.`, `_` and `-` with slashes
    between them, none of which begins with a dot. A store that cannot answer raises
    UnavailableError; a name or a size that cannot be stored raises InvalidInputError.
    """

    def put(self, name: str, data: bytes, *, until: datetime | None = None) -> None:
        """Store the bytes under the name atomically, replacing earlier ones.

        They expire at `until`, or after seven days without it.
        """
        ...

    def get(self, name: str) -> bytes | None:
        """Return the bytes, or None if there are none or they have expired."""
        ...

    def delete(self, name: str) -> None:
        """Remove the bytes, if there are any."""
        ...

    def delete_all(self, folder: str) -> None:
        """Remove all blobs whose names begin with this folder and a slash."""
        ...
