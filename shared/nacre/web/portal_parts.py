"""What the portal works on, the same in the portal function and in the laptop server."""

from collections.abc import Callable
from dataclasses import dataclass

from fastapi import Request

from nacre.access.authority import Authority
from nacre.core.logs import Log
from nacre.protocol.http.allowed_origins import Fences
from nacre.protocol.http.server_address import base_of


@dataclass(frozen=True, slots=True)
class Portal:
    """Who may come in, where this is reached, and from where it may be called."""

    open_authority: Callable[[], Authority]  # the same one each time, made at the first need
    public_url: str
    fences: Fences
    log: Log
    # Whether clients may be known by documents, which only counts where fetching works.
    takes_documents: bool = False
    scheme: str = "http"
    # How an owner gets a new link, as the pages say it.
    link_command: str = "nacre owner bootstrap"

    @property
    def authority(self) -> Authority:
        """Return what decides who may come in."""
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

    The host's name was checked before, by the fences or by API Gateway.
    """
    portal = portal_of(request)
    host = request.headers.get("host", "")
    base = base_of(host, public_url=portal.public_url, scheme=portal.scheme)
    assert base is not None  # the fence lets no other name pass
    return base


def caller_address(request: Request) -> str:
    """Return the network address of the caller, as attempts are counted by."""
    return request.client.host if request.client else ""
