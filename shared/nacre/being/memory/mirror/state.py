"""The last common state of a mirror: the text of everything that was the same on both sides."""

from collections.abc import Mapping
from typing import Any

from nacre.core.lazy_dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Common:
    """A unit's page and text, when both sides were the same."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Journal:
    """The ids that a run gives to new scenes, so that a repeated run gives the same."""

    added: Mapping[str, str] = field(default_factory=dict)  # by text and number
    replaced: Mapping[str, str] = field(default_factory=dict)  # by the id of the edited scene


@dataclass(frozen=True, slots=True)
class MirrorState:
    """Everything that a mirror remembers between two runs."""

    units: Mapping[str, Common] = field(default_factory=dict)
    branch: str | None = None  # the head of the folder's repository
    journal: Journal = field(default_factory=Journal)

    def facts(self) -> dict[str, Any]:
        """Return the state as JSON."""
        return {
            "units": {name: [unit.path, unit.text] for name, unit in self.units.items()},
            "branch": self.branch,
            "journal": {
                "added": dict(self.journal.added),
                "replaced": dict(self.journal.replaced),
            },
        }


def state_from(facts: Mapping[str, Any]) -> MirrorState:
    """Return the state in JSON that `facts` has made."""
    return MirrorState(
        {name: Common(path, text) for name, (path, text) in facts["units"].items()},
        facts["branch"],
        Journal(facts["journal"]["added"], facts["journal"]["replaced"]),
    )
