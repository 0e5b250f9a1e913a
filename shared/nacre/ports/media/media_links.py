"""Links by which clients send and fetch media that are too large for a call."""

from collections.abc import Mapping
from typing import Protocol

from nacre.core.lazy_dataclasses import dataclass, field

MEDIA_FOLDER = "media"  # of the blobs, whose contents are deleted after a day


@dataclass(frozen=True, slots=True)
class UploadLink:
    """A link for one PUT, and the headers that it needs."""

    url: str = field(repr=False)
    headers: Mapping[str, str]


class MediaLinks(Protocol):
    """Stores media under names as those of Blobs, for a day at most.

    Whoever has a link may use it until it ends, and nothing else. A store that cannot answer raises
    UnavailableError.
    """

    def upload(self, name: str, *, size: int, mime_type: str, sha256: str = "") -> UploadLink:
        """Return a link that takes one content of exactly this size and type, and once.

        With `sha256`, in hexadecimal, it takes that content only.
        """
        ...

    def uploaded(self, name: str, *, size: int) -> bytes | None:
        """Return the uploaded content, or None; raises InvalidInputError if its size is another."""
        ...

    def download(self, name: str, data: bytes, *, mime_type: str, file_name: str) -> str:
        """Store the content, and return a link to it."""
        ...

    def delete(self, name: str) -> None:
        """Remove a content, if there is one."""
        ...
