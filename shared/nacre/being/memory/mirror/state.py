"""The last common state of a mirror: the texts that were the same on both sides, as digests.

A digest tells whether a text has changed since, and the file of the state keeps no text of a memory
that is erased later.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from nacre.core.lazy_dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Common:
    """A unit's page and the digest of its text, when both sides were the same."""

    path: str
    digest: str

    def has(self, text: str) -> bool:
        """Return whether a text is the one that both sides had."""
        return self.digest == digest_of(text)


def digest_of(text: str) -> str:
    """Return the digest of a text."""
    return sha256(text.encode(errors="replace")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Journal:
    """The ids that a run gives to new scenes, so that a repeated run gives the same.

    Those of edited scenes are kept, because pages of another branch may have the ids before.
    """

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
            "digests": {name: [unit.path, unit.digest] for name, unit in self.units.items()},
            "branch": self.branch,
            "journal": {
                "added": dict(self.journal.added),
                "replaced": dict(self.journal.replaced),
            },
        }


def state_from(facts: Mapping[str, Any]) -> MirrorState:
    """Return the state in JSON that `facts` has made; earlier versions kept the texts."""
    texts = facts.get("units", {})
    digests = facts.get("digests", {})
    return MirrorState(
        {
            **{name: Common(path, digest_of(text)) for name, (path, text) in texts.items()},
            **{name: Common(path, digest) for name, (path, digest) in digests.items()},
        },
        facts["branch"],
        Journal(facts["journal"]["added"], facts["journal"]["replaced"]),
    )
