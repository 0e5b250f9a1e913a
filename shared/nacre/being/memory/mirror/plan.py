"""The decision for each memory and entry: which side changed it since the last common state."""

from collections.abc import Mapping
from typing import Literal

from nacre.being.memory.mirror.content import Content
from nacre.being.memory.mirror.memory_line import completed
from nacre.being.memory.mirror.pages import Occurrence, Pages
from nacre.being.memory.mirror.state import Common
from nacre.core.lazy_dataclasses import dataclass, field

Change = Literal["correct", "delete", "restore", "add"]
"""A change of the Being that a page asks for."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A change that an edit of a page makes to the Being."""

    change: Change
    name: str
    text: str
    path: str
    occurrence: Occurrence | None = None


@dataclass(frozen=True, slots=True)
class Conflict:
    """A text of a page that the Being does not accept, because both sides changed it."""

    path: str
    text: str
    reason: str


@dataclass(slots=True)
class Plan:
    """The edits of the pages, and the texts that would be lost without a copy."""

    edits: list[Edit] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)

    def of(self, change: Change) -> list[Edit]:
        """Return the edits of one kind."""
        return [edit for edit in self.edits if edit.change == change]


BOTH_CHANGED = "changed here and in the Being"
DELETED_THERE = "changed here, and deleted in the Being"
UNKNOWN = "the Being has no such memory"


def plan_of(pages: Pages, content: Content, common: Mapping[str, Common]) -> Plan:
    """Compare the pages, the Being and the last common state, and return the plan."""
    plan = Plan()
    for name in sorted({*common, *pages.occurrences, *content.units}):
        earlier = common.get(name)
        if earlier is not None and earlier.path in pages.unreadable:
            continue  # nobody knows whether the unit is still on its page
        _decide(plan, name, pages.occurrences.get(name), content, earlier)
    for occurrence in pages.new:
        if occurrence.text:
            plan.edits.append(Edit("add", "", occurrence.text, occurrence.path, occurrence))
    return plan


def _decide(
    plan: Plan, name: str, here: Occurrence | None, content: Content, earlier: Common | None
) -> None:
    unit = content.units.get(name)
    if here is None:
        if unit is not None and earlier is not None and earlier.has(unit.text):
            plan.edits.append(Edit("delete", name, unit.text, earlier.path))
        return  # otherwise the unit is written again, because the Being has something newer
    if unit is None:
        if earlier is None and name in content.hidden_here:
            plan.edits.append(Edit("restore", name, here.text, here.path, here))
        elif earlier is None:
            plan.conflicts.append(Conflict(here.path, here.text, UNKNOWN))
        elif not earlier.has(here.text):
            plan.conflicts.append(Conflict(here.path, here.text, DELETED_THERE))
        return
    text = here.text if unit.line is None else completed(here.text, unit.line)
    if text == unit.text or (earlier is not None and earlier.has(here.text)):
        return
    if earlier is not None and earlier.has(unit.text):
        plan.edits.append(Edit("correct", name, text, here.path, here))
    else:
        plan.conflicts.append(Conflict(here.path, here.text, BOTH_CHANGED))
