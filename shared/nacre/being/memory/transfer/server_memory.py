"""Memories of @modelcontextprotocol/server-memory: its JSON lines of entities and relations.

`{"type":"entity","name","entityType","observations":[...]}` and
`{"type":"relation","from","to","relationType"}`. The program keeps no dates.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from nacre.being.memory.transfer.foreign_records import (
    Found,
    NotUnderstood,
    relation_record,
    scene_records,
    told_relation,
    understood,
)
from nacre.being.memory.transfer.portable_records import Record

_PROGRAM = "server-memory"


def read_server_memory(lines: Iterable[bytes], *, today: datetime) -> Iterator[Found]:
    """Give an entity as a relation, each of its observations and relations as a scene."""
    for number, raw in enumerate(lines, start=1):
        where = f"line {number}"
        if not raw.strip():
            continue
        try:
            line = json.loads(raw.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            yield NotUnderstood(where, "not JSON")
            continue
        kind = line.get("type") if isinstance(line, dict) else None
        if kind == "entity":
            yield from _entity(line, where, today)
        elif kind == "relation":
            yield from _relation(line, where, today)
        else:
            yield NotUnderstood(where, "neither an entity nor a relation")


def _entity(line: dict[str, Any], where: str, today: datetime) -> Iterator[Found]:
    name, type_, observations = (line.get(each) for each in ("name", "entityType", "observations"))
    if not isinstance(name, str) or not name.strip():
        yield NotUnderstood(where, "an entity without a name")
        return
    if not isinstance(observations, list):
        yield NotUnderstood(where, "an entity without a list of observations")
        return
    kind = type_ if isinstance(type_, str) else ""
    texts = [each for each in observations if isinstance(each, str) and each.strip()]
    for place, each in enumerate(observations):
        if not isinstance(each, str) or not each.strip():
            yield NotUnderstood(f"{where}, observation {place + 1}", "an observation without text")
    content = "\n".join(f"- {' '.join(text.split())}" for text in texts) or kind or name
    yield from understood(where, _one(name, kind, content, today))
    for place, text in enumerate(texts):
        scenes = scene_records(
            text,
            origin=f"{_PROGRAM}\n{name}",
            actors=[name],
            themes=[kind],
            day=None,
            today=today,
        )
        yield from understood(f"{where}, observation {place + 1}", scenes)


def _one(name: str, kind: str, content: str, today: datetime) -> Iterator[Record]:
    yield relation_record(name, kind, content, today=today)


def _relation(line: dict[str, Any], where: str, today: datetime) -> Iterator[Found]:
    ends = [line.get(each) for each in ("from", "relationType", "to")]
    yield from told_relation(ends, where, program=_PROGRAM, today=today)
