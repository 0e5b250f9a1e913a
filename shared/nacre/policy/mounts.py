"""Other servers behind our own entry, as the policy sees them."""

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from nacre.policy.pins import State
    from nacre.policy.policy import Policy
    from nacre.policy.rule import Surroundings

Kind = Literal["tool", "prompt", "resource"]


class Place(NamedTuple):
    """A server as rules know it, and what something is called there."""

    server: str
    name: str


class Held(NamedTuple):
    """Why a tool may have to wait for its owner: its pin, or what its definition says."""

    state: "State"
    is_flagged: bool

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

    def held(self, tool: str) -> Held | None:
        """Return what is to be said against a tool, None for nothing."""
        ...
