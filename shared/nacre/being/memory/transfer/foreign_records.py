"""Memories of other programs as records: what their importers share.

What comes from elsewhere has the trust class `import`. Ids follow from what a memory says and
where it came from, so that the same file again changes nothing.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from nacre.being.memory.model.fields import checked_name, checked_text, cleaned_text, name_key
from nacre.being.memory.model.records import attributes_of
from nacre.being.memory.model.types import Relation, moment
from nacre.being.memory.store.entries import Entry
from nacre.being.memory.store.scenes import SceneDraft, checked_scene
from nacre.being.memory.text.text_blocks import shortened
from nacre.being.memory.transfer.portable_records import Record
from nacre.core.errors import InvalidInputError
from nacre.core.ids import ulid
from nacre.core.limits import (
    MAX_ACTION_BYTES,
    MAX_ACTORS,
    MAX_KNOWLEDGE_BYTES,
    MAX_RELATION_BYTES,
    MAX_RELATION_TYPE,
    MAX_TAG_LENGTH,
    MAX_THEMES,
    PREVIEW_LENGTH,
)

MAX_FOREIGN_BYTES = 256 * 1024 * 1024
"""Of a file that is not read line by line."""


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """A part of a file that no memory came of: where it stands, and why."""

    where: str
    reason: str


Found = Record | NotUnderstood


def scene_records(
    text: str,
    *,
    origin: str,
    actors: Iterable[str] = (),
    themes: Iterable[str] = (),
    setting: str | None = None,
    day: datetime | None,
    today: datetime,
) -> Iterator[Record]:
    """Give a memory as scenes: one, or several where the text is too long for one.

    `origin` is what tells it from others with the same text. Without a day of its own it is
    dated today.
    """
    when = (day or today).astimezone(UTC)
    for part in parts_of(cleaned_text(text, "text", limit=MAX_FOREIGN_BYTES), MAX_ACTION_BYTES):
        draft = SceneDraft(
            action=part,
            actors=tags(actors, MAX_ACTORS),
            when=[f"{when:%Y-%m-%d}"],
            setting=setting,
            themes=tags(themes, MAX_THEMES),
            source="import",
            trust="import",
        )
        # Without a day the moment would differ from one import to the next.
        milliseconds = max(0, int(day.timestamp() * 1000)) if day is not None else 0
        chance = hashlib.sha256(f"{origin}\n{part}".encode()).digest()[:10]
        scene_id = ulid(milliseconds, int.from_bytes(chance))
        scene = checked_scene(draft, "memory", scene_id=scene_id, created_at=moment(when))
        yield Record("scene", scene_id, attributes_of(scene))


def relation_record(entity: str, type_: str, content: str, *, today: datetime) -> Record:
    """Return an entity as a relation; what is too long for one is cut off with an ellipsis."""
    name = checked_name(entity, "entity")
    relation = Relation(
        entity=name,
        type=one_tag(type_, MAX_RELATION_TYPE) or "entity",
        content=checked_text(shortened(content, MAX_RELATION_BYTES), "content", limit=1 << 20),
        updated_at=moment(today),
    )
    return Record("relation", name_key(name), attributes_of(relation))


def as_scenes(record: Record, *, program: str, today: datetime) -> list[Record]:
    """Return a relation or an entry of knowledge as scenes, for which there is always room."""
    told = record.told()
    name, themes = record.key, []
    if isinstance(told, Relation):
        name, themes = told.entity, [told.type]
        text = f"{name}: {told.type}\n{told.content}"
    elif isinstance(told, Entry) and record.kind == "knowledge":
        text = f"{name}\n{told.text}"
    else:
        return []
    return list(
        scene_records(
            text,
            origin=f"{program}\n{record.kind} {record.key}",
            actors=[name] if record.kind == "relation" else [],
            themes=themes,
            day=None,
            today=today,
        )
    )


def knowledge_records(title: str, text: str, *, day: datetime) -> Iterator[Record]:
    """Give a document as knowledge: one entry, or several where it is too long for one."""
    parts = list(parts_of(cleaned_text(text, "text", limit=MAX_FOREIGN_BYTES), MAX_KNOWLEDGE_BYTES))
    for number, part in enumerate(parts, start=1):
        suffix = f" ({number}/{len(parts)})" if len(parts) > 1 else ""
        key = checked_name(title[: MAX_TAG_LENGTH - len(suffix)] + suffix, "title")
        entry = Entry(
            key=key,
            preview=" ".join(part[: 4 * PREVIEW_LENGTH].split())[:PREVIEW_LENGTH],
            version=1,
            updated_at=moment(day),
            size=len(part.encode()),
            text=part,
        )
        yield Record("knowledge", key, attributes_of(entry))


def parts_of(text: str, limit: int) -> Iterator[str]:
    """Split a text into parts of so many bytes, at the ends of lines or words where there are."""
    # What is left is never copied: a file may have a million parts.
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


def tags(names: Iterable[str], limit: int) -> Sequence[str]:
    """Return names as an actor or a theme may have them, each once; further ones are left out."""
    return list(dict.fromkeys(tag for name in names if (tag := one_tag(name))))[:limit]


def one_tag(name: str, limit: int = MAX_TAG_LENGTH) -> str:
    """Return a name in one line and of at most so many characters."""
    cleaned = cleaned_text(name, "name", limit=MAX_FOREIGN_BYTES)
    return " ".join(cleaned.split())[:limit].strip()


def day_of(text: object) -> datetime | None:
    """Return the moment in an ISO 8601 text; None where there is none."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text.strip().strip("'\""))
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
        return found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def understood(where: str, records: Iterator[Record]) -> Iterator[Found]:
    """Give the records; what cannot be kept is named with the reason."""
    try:
        yield from records
    except InvalidInputError as error:
        yield NotUnderstood(where, str(error))


def told_relation(
    ends: Sequence[object], where: str, *, program: str, today: datetime
) -> Iterator[Found]:
    """Return the scene that says how two named things are related: one end, the type, the other."""
    if not all(isinstance(each, str) and each.strip() for each in ends):
        yield NotUnderstood(where, "a relation without both ends and a type")
        return
    first, type_, second = map(str, ends)
    scenes = scene_records(
        f"{first} {type_.replace('_', ' ')} {second}",
        origin=f"{program}\nrelation",
        actors=[first, second],
        day=None,
        today=today,
    )
    yield from understood(where, scenes)
