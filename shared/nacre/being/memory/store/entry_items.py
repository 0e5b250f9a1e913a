"""One entry of a target as items. A long text is stored in a separate item."""

from nacre.being.memory.model import keys
from nacre.being.memory.model.records import attributes_of
from nacre.being.memory.model.types import StoredRecord
from nacre.being.memory.store.targets import Target
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import INLINE_TEXT_BYTES, KEPT_VERSIONS, PREVIEW_LENGTH
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Absent, Compare, Delete, Item, Key, Put, Write

ENTRY = ItemSchema("profile entry", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(StoredRecord):
    """One entry of a target. `text` is None while a long text has not been loaded."""

    schema = ENTRY

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


def is_stored_apart(target: Target, entry: Entry) -> bool:
    """Return whether the text of the entry is stored in a separate item."""
    return entry.size > INLINE_TEXT_BYTES and target.versions is None


def entry_writes(being_id: str, target: Target, entry: Entry, before: Entry | None) -> list[Write]:
    """Return the writes that replace the entry `before`, if it has not changed meanwhile."""
    apart = is_stored_apart(target, entry)
    head: Item = {
        "pk": keys.home(being_id),
        "sk": target.prefix + entry.key,
        **attributes_of(replace(entry, text=None) if apart else entry),
    }
    when = Absent() if before is None else Compare("version", "=", before.version)
    writes: list[Write] = [Put(ENTRY.stamp(head), when)]
    place = body_key(being_id, target, entry.key)
    if apart:
        body: Item = {**place.attributes(), "text": entry.text or ""}
        writes.append(Put(ENTRY.stamp(body)))
    elif before is not None and is_stored_apart(target, before):
        writes.append(Delete(place))
    return writes


def version_writes(being_id: str, target: Target, before: Entry | None) -> list[Write]:
    """Return the writes that keep the version `before` and delete the oldest kept version."""
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
    """Return the sort key of an old version of an entry."""
    return f"{target.versions}{key}#{version:08}"


def key_and_version(target: Target, key: str) -> tuple[str, int | None]:
    """Split `KEY@3` into key and version, for a target that keeps versions."""
    name, separator, number = key.rpartition("@")
    if target.versions is None or not separator or not number.isascii() or not number.isdigit():
        return key, None
    return name, int(number[:8])


def body_key(being_id: str, target: Target, key: str) -> Key:
    """Return the key of the item with the text of a long entry."""
    return Key(keys.bodies(being_id), target.prefix + key)
