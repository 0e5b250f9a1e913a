"""Another server as the gateway uses it: its offer, and calls that may ask the client."""

from collections.abc import Mapping
from typing import Any, Protocol

from nacre.core.lazy_dataclasses import dataclass, field

Definition = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Offered:
    """All that a server lists, in its own words and order; `version` is the protocol's.

    `session` is the number of the session in which it was listed. `opening` is how long it took to
    open that session, 0 if it was open, and `latency` how long the first list took, in seconds.
    """

    tools: tuple[Definition, ...] = ()
    resources: tuple[Definition, ...] = ()
    templates: tuple[Definition, ...] = ()
    prompts: tuple[Definition, ...] = ()
    version: str = ""
    session: int = field(default=0, compare=False)
    opening: float = field(default=0.0, compare=False)
    latency: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a call; one that asks for input is a result too. A large one may be Spelled."""

    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """The server asks something of the client while a call runs; `number` tells it apart."""

    number: int
    method: str
    params: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Progressed:
    """The progress of a call."""

    progress: float
    total: float | None
    message: str | None


@dataclass(frozen=True, slots=True)
class Logged:
    """A log message of the server during a call."""

    level: str
    data: Any = field(repr=False)
    logger: str | None = None


Event = Done | Asked | Progressed | Logged


class UpstreamCall(Protocol):
    """A call that runs."""

    async def next(self) -> Event:
        """Return the next event of the call; the last one is `Done`.

        RelayedError when the server answered with an error, UpstreamError when it cannot
        be used now.
        """
        ...

    def answer(self, question: Asked, result: Mapping[str, Any] | None) -> None:
        """Answer the server's request for input; None declines it."""
        ...

    def cancel(self) -> None:
        """Cancel the call and notify the server."""
        ...


class Upstream(Protocol):
    """One server. It is opened when it is first needed, and again after it was lost."""

    def offered(self) -> Offered:
        """Return the lists of the server; blocks, and raises UpstreamError."""
        ...

    @property
    def session(self) -> int:
        """The number of the session that is open; 0 without one."""
        ...

    def start(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        session: int,
        wants_progress: bool = False,
        log_level: str | None = None,
    ) -> UpstreamCall:
        """Start a request; it ends with NewSessionError if its session is no longer open."""
        ...

    def close(self) -> None:
        """End the session, and the program if there is one."""
        ...
