"""The legacy clients of a server, and the state that it keeps of them between requests."""

from collections.abc import Callable
from typing import Protocol

from nacre.protocol.caller import Peer
from nacre.protocol.messages import RequestId, Response
from nacre.protocol.principal import Principal


class Peers(Protocol):
    """The legacy clients of one server; a client's key is that of `client_key`."""

    def of(self, key: tuple[str, str]) -> Peer:
        """Return the client as it declared itself."""
        ...

    def deliver(self, principal: Principal | None, response: Response) -> bool:
        """Hand the client's answer to the call that waits for it; return False if none does."""
        ...

    def give_up(self, key: tuple[str, str], request_id: RequestId) -> None:
        """End the call that the client has cancelled, where it runs here."""
        ...


class StatelessPeers:
    """Keeps no state between the requests of a client."""

    def of(self, key: tuple[str, str]) -> Peer:
        """Return an empty record."""
        return Peer()

    def deliver(self, principal: Principal | None, response: Response) -> bool:
        """Return False: no call waits for an answer."""
        return False

    def give_up(self, key: tuple[str, str], request_id: RequestId) -> None:
        """Do nothing: the call runs elsewhere, if it runs."""


class Levels(Protocol):
    """The log level that each client chose, kept where every process finds it."""

    def chosen(self, subject: str, client: str) -> str | None:
        """Return the client's level, None if it chose none or the level cannot be read."""
        ...

    def choose(self, subject: str, client: str, level: str) -> None:
        """Store the client's level; raises UnavailableError if that fails."""
        ...


class LogLevelPeers(StatelessPeers):
    """Keeps the log level of each client only; it is read when something is logged."""

    def __init__(self, levels: Callable[[], Levels]) -> None:
        self._levels = levels

    def of(self, key: tuple[str, str]) -> Peer:
        """Return the record of the client that sends the request."""
        return _KeptPeer(self._levels, *key)


class _KeptPeer(Peer):
    """A client whose log level is kept elsewhere."""

    __slots__ = ("_client", "_levels", "_subject")

    def __init__(self, levels: Callable[[], Levels], subject: str, client: str) -> None:
        super().__init__()
        self._levels = levels
        self._subject = subject
        self._client = client

    def log_level(self) -> str | None:
        """Return the level that the client chose, if any."""
        return self._levels().chosen(self._subject, self._client)

    def choose_log_level(self, level: str) -> None:
        """Keep the level."""
        self._levels().choose(self._subject, self._client, level)
