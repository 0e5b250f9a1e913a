"""The targets of `update_memory`: kinds of entries about a Being and its partner.

`party_message` is a target too, but its entries are letters between Beings: see `letters.py`.
"""

import re
from typing import Literal

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import Cap
from nacre.core import limits
from nacre.core.lazy_dataclasses import dataclass

Append = Literal["line", "paragraph", "replace", "new"]
KeyedBy = Literal["start", "title", "day", "id", "field"]

REQUIRED_SOUL_FIELDS = ("name", "personality")
"""The least that a persona needs; they can be replaced but not deleted."""

SOUL_FIELDS = (
    "name",
    "model",
    "personality",
    "voice",
    "values",
    "backstory",
    "inner_world",
    "examples",
)
"""The fields of a soul, in the order in which they are shown."""

_SHORT_SOUL_FIELDS = ("name", "model")
_RULE = re.compile(r"\s*\[([^\[\]\n]{1,60})\]\s*(?:([^:\n]{1,120}):\s+)?(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Target:
    """One kind of entry: where it is stored, how it is keyed, how long it may be.

    `append` is the effect of appending to an existing entry: add the lines that it does not
    have, add a paragraph, or replace it; `new` always creates another entry.
    """

    name: str
    prefix: str
    limit: int  # bytes of one entry
    append: Append
    keyed_by: KeyedBy
    most: int | None = None  # entries
    versions: str | None = None  # the prefix of old versions, if they are kept
    noun: str = "entries"

    @property
    def counter(self) -> str:
        """Return the Being's counter of these entries."""
        return f"n_{self.name}"

    @property
    def caps(self) -> dict[str, Cap]:
        """Return the cap of that counter, if there is one."""
        return {} if self.most is None else {self.counter: Cap(self.most, self.noun)}

    def limit_of(self, key: str) -> int:
        """Return how many bytes the entry of this key may have."""
        short = self.keyed_by == "field" and key in _SHORT_SOUL_FIELDS
        return limits.MAX_SOUL_NAME_BYTES if short else self.limit

    def appends_to(self, key: str) -> Append:
        """Return the effect of appending to the entry of this key."""
        short = self.keyed_by == "field" and key in _SHORT_SOUL_FIELDS
        return "replace" if short else self.append


PREFERENCES = Target(
    "preferences",
    keys.PREFERENCE,
    limits.MAX_PREFERENCE_BYTES,
    "line",
    "start",
    limits.MAX_PREFERENCES,
    noun="preferences",
)
KNOWLEDGE = Target(
    "knowledge",
    keys.KNOWLEDGE,
    limits.MAX_KNOWLEDGE_BYTES,
    "paragraph",
    "title",
    limits.MAX_KNOWLEDGE,
    noun="entries of knowledge",
)
RELATIONSHIP = Target(
    "relationship",
    keys.PERSON,
    limits.MAX_PERSON_BYTES,
    "paragraph",
    "title",
    limits.MAX_PEOPLE,
    noun="people",
)
PARTNER_TOOLS = Target(
    "partner_tools",
    keys.TOOL,
    limits.MAX_PARTNER_TOOL_BYTES,
    "replace",
    "title",
    limits.MAX_PARTNER_TOOLS,
    noun="partner tools",
)
PARTNER_MAP = Target(
    "partner_map",
    keys.MAP,
    limits.MAX_PLACE_BYTES,
    "replace",
    "title",
    limits.MAX_PLACES,
    noun="places on the map",
)
DIARY = Target("diary", keys.DIARY, limits.MAX_DIARY_BYTES, "paragraph", "day")
NOTES = Target(
    "notes", keys.NOTE, limits.MAX_NOTE_BYTES, "new", "id", limits.MAX_NOTES, noun="notes"
)
PARTNER_RULES = Target(
    "partner_rules",
    keys.RULE,
    limits.MAX_RULE_BYTES,
    "new",
    "id",
    limits.MAX_RULES,
    versions=keys.RULE_VERSION,
    noun="rules",
)
SOULS = Target(
    "souls",
    keys.SOUL,
    limits.MAX_SOUL_BYTES,
    "paragraph",
    "field",
    versions=keys.SOUL_VERSION,
)

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        PREFERENCES,
        KNOWLEDGE,
        RELATIONSHIP,
        PARTNER_TOOLS,
        PARTNER_MAP,
        DIARY,
        NOTES,
        PARTNER_RULES,
        SOULS,
    )
}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the partner: `[category] title: body`."""

    category: str
    title: str | None
    body: str

    def __str__(self) -> str:
        """Return the rule in its written form."""
        title = "" if self.title is None else f"{self.title}: "
        return f"[{self.category}] {title}{self.body}"


def parse_rule(text: str, before: Rule | None = None) -> Rule:
    """Return the rule in a text; a text without a category replaces the body of `before`."""
    match = _RULE.fullmatch(text)
    if match is None:
        if before is None:
            return Rule("general", None, text.strip())
        return Rule(before.category, before.title, text.strip())
    category, title, body = match.groups()
    return Rule(category.strip(), None if title is None else title.strip(), body.strip())
