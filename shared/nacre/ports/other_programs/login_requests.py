"""Requests to the authorization server of another MCP server."""

from collections.abc import Mapping
from typing import Protocol

from nacre.core.lazy_dataclasses import dataclass, field

Form = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a request. The body may hold tokens."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)


class LoginRequests(Protocol):
    """Sends small requests for one MCP server. Nothing follows a redirect.

    The documents of a server name further addresses. Requests go to public addresses only, except
    for the addresses of the MCP server itself and for networks that the owner allows.
    """

    def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"") -> Reply:
        """Return the answer; raises UnavailableError, PrivateAddressError or InvalidInputError."""
        ...

    def check(self, url: str) -> None:
        """Raise the errors of `send` for an address that may not be used; send nothing."""
        ...
