"""Memories of other programs as records: the shared part of their importers.

Foreign memories have the trust class `import`. Their ids are made from text and origin, so that
importing the same file again changes nothing.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from nacre.being.memory.model.fields import checked_name, checked_text, cleaned_text, name_key
from nacre.being.memory.model.records import attributes_of
from nacre.being.memory.model.types import Relation, SceneDraft, moment
from nacre.being.memory.store.entry_items import Entry, new_entry
from nacre.being.memory.store.scenes import checked_scene
from nacre.being.memory.text.text_blocks import shortened
from nacre.being.memory.transfer.portable_records import Record
from nacre.core.errors import InvalidInputError
from nacre.core.ids import ulid
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import (
    MAX_ACTION_BYTES,
    MAX_ACTORS,
    MAX_KNOWLEDGE_BYTES,
    MAX_RELATION_BYTES,
    MAX_RELATION_TYPE,
    MAX_TAG_LENGTH,
    MAX_THEMES,
)
from nacre.core.origins import imported

MAX_FOREIGN_BYTES = 256 * 1024 * 1024
"""The size limit of a file that is not read line by line."""


@dataclass(frozen=True, slots=True)
class SkippedPart:
    """A part of a file that was not imported: where it is, and why."""

    where: str
    reason: str


ParsedPart = Record | SkippedPart


def scene_records(
    text: str,
    *,
    program: str,
    place: str,
    actors: Iterable[str] = (),
    themes: Iterable[str] = (),
    setting: str | None = None,
    day: datetime | None,
    today: datetime,
) -> Iterator[Record]:
    """Yield a memory as one scene, or as several if its text is too long for one.

    `program` has stored it, at a `place` that tells it from others with the same text. A memory
    without a day is dated today.
    """
    when = (day or today).astimezone(UTC)
    for part in parts_of(cleaned_text(text, "text", limit=MAX_FOREIGN_BYTES), MAX_ACTION_BYTES):
        draft = SceneDraft(
            action=part,
            actors=tags_of(actors, MAX_ACTORS),
            when=(f"{when:%Y-%m-%d}",),
            setting=setting,
            themes=tags_of(themes, MAX_THEMES),
            source="import",
            trust="import",
            origins=(str(imported(program)),),
        )
        # The time of the import would change the id, so a memory without a day has none.
        milliseconds = max(0, int(day.timestamp() * 1000)) if day is not None else 0
        chance = hashlib.sha256(f"{program}\n{place}\n{part}".encode()).digest()[:10]
        scene_id = ulid(milliseconds, int.from_bytes(chance))
        scene = checked_scene(draft, "memory", scene_id=scene_id, created_at=moment(when))
        yield Record("scene", scene_id, attributes_of(scene))


def relation_record(entity: str, type_: str, content: str, *, today: datetime) -> Record:
    """Return an entity as a relation; a text that is too long is cut off with an ellipsis."""
    name = checked_name(entity, "entity")
    relation = Relation(
        entity=name,
        type=one_tag(type_, MAX_RELATION_TYPE) or "entity",
        content=checked_text(shortened(content, MAX_RELATION_BYTES), "content", limit=1 << 20),
        updated_at=moment(today),
    )
    return Record("relation", name_key(name), attributes_of(relation))


def scenes_instead(record: Record, *, program: str, today: datetime) -> list[Record]:
    """Return a relation or an entry of knowledge as scenes, whose number is not limited."""
    source = record.to_object()
    name, themes = record.key, []
    if isinstance(source, Relation):
        name, themes = source.entity, [source.type]
        text = f"{name}: {source.type}\n{source.content}"
    elif isinstance(source, Entry) and record.kind == "knowledge":
        text = f"{name}\n{source.text}"
    else:
        return []
    return list(
        scene_records(
            text,
            program=program,
            place=f"{record.kind} {record.key}",
            actors=[name] if record.kind == "relation" else [],
            themes=themes,
            day=None,
            today=today,
        )
    )


def knowledge_records(title: str, text: str, *, day: datetime) -> Iterator[Record]:
    """Yield a document as one entry of knowledge, or as several if it is too long for one."""
    parts = list(parts_of(cleaned_text(text, "text", limit=MAX_FOREIGN_BYTES), MAX_KNOWLEDGE_BYTES))
    for number, part in enumerate(parts, start=1):
        suffix = f" ({number}/{len(parts)})" if len(parts) > 1 else ""
        key = checked_name(title[: MAX_TAG_LENGTH - len(suffix)] + suffix, "title")
        entry = new_entry(key, part, version=1, updated_at=moment(day))
        yield Record("knowledge", key, attributes_of(entry))


def parts_of(text: str, limit: int) -> Iterator[str]:
    """Yield parts of a text of at most `limit` bytes, split between lines or words if possible."""
    # The rest is never copied, because a file may have a million parts.
    start, text = 0, text.rstrip()
    while start < len(text):
        ahead = text[start : start + limit].encode()
        if start + limit >= len(text) and len(ahead) <= limit:
            yield text[start:]
            return
        head = ahead[:limit].decode(errors="ignore")
        place = max(head.rfind("\n"), head.rfind(" "))
        end = place if place > len(head) // 2 else len(head)
        if part := head[:end].strip():
            yield part
        start += end
        while start < len(text) and text[start].isspace():
            start += 1


def tags_of(names: Iterable[str], limit: int) -> tuple[str, ...]:
    """Return valid names of actors or themes without repetitions, at most `limit`."""
    return tuple(dict.fromkeys(tag for name in names if (tag := one_tag(name))))[:limit]


def one_tag(name: str, limit: int = MAX_TAG_LENGTH) -> str:
    """Return a name in one line, of at most `limit` characters."""
    cleaned = cleaned_text(name, "name", limit=MAX_FOREIGN_BYTES)
    return " ".join(cleaned.split())[:limit].strip()


def day_of(text: object) -> datetime | None:
    """Return the time in an ISO 8601 text, or None."""
    if not isinstance(text, str):
        return None
    try:
        time = datetime.fromisoformat(text.strip().strip("'\""))
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def records_or_reason(where: str, records: Iterator[Record]) -> Iterator[ParsedPart]:
    """Yield the records, and the reason if one cannot be stored."""
    try:
        yield from records
    except InvalidInputError as error:
        yield SkippedPart(where, str(error))


def relation_scenes(
    ends: Sequence[object], where: str, *, program: str, today: datetime
) -> Iterator[ParsedPart]:
    """Yield the scene of a relation; `ends` are one entity, the type and the other entity."""
    if not all(isinstance(end, str) and end.strip() for end in ends):
        yield SkippedPart(where, "a relation without both ends and a type")
        return
    first, type_, second = map(str, ends)
    scenes = scene_records(
        f"{first} {type_.replace('_', ' ')} {second}",
        program=program,
        place="relation",
        actors=[first, second],
        day=None,
        today=today,
    )
    yield from records_or_reason(where, scenes)
