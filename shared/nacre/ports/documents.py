"""Documents as text."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of a document; `read` of its `pages` are in it."""

    text: str
    pages: int
    read: int


class DocumentReader(Protocol):
    """Takes the text out of a PDF, within bounded time and memory."""

    def read(self, document: bytes) -> DocumentText:
        """Return the text; raise InvalidInputError for a document that cannot be read."""
        ...
