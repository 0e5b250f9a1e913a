"""The parts of the portal, in the portal function and in the laptop server."""

from collections.abc import Callable

from fastapi import Request

from nacre.access.authority import Authority
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.logs import Log
from nacre.protocol.http.allowed_origins import Fences
from nacre.protocol.http.server_address import base_of


@dataclass(frozen=True, slots=True)
class Portal:
    """The authority, the public address and the allowed origins of a portal."""

    open_authority: Callable[[], Authority]  # created once, at the first call
    public_url: str
    fences: Fences
    log: Log
    # Whether clients may be identified by documents, which must then be fetchable.
    takes_documents: bool = False
    scheme: str = "http"
    # The command that creates a sign-in link, as the pages show it.
    link_command: str = "nacre owner bootstrap"

    @property
    def authority(self) -> Authority:
        """Return the authority that decides about access."""
        return self.open_authority()


def stack_portal(open_authority: Callable[[], Authority], public_url: str, log: Log) -> Portal:
    """Return the parts of the portal function: API Gateway knows its own names."""
    return Portal(
        open_authority,
        public_url,
        Fences(),
        log,
        takes_documents=True,
        scheme="https",
        link_command="nacre owner bootstrap --stack NAME",
    )


def portal_of(request: Request) -> Portal:
    """Return the parts of the application that answers this request."""
    portal: Portal = request.app.state.portal
    return portal


def base_url(request: Request) -> str:
    """Return the address under which the caller reaches this server, without a slash.

    The host name was checked before, by the portal or by API Gateway.
    """
    portal = portal_of(request)
    host = request.headers.get("host", "")
    base = base_of(host, public_url=portal.public_url, scheme=portal.scheme)
    assert base is not None  # other host names were refused before
    return base


def caller_address(request: Request) -> str:
    """Return the network address of the caller, which rate limits count by."""
    return request.client.host if request.client else ""
