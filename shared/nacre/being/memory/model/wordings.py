"""Earlier wordings of a memory, kept when somebody corrects it.

A node keeps each as a line of JSON with the fields that the correction changed. A correction
raises no trust: the text has the origins of the memory, of its author, and of what that has
received.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

from nacre.being.memory.model.lineage import rewritten
from nacre.being.memory.model.types import Author, Node, least_trusted
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import KEPT_WORDINGS, WORDINGS_BYTES
from nacre.core.origins import AGENT, MIRROR, OWNER, Origin

_LINEAGE = ("trust", "origins", "tellings")
_LISTS = ("actors", "when", "themes", "origins", "tellings")
_FIELDS = frozenset({"action", "setting", "feeling", "importance", "trust", *_LISTS})
ORIGIN_OF: Mapping[Author, Origin] = {"agent": AGENT, "mirror": MIRROR, "owner": OWNER}
"""The origin of a text by each author."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The fields of a memory that a correction changed, as they were before it."""

    until: str  # the time of the correction
    by: Author  # who corrected it
    fields: Mapping[str, Any]
    scene_count: int | None = None  # how many had told the memory then; unknown in version 0.1.0


def corrected(
    node: Node,
    fields: Mapping[str, Any],
    *,
    by: Author,
    now: str,
    origins: Collection[Origin] = (),
) -> Node:
    """Return the node with other text fields, and with its wording so far; the same if equal.

    `origins` are those of whatever the author has received, beside the author.
    """
    if all(getattr(node, name) == value for name, value in fields.items()):
        return node
    after = rewritten(replace(node, **fields), {ORIGIN_OF[by], *origins})
    before = {
        name: getattr(node, name)
        for name in (*fields, *_LINEAGE)
        if getattr(node, name) != getattr(after, name)
    }
    line = _line(now, by, before, node.scene_count)
    return replace(after, wordings=_newest((*node.wordings, line)))


def wordings_of(node: Node) -> list[Wording]:
    """Return the earlier wordings of a node, oldest first."""
    return [_wording(line) for line in node.wordings]


def uncorrected(node: Node) -> Node:
    """Return a corrected node as it was before its last correction."""
    wording = wordings_of(node)[-1]
    fields = dict(wording.fields)
    if wording.scene_count is None:  # as version 0.1.0 stored it
        is_lowered = "trust" in fields and node.trust != least_trusted([fields["trust"], "agent"])
        is_told = is_lowered or bool(node.origins)
    else:
        is_told = wording.scene_count != node.scene_count
    if is_told:  # what was added since keeps its origins, and trust is never raised by them
        fields = {name: value for name, value in fields.items() if name not in _LINEAGE}
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
            lines[-place] = _line(wording.until, wording.by, {}, wording.scene_count)
    return replace(node, wordings=tuple(lines))


def dismissed_days(node: Node) -> frozenset[str]:
    """Return the days that a correction removed from a node."""
    days = {day for version in earlier_versions(node) for day in version.when}
    return frozenset(days - {*node.when})


def _line(until: str, by: Author, fields: Mapping[str, Any], scenes: int | None) -> str:
    line = {"until": until, "by": by, "fields": fields}
    return json.dumps(line if scenes is None else {**line, "told": scenes}, ensure_ascii=False)


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
    scenes = value.get("told")
    return Wording(
        str(value["until"]),
        cast("Author", value["by"]),
        fields,
        scenes if isinstance(scenes, int) else None,
    )
