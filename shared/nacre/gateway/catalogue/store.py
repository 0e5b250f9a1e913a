"""What servers offered when they were last asked, kept so that a list needs none of them.

All of it is one item, so that a function that has just started reads once.
"""

import json
import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nacre.core.errors import ConditionFailedError, StoreError
from nacre.core.limits import CATALOGUE_ITEM_BYTES
from nacre.ports.items.table import SCHEMA, Absent, Compare, Item, Key, Table
from nacre.ports.upstream import Offered

KEY = Key("GATEWAY", "CATALOGUE")
_SCHEMA_1 = 1
_ATTEMPTS = 5
_LISTS = ("tools", "resources", "templates", "prompts")


@dataclass(frozen=True, slots=True)
class Entry:
    """What one server offered, when, and which of its tools wait for their owner.

    `digest` is of the configuration it was asked under. `problem` is why it could not be
    asked the last time; what it offered before still counts then.
    """

    digest: str
    at: float
    offered: Offered | None
    waiting: Mapping[str, str] = field(default_factory=dict)
    flagged: Mapping[str, str] = field(default_factory=dict)
    problem: str | None = None


Entries = Mapping[str, Entry]


class StoredCatalogue:
    """The catalogue in the item store; `read` may be cheaper than the table is."""

    def __init__(
        self, table: Callable[[], Table], read: Callable[[Key], Item | None] | None = None
    ) -> None:
        self._table = table
        self._read = read or (lambda key: table().get(key))
        self._loaded: tuple[object, Entries] = (None, {})

    def load(self) -> Entries:
        """Return the entries by server, the same ones while nobody wrote.

        UnavailableError when they cannot be read.
        """
        item = self._read(KEY)
        packed, loaded = (item or {}).get("entries"), self._loaded
        if loaded[0] != packed:
            loaded = self._loaded = (packed, _unpacked(item))
        return loaded[1]

    def update(self, change: Callable[[Entries], Entries]) -> Entries:
        """Change the entries, whoever else does too, and return them."""
        for _ in range(_ATTEMPTS):
            item = self._table().get(KEY)
            known = _unpacked(item)
            changed = change(known)
            if changed == known and item is not None:
                return known
            try:
                self._put(item, changed)
            except ConditionFailedError:
                continue
            return changed
        raise StoreError("what servers offer cannot be kept now: too many writers at once")

    def _put(self, old: Item | None, entries: Entries) -> None:
        number = _number(old)
        when = Absent() if old is None else Compare("number", "=", number)
        item: Item = {
            "pk": KEY.pk,
            "sk": KEY.sk,
            SCHEMA: _SCHEMA_1,
            "number": number + 1,
            "entries": _packed(entries),
        }
        self._table().put(item, when=when)


def release(catalogue: StoredCatalogue, server: str, tools: Collection[str]) -> None:
    """Let tools be used that their owner has looked at."""

    def released(entries: Entries) -> Entries:
        entry = entries.get(server)
        if entry is None:
            return entries
        waiting = {name: why for name, why in entry.waiting.items() if name not in tools}
        flagged = {name: why for name, why in entry.flagged.items() if name not in tools}
        return {**entries, server: replace(entry, waiting=waiting, flagged=flagged)}

    catalogue.update(released)


def _number(item: Item | None) -> int:
    value = (item or {}).get("number", 0)
    return value if isinstance(value, int) else 0


def _packed(entries: Entries) -> bytes:
    """Return the entries as bytes that an item holds; the largest offers go where they must."""
    kept = {name: _shown(entry) for name, entry in entries.items()}
    while True:
        packed = zlib.compress(json.dumps(kept, separators=(",", ":")).encode(), 6)
        if len(packed) <= CATALOGUE_ITEM_BYTES:
            return packed
        sizes = {name: len(json.dumps(each["offered"])) for name, each in kept.items()}
        largest = max(sizes, key=lambda name: sizes[name])
        if kept[largest]["offered"] is None:
            raise StoreError("there are too many servers for one catalogue")
        kept[largest]["offered"] = None


def _unpacked(item: Item | None) -> Entries:
    packed = (item or {}).get("entries")
    if not isinstance(packed, bytes):
        return {}
    try:
        value = json.loads(zlib.decompress(packed))
        return {name: _entry(each) for name, each in value.items()}
    except (zlib.error, ValueError, KeyError, TypeError, AttributeError):
        return {}  # it is asked for again


def _shown(entry: Entry) -> dict[str, Any]:
    offered = entry.offered
    return {
        "digest": entry.digest,
        "at": entry.at,
        "offered": None
        if offered is None
        else {**{name: getattr(offered, name) for name in _LISTS}, "version": offered.version},
        "waiting": dict(entry.waiting),
        "flagged": dict(entry.flagged),
        "problem": entry.problem,
    }


def _entry(value: Mapping[str, Any]) -> Entry:
    offered = value["offered"]
    return Entry(
        str(value["digest"]),
        float(value["at"]),
        None
        if offered is None
        else Offered(
            tuple(offered["tools"]),
            tuple(offered["resources"]),
            tuple(offered["templates"]),
            tuple(offered["prompts"]),
            offered["version"],
        ),
        value["waiting"],
        value["flagged"],
        value["problem"],
    )
