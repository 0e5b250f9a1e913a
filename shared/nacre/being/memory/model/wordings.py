"""Earlier wordings of a memory, kept when somebody corrects it.

A node keeps each as a line of JSON with the fields that the correction changed. A correction
raises no trust: a text that an agent wrote is trusted no more than an agent.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

from nacre.being.memory.model.types import Author, Node, least_trusted
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import KEPT_WORDINGS, WORDINGS_BYTES

_LISTS = ("actors", "when", "themes")
_FIELDS = frozenset({"action", "setting", "feeling", "importance", "trust", *_LISTS})


@dataclass(frozen=True, slots=True)
class Wording:
    """The fields of a memory that a correction changed, as they were before it."""

    until: str  # the time of the correction
    by: Author  # who corrected it
    fields: Mapping[str, Any]


def corrected(node: Node, fields: Mapping[str, Any], *, by: Author, now: str) -> Node:
    """Return the node with other text fields, and with its wording so far; the same if equal."""
    if by != "owner":
        fields = {**fields, "trust": least_trusted([node.trust, "agent"])}
    before = {
        name: getattr(node, name) for name, value in fields.items() if getattr(node, name) != value
    }
    if not before.keys() - {"trust"}:
        return node
    return replace(node, **fields, wordings=_newest((*node.wordings, _line(now, by, before))))


def wordings_of(node: Node) -> list[Wording]:
    """Return the earlier wordings of a node, oldest first."""
    return [_wording(line) for line in node.wordings]


def uncorrected(node: Node) -> Node:
    """Return a corrected node as it was before its last correction."""
    fields = dict(wordings_of(node)[-1].fields)
    if "trust" in fields and node.trust != least_trusted([fields["trust"], "agent"]):
        del fields["trust"]  # evidence of lower trust was added since
    return replace(node, **fields, wordings=node.wordings[:-1])


def earlier_versions(node: Node) -> Iterator[Node]:
    """Yield the node as it was before each of its corrections, the last one first."""
    while node.wordings:
        node = uncorrected(node)
        yield node


def with_wordings_of(node: Node, texts: Collection[str]) -> Node:
    """Return the node with only those earlier wordings that are among the texts.

    The others are emptied. The node still counts as corrected.
    """
    lines = list(node.wordings)
    for place, version in enumerate(earlier_versions(node), start=1):
        if version.action not in texts:
            wording = _wording(lines[-place])
            lines[-place] = _line(wording.until, wording.by, {})
    return replace(node, wordings=tuple(lines))


def dismissed_days(node: Node) -> frozenset[str]:
    """Return the days that a correction removed from a node."""
    days = {day for version in earlier_versions(node) for day in version.when}
    return frozenset(days - {*node.when})


def _line(until: str, by: Author, fields: Mapping[str, Any]) -> str:
    return json.dumps({"until": until, "by": by, "fields": fields}, ensure_ascii=False)


def _newest(lines: tuple[str, ...]) -> tuple[str, ...]:
    lines = lines[-KEPT_WORDINGS:]
    while len(lines) > 1 and sum(len(line.encode()) for line in lines) > WORDINGS_BYTES:
        lines = lines[1:]
    return lines


def _wording(line: str) -> Wording:
    value = json.loads(line)
    fields = {
        name: tuple(field) if name in _LISTS else field
        for name, field in value["fields"].items()
        if name in _FIELDS
    }
    return Wording(str(value["until"]), cast("Author", value["by"]), fields)
