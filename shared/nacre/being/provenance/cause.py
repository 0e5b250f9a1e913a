"""The causes of a memory or a call, as a tree that text, JSON and pages show alike."""

from typing import Any, Literal

from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import PROVENANCE_TEXT

Kind = Literal[
    "memory", "scene", "message", "patrol run", "call", "result", "correction", "vouching"
]
Link = Literal["stored", "time"]
"""How a cause was found: under an id that is stored, or only because it happened at that time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A cause, with its own causes.

    `relation` says how its effect follows from it, such as "told by". `unknown` are sentences
    about what was not recorded, or is no longer stored.
    """

    kind: Kind
    id: str = ""
    relation: str = ""
    link: Link = "stored"
    at: str = ""  # a moment in UTC
    text: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    unknown: tuple[str, ...] = ()
    causes: tuple["Cause", ...] = ()
    more: int = 0  # causes that are not shown
    conversation: str = ""  # the id of the captured conversation that a message is from

    def to_plain(self) -> dict[str, Any]:
        """Return the tree as JSON values, without those that are empty."""
        values: dict[str, Any] = {
            "kind": self.kind,
            "id": self.id,
            "relation": self.relation,
            "link": self.link,
            "at": self.at,
            "text": self.text,
            "conversation": self.conversation,
            "facts": dict(self.facts),
            "unknown": list(self.unknown),
            "causes": [cause.to_plain() for cause in self.causes],
            "more": self.more,
        }
        return {name: value for name, value in values.items() if value}


def cut(text: str) -> str:
    """Return a text as a cause shows it: its beginning, if it is long."""
    return text if len(text) <= PROVENANCE_TEXT else text[:PROVENANCE_TEXT].rstrip() + "…"


def facts_of(*facts: tuple[str, str | None]) -> tuple[tuple[str, str], ...]:
    """Return the facts that are not empty."""
    return tuple((name, value) for name, value in facts if value)
