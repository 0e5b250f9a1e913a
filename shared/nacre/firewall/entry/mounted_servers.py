"""The servers behind the MCP entry: their items, offers and pins, as the policy needs them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from nacre.core.own_server_name import OWN

if TYPE_CHECKING:
    from nacre.firewall.pins import PinKind, State
    from nacre.firewall.rules.policy import Policy
    from nacre.firewall.rules.profile import Profile
    from nacre.firewall.rules.rule import Surroundings
    from nacre.ports.other_programs.upstream import Offered

_OWN_SCHEME = "nacre://"  # of this server's resources
RESULTS = "nacre://results/"  # where the whole of a result is that was cut
Kind = Literal["tool", "prompt", "resource", "template"]
NAMED_BY: Mapping[Kind, str] = {
    "tool": "name",
    "prompt": "name",
    "resource": "uri",
    "template": "uriTemplate",
}


class Place(NamedTuple):
    """The server of a tool, prompt or resource, by its name in rules, and the item's name there."""

    server: str
    name: str


class CheckedOffer(NamedTuple):
    """A server's offer after the comparison with its pins.

    `waiting` and `flagged` map the labels of pins to the reasons.
    """

    offered: "Offered"
    waiting: dict[str, str]
    flagged: dict[str, str]


class PinHold(NamedTuple):
    """The state of a pin that is not trusted, or has a flagged definition.

    `kind` and `name` are those of the pin, which for a resource may be its template's.
    """

    state: "State"
    is_flagged: bool
    kind: "PinKind"
    name: str

    def applies(self, policy: "Policy") -> bool:
        """Tell whether this policy makes the item wait for its owner."""
        match policy.settings.pins:
            case "quarantine":
                return self.state != "trusted" or self.is_flagged
            case "record":
                return self.is_flagged and self.state != "trusted"
            case _:
                return self.is_flagged


class Mounts(Protocol):
    """Knows which server each tool, prompt and resource belongs to."""

    def place(self, kind: Kind, name: str) -> Place | None:
        """Return the place of an item, or None for an item of Nacre itself."""
        ...

    def template_place(self, template: str) -> Place | None:
        """Return the place of a resource template by its text, or None for one of Nacre itself."""
        ...

    def where(self, server: str) -> "Surroundings":
        """Return the facts about the machine that a server runs on."""
        ...

    def is_external(self, server: str) -> bool:
        """Tell whether results of a server are untrusted; its owner may say that they are not."""
        ...

    def path_arguments(self, tool: str) -> frozenset[str]:
        """Return the arguments of a tool that are paths by its schema."""
        ...

    def held(self, kind: Kind, name: str) -> PinHold | None:
        """Return the hold on an item that may have to wait for its owner, or None."""
        ...

    def is_stale(self, server: str) -> bool:
        """Tell whether a server has announced changes that it has not listed yet."""
        ...

    async def fresh(self, server: str) -> bool:
        """Wait for the lists that a server has announced; return False if they do not come."""
        ...


def place_of(mounts: Mounts | None, kind: Kind, name: str, own_server: str) -> Place:
    """Return the place of an item; without another server, its place on `own_server`."""
    place = None if mounts is None else mounts.place(kind, name)
    return place or Place(own_server, name)


def is_in_profile(profile: "Profile", place: Place, kind: Kind, name: str) -> bool:
    """Tell whether an item belongs to a profile.

    A resource that nobody is known to have counts as our own for rules, but it may be another
    server's a moment later, so only those of our scheme belong to us here. The whole of a result
    that was cut belongs to its caller, whatever the profile.
    """
    if kind == "tool":
        return profile.has_tool(place.server, place.name)
    if kind != "prompt" and place.server == OWN and not name.startswith(_OWN_SCHEME):
        return False
    return profile.has_server(place.server) or name.startswith(RESULTS)
