"""Other servers behind our own entry, as the policy sees them."""

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from nacre.firewall.pins import PinKind, State
    from nacre.firewall.rules.policy import Policy
    from nacre.firewall.rules.rule import Surroundings
    from nacre.ports.upstream import Offered

Kind = Literal["tool", "prompt", "resource", "template"]


class Place(NamedTuple):
    """A server as rules know it, and what something is called there."""

    server: str
    name: str


class Watched(NamedTuple):
    """A server's offer, compared with what was trusted.

    `waiting` and `flagged` say why, by the labels of pins.
    """

    offered: "Offered"
    waiting: dict[str, str]
    flagged: dict[str, str]


class Held(NamedTuple):
    """Why something may have to wait for its owner: its pin, or what its definition says.

    `kind` and `name` are those of the pin: a resource may wait because its template does.
    """

    state: "State"
    is_flagged: bool
    kind: "PinKind"
    name: str

    def holds(self, policy: "Policy") -> bool:
        """Tell whether it does under this policy."""
        match policy.settings.pins:
            case "quarantine":
                return self.state != "trusted" or self.is_flagged
            case "record":
                return self.is_flagged and self.state != "trusted"
            case _:
                return self.is_flagged


class Mounts(Protocol):
    """What belongs to which server."""

    def place(self, kind: Kind, name: str) -> Place | None:
        """Return where something lives; None for what is our own."""
        ...

    def where(self, server: str) -> "Surroundings":
        """Return where a server runs."""
        ...

    def path_arguments(self, tool: str) -> frozenset[str]:
        """Return the arguments of a tool of which its schema says that they are paths."""
        ...

    def held(self, kind: Kind, name: str) -> Held | None:
        """Return what is to be said against using something, None for nothing."""
        ...

    def is_stale(self, server: str) -> bool:
        """Tell whether a server has announced other offers than are known of it."""
        ...

    async def fresh(self, server: str) -> bool:
        """Wait for the offers that a server has announced; False when they do not come."""
        ...
