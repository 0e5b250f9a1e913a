"""The fields of a memory in a search index, so that a search ranks it without reading its item.

The index stores it as text and gives it back. Where it has none, as for a memory that an older
version indexed, the search reads the item instead.
"""

import json
from typing import Any

from nacre.being.memory.model.forgetting_curve import retention
from nacre.being.memory.model.types import Node, Scene
from nacre.core.lazy_dataclasses import dataclass

_POINT_FIELDS = 7
_EVENT = 16  # digits of a fingerprint, which tell the events of one Being apart
_NEAR = 0.1  # of the retention: a hundredth of a score


@dataclass(frozen=True, slots=True)
class Summary:
    """The fields of a memory that a search ranks and compares, besides its text and its filters.

    `event` is the beginning of its fingerprint. The strength is that of the last time when the
    summary was written, which may be a little less than the memory's own.
    """

    actors: tuple[str, ...]
    created_at: str
    event: str = ""
    stability: float = 0.0  # 0 for a scene, which does not fade
    clock0: int = 0
    superseded_by: str | None = None
    valid_until: str | None = None
    similar: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()

    @classmethod
    def of(cls, memory: Node | Scene) -> "Summary":
        """Return the summary of a memory."""
        common = (memory.actors, memory.created_at, event_of(memory))
        if isinstance(memory, Scene):
            return cls(*common)
        return cls(
            *common,
            memory.stability,
            memory.clock0,
            memory.superseded_by,
            memory.valid_until,
            memory.similar,
            memory.parents,
        )

    def is_near(self, other: "Summary") -> bool:
        """Return whether only the strengths differ, and so little that ranks hardly change."""
        if (*self._fields()[:3], *self._fields()[5:]) != (
            *other._fields()[:3],
            *other._fields()[5:],
        ):
            return False
        clock = max(self.clock0, other.clock0)
        here, there = (retention(clock - one.clock0, one.stability) for one in (self, other))
        return abs(here - there) <= _NEAR

    def to_text(self) -> str:
        """Return the summary as text; empty fields at its end are left out."""
        fields = list(self._fields())
        while fields and not fields[-1]:
            del fields[-1]
        return compact_json(fields)

    @classmethod
    def from_text(cls, text: str) -> "Summary":
        """Return the summary in a text; raises ValueError if there is none."""
        fields = json.loads(text)
        if not isinstance(fields, list) or not 2 <= len(fields) <= len(_EMPTY):
            raise ValueError("no summary of a memory")
        actors, created_at, event, stability, clock0, superseded_by, valid_until, *links = (
            *fields,
            *_EMPTY[len(fields) :],
        )
        texts = (created_at, event, superseded_by or "", valid_until or "")
        if not (
            all(isinstance(text, str) for text in texts)
            and all(isinstance(number, int | float) for number in (stability, clock0))
            and all(_is_texts(entry) for entry in (actors, *links))
        ):
            raise ValueError("no summary of a memory")
        similar, parents = map(tuple, links)
        return cls(
            tuple(actors),
            created_at,
            event,
            float(stability),
            clock0,
            superseded_by,
            valid_until,
            similar,
            parents,
        )

    def _fields(self) -> tuple[Any, ...]:
        return (
            self.actors,
            self.created_at,
            self.event,
            self.stability,
            self.clock0,
            self.superseded_by,
            self.valid_until,
            self.similar,
            self.parents,
        )


@dataclass(frozen=True, slots=True)
class PointSummary:
    """All that a search needs of a memory before it is shown: the fields of its point as well."""

    kind: str
    state: str
    cluster_id: str | None
    days: tuple[str, ...]
    line: str
    action: str
    summary: Summary

    @classmethod
    def from_text(cls, text: str) -> "PointSummary":
        """Return the summary in the text of a point; raises ValueError if there is none."""
        fields = json.loads(text)
        if not isinstance(fields, list) or len(fields) != _POINT_FIELDS:
            raise ValueError("no summary of a point")
        kind, state, cluster_id, days, line, action, summary = fields
        texts = (kind, state, cluster_id or "", line, action, summary)
        if not (all(isinstance(text, str) for text in texts) and _is_texts(days)):
            raise ValueError("no summary of a point")
        return cls(kind, state, cluster_id, tuple(days), line, action, Summary.from_text(summary))


def event_of(memory: Node | Scene) -> str:
    """Return the mark that memories of one event share; "" for a merged memory."""
    return (memory.fingerprint or "")[:_EVENT]


_EMPTY: tuple[Any, ...] = ((), "", "", 0, 0, None, None, (), ())


def compact_json(value: Any) -> str:
    """Return a value as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _is_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)
