"""Entries of the targets as items: a head in the list, and a long text apart from it."""

from dataclasses import dataclass, replace

from nacre.being.memory.model import keys
from nacre.being.memory.model.records import attributes_of, record_of
from nacre.being.memory.store.targets import Target
from nacre.core.limits import INLINE_TEXT_BYTES, KEPT_VERSIONS, PREVIEW_LENGTH
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Absent, Compare, Delete, Item, Key, Put, Write

ENTRY = ItemSchema("profile entry", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a target. A long text stays apart until it is asked for: `text` is None."""

    key: str
    preview: str
    version: int
    updated_at: str
    size: int  # bytes of the text
    text: str | None = None
    location: str | None = None
    enabled: bool = True  # of a rule


def new_entry(key: str, text: str, *, version: int, updated_at: str) -> Entry:
    """Return an entry with this text."""
    return Entry(
        key=key,
        preview=" ".join(text[: 4 * PREVIEW_LENGTH].split())[:PREVIEW_LENGTH],
        version=version,
        updated_at=updated_at,
        size=len(text.encode()),
        text=text,
    )


def entry_in(item: Item) -> Entry:
    """Return the entry in an item; the text of a long one stays apart."""
    return record_of(Entry, ENTRY.read(item))


def is_apart(target: Target, entry: Entry) -> bool:
    """Whether the entry's text is kept in an item of its own."""
    return entry.size > INLINE_TEXT_BYTES and target.versions is None


def entry_writes(being_id: str, target: Target, entry: Entry, before: Entry | None) -> list[Write]:
    """Return what puts the entry in the place of the one before, on condition that it still is."""
    apart = is_apart(target, entry)
    head: Item = {
        "pk": keys.home(being_id),
        "sk": target.prefix + entry.key,
        **attributes_of(replace(entry, text=None) if apart else entry),
    }
    when = Absent() if before is None else Compare("version", "=", before.version)
    writes: list[Write] = [Put(ENTRY.stamp(head), when)]
    place = body_key(being_id, target, entry.key)
    if apart:
        body: Item = {"pk": place.pk, "sk": place.sk, "text": entry.text or ""}
        writes.append(Put(ENTRY.stamp(body)))
    elif before is not None and is_apart(target, before):
        writes.append(Delete(place))
    return writes


def kept_writes(being_id: str, target: Target, before: Entry | None) -> list[Write]:
    """Return what keeps the version before, and drops the one that is too old to keep."""
    if target.versions is None or before is None:
        return []
    item: Item = {
        "pk": keys.home(being_id),
        "sk": version_key(target, before.key, before.version),
        **attributes_of(before),
    }
    writes: list[Write] = [Put(ENTRY.stamp(item))]
    dropped = before.version - KEPT_VERSIONS
    if dropped > 0:
        old = version_key(target, before.key, dropped)
        writes.append(Delete(Key(keys.home(being_id), old)))
    return writes


def version_key(target: Target, key: str, version: int) -> str:
    """Return the sort key of an entry's old version."""
    return f"{target.versions}{key}#{version:08}"


def key_and_version(target: Target, key: str) -> tuple[str, int | None]:
    """Return the key and the version in `KEY@3`, where versions are kept."""
    name, separator, number = key.rpartition("@")
    if target.versions is None or not separator or not number.isascii() or not number.isdigit():
        return key, None
    return name, int(number[:8])


def body_key(being_id: str, target: Target, key: str) -> Key:
    """Return where the text of a long entry is."""
    return Key(keys.bodies(being_id), target.prefix + key)
