"""What is known of legacy clients between their requests, where anything is."""

from typing import Protocol

from nacre.protocol.caller import Peer
from nacre.protocol.http_messages import HttpRequest
from nacre.protocol.messages import Response
from nacre.protocol.principal import Principal


class Peers(Protocol):
    """The legacy clients of one server."""

    def of(self, request: HttpRequest, principal: Principal | None) -> Peer:
        """Return what the client has said about itself."""
        ...

    def deliver(self, principal: Principal | None, response: Response) -> bool:
        """Hand the client's answer to the call that waits for it; False when none does."""
        ...


class Strangers:
    """Nothing is known of any client: every request stands alone."""

    def of(self, request: HttpRequest, principal: Principal | None) -> Peer:
        """Return an empty record."""
        return Peer()

    def deliver(self, principal: Principal | None, response: Response) -> bool:
        """Refuse: nobody waits."""
        return False
