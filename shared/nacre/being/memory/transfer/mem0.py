"""Memories of mem0: results of `get_all`, and exports of its platform and of OpenMemory.

A list of memories, or an object with it under `results` or `memories`, or one memory on each
line. A memory has `memory` or `content`, `id`, `created_at`, `updated_at`, `metadata`, `categories`
and its subject (`user_id`, `agent_id`, …). A graph comes as `relations`, each with
`source`, `relationship` and `target` or `destination`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from nacre.being.memory.transfer.foreign_records import (
    ParsedPart,
    SkippedPart,
    day_of,
    records_or_reason,
    relation_scenes,
    scene_records,
)
from nacre.core.errors import InvalidInputError

_PROGRAM = "mem0"
_TEXTS = ("memory", "content", "text", "data")
_ABOUT = ("user_id", "agent_id", "app_id", "actor_id")
_GONE = ("deleted", "archived")


def read_mem0(content: bytes, *, today: datetime) -> Iterator[ParsedPart]:
    """Yield each memory and each relation as a scene, dated on the day of its creation."""
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
        document = json.loads(text)
    except (ValueError, RecursionError):
        return list(_lines(text)), [], {}
    if isinstance(document, list):
        return _numbered(document), [], {}
    if not isinstance(document, dict):
        raise InvalidInputError("the file holds no list of memories")
    memories = document.get("results", document.get("memories"))
    if not isinstance(memories, list):
        if any(field in document for field in _TEXTS):
            memories = [document]  # one line
        else:
            raise InvalidInputError("the file has no list 'results' or 'memories'")
    relations, categories = document.get("relations"), document.get("categories")
    names = {
        str(category["id"]): str(category["name"])
        for category in (categories if isinstance(categories, list) else [])
        if isinstance(category, dict) and "id" in category and "name" in category
    }
    return _numbered(memories), relations if isinstance(relations, list) else [], names


def _numbered(memories: list[object]) -> list[tuple[str, object]]:
    return [(f"memory {number}", memory) for number, memory in enumerate(memories, start=1)]


def _lines(text: str) -> Iterator[tuple[str, object]]:
    has_object = False
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            memory = json.loads(line)
        except (ValueError, RecursionError):
            memory = None
        has_object = has_object or isinstance(memory, dict)
        if not has_object:
            raise InvalidInputError("the file is neither JSON nor JSON lines")
        yield f"line {number}", memory


def _memory(
    memory: object, where: str, names: Mapping[str, str], today: datetime
) -> Iterator[ParsedPart]:
    if not isinstance(memory, dict):
        yield SkippedPart(where, "not an object")
        return
    text = next((memory[field] for field in _TEXTS if isinstance(memory.get(field), str)), "")
    if not text.strip():
        yield SkippedPart(where, "a memory without text")
        return
    if memory.get("state") in _GONE or memory.get("deleted_at"):
        yield SkippedPart(where, "deleted or archived there")
        return
    day = day_of(memory.get("created_at")) or day_of(memory.get("updated_at"))
    if day is None and memory.get("created_at"):
        yield SkippedPart(where, "a date that is not ISO 8601: the memory is dated today")
    scenes = scene_records(
        text,
        program=_PROGRAM,
        place=f"{memory.get('id') or ''}",
        actors=[memory[field] for field in _ABOUT if isinstance(memory.get(field), str)][:1],
        themes=_themes(memory, names),
        day=day,
        today=today,
    )
    yield from records_or_reason(where, scenes)


def _themes(memory: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[str]:
    for categories in (memory.get("categories"), memory.get("category_ids")):
        for name in categories if isinstance(categories, list) else []:
            if isinstance(name, str):
                yield names.get(name, name)
    metadata = memory.get("metadata")
    category = metadata.get("category") if isinstance(metadata, dict) else None
    if isinstance(category, str):
        yield category


def _relation(relation: object, where: str, today: datetime) -> Iterator[ParsedPart]:
    fields = relation if isinstance(relation, dict) else {}
    ends = (
        fields.get("source"),
        fields.get("relationship") or fields.get("relation"),
        fields.get("target") or fields.get("destination"),
    )
    yield from relation_scenes(ends, where, program=_PROGRAM, today=today)
