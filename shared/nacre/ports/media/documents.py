"""Documents as text."""

from typing import Protocol

from nacre.core.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of a document: `pages` is its number of pages, `read` the number of those read."""

    text: str
    pages: int
    read: int


class DocumentReader(Protocol):
    """Takes the text out of a PDF, within bounded time and memory."""

    def read(self, document: bytes) -> DocumentText:
        """Return the text; raise InvalidInputError for a document that cannot be read."""
        ...
