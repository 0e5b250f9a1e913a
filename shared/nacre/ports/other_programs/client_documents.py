"""Metadata documents that clients publish about themselves."""

from typing import Protocol


class ClientDocuments(Protocol):
    """Fetches documents from addresses of the public internet."""

    def fetch(self, url: str) -> bytes:
        """Return the document; raises UnavailableError, or ForbiddenError for a private address.

        No redirect is followed, and a document that is too long is refused.
        """
        ...
