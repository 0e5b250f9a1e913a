"""Memories of mem0: what its `get_all` answers, and the exports of its platform and OpenMemory.

A list of memories, or an object with it under `results` or `memories`, or one memory on each
line. A memory has `memory` or `content`, `id`, `created_at`, `updated_at`, `metadata`, `categories`
and whom it is about (`user_id`, `agent_id`, …). A graph comes as `relations`, each with
`source`, `relationship` and `target` or `destination`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from nacre.being.memory.transfer.foreign_records import (
    Found,
    NotUnderstood,
    day_of,
    scene_records,
    told_relation,
    understood,
)
from nacre.core.errors import InvalidInputError

_PROGRAM = "mem0"
_TEXTS = ("memory", "content", "text", "data")
_ABOUT = ("user_id", "agent_id", "app_id", "actor_id")
_GONE = ("deleted", "archived")


def read_mem0(content: bytes, *, today: datetime) -> Iterator[Found]:
    """Give each memory and each relation as a scene, on the day it was made."""
    memories, relations, names = _parts(content)
    for where, memory in memories:
        yield from _memory(memory, where, names, today)
    for number, relation in enumerate(relations, start=1):
        yield from _relation(relation, f"relation {number}", today)


def _parts(
    content: bytes,
) -> tuple[Iterable[tuple[str, object]], list[object], dict[str, str]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInputError("the file is not text in UTF-8") from None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return list(_lines(text)), [], {}
    if isinstance(found, list):
        return [(f"memory {place}", each) for place, each in enumerate(found, start=1)], [], {}
    if not isinstance(found, dict):
        raise InvalidInputError("the file holds no list of memories")
    memories = next((found[each] for each in ("results", "memories") if each in found), None)
    if not isinstance(memories, list):
        if any(each in found for each in _TEXTS):
            memories = [found]  # one line
        else:
            raise InvalidInputError("the file has no list 'results' or 'memories'")
    relations, categories = found.get("relations"), found.get("categories")
    names = {
        str(each["id"]): str(each["name"])
        for each in (categories if isinstance(categories, list) else [])
        if isinstance(each, dict) and "id" in each and "name" in each
    }
    numbered = [(f"memory {place}", each) for place, each in enumerate(memories, start=1)]
    return numbered, relations if isinstance(relations, list) else [], names


def _lines(text: str) -> Iterator[tuple[str, object]]:
    is_any = False
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        is_any = is_any or isinstance(found, dict)
        if not is_any:
            raise InvalidInputError("the file is neither JSON nor JSON lines")
        yield f"line {number}", found


def _memory(
    memory: object, where: str, names: Mapping[str, str], today: datetime
) -> Iterator[Found]:
    if not isinstance(memory, dict):
        yield NotUnderstood(where, "not an object")
        return
    text = next((memory[each] for each in _TEXTS if isinstance(memory.get(each), str)), "")
    if not text.strip():
        yield NotUnderstood(where, "a memory without text")
        return
    if memory.get("state") in _GONE or memory.get("deleted_at"):
        yield NotUnderstood(where, "deleted or archived there")
        return
    day = day_of(memory.get("created_at")) or day_of(memory.get("updated_at"))
    if day is None and memory.get("created_at"):
        yield NotUnderstood(where, "a date that is not ISO 8601: the memory is dated today")
    scenes = scene_records(
        text,
        origin=f"{_PROGRAM}\n{memory.get('id') or ''}",
        actors=[memory[each] for each in _ABOUT if isinstance(memory.get(each), str)][:1],
        themes=_themes(memory, names),
        day=day,
        today=today,
    )
    yield from understood(where, scenes)


def _themes(memory: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[str]:
    for found in (memory.get("categories"), memory.get("category_ids")):
        for each in found if isinstance(found, list) else []:
            if isinstance(each, str):
                yield names.get(each, each)
    metadata = memory.get("metadata")
    category = metadata.get("category") if isinstance(metadata, dict) else None
    if isinstance(category, str):
        yield category


def _relation(relation: object, where: str, today: datetime) -> Iterator[Found]:
    found = relation if isinstance(relation, dict) else {}
    ends = (
        found.get("source"),
        found.get("relationship") or found.get("relation"),
        found.get("target") or found.get("destination"),
    )
    yield from told_relation(ends, where, program=_PROGRAM, today=today)
