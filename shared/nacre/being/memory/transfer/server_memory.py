"""Memories of @modelcontextprotocol/server-memory: its JSON lines of entities and relations.

`{"type":"entity","name","entityType","observations":[...]}` and
`{"type":"relation","from","to","relationType"}`. The program keeps no dates.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from nacre.being.memory.transfer.foreign_records import (
    ParsedPart,
    SkippedPart,
    records_or_reason,
    relation_record,
    relation_scenes,
    scene_records,
)
from nacre.being.memory.transfer.portable_records import Record

_PROGRAM = "server-memory"


def read_server_memory(lines: Iterable[bytes], *, today: datetime) -> Iterator[ParsedPart]:
    """Yield each entity as a relation, and each observation and relation as a scene."""
    for number, raw in enumerate(lines, start=1):
        where = f"line {number}"
        if not raw.strip():
            continue
        try:
            line = json.loads(raw.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            yield SkippedPart(where, "not JSON")
            continue
        kind = line.get("type") if isinstance(line, dict) else None
        if kind == "entity":
            yield from _entity(line, where, today)
        elif kind == "relation":
            yield from _relation(line, where, today)
        else:
            yield SkippedPart(where, "neither an entity nor a relation")


def _entity(line: dict[str, Any], where: str, today: datetime) -> Iterator[ParsedPart]:
    name, type_, observations = (
        line.get(field) for field in ("name", "entityType", "observations")
    )
    if not isinstance(name, str) or not name.strip():
        yield SkippedPart(where, "an entity without a name")
        return
    if not isinstance(observations, list):
        yield SkippedPart(where, "an entity without a list of observations")
        return
    kind = type_ if isinstance(type_, str) else ""
    texts = [text for text in observations if isinstance(text, str) and text.strip()]
    for place, text in enumerate(observations):
        if not isinstance(text, str) or not text.strip():
            yield SkippedPart(f"{where}, observation {place + 1}", "an observation without text")
    content = "\n".join(f"- {' '.join(text.split())}" for text in texts) or kind or name
    yield from records_or_reason(where, _entity_record(name, kind, content, today))
    for place, text in enumerate(texts):
        scenes = scene_records(
            text,
            program=_PROGRAM,
            place=name,
            actors=[name],
            themes=[kind],
            day=None,
            today=today,
        )
        yield from records_or_reason(f"{where}, observation {place + 1}", scenes)


def _entity_record(name: str, kind: str, content: str, today: datetime) -> Iterator[Record]:
    yield relation_record(name, kind, content, today=today)


def _relation(line: dict[str, Any], where: str, today: datetime) -> Iterator[ParsedPart]:
    ends = [line.get(field) for field in ("from", "relationType", "to")]
    yield from relation_scenes(ends, where, program=_PROGRAM, today=today)
