"""The stored lists of servers, so that listing tools needs no server.

All entries are one item, so that a function that has just started reads once.
"""

import json
import zlib
from collections.abc import Callable, Collection, Mapping
from typing import Any

from nacre.core.errors import StoreError
from nacre.core.lazy_dataclasses import dataclass, field, replace
from nacre.core.limits import CATALOGUE_ITEM_BYTES
from nacre.gateway.servers.store import change_item
from nacre.ports.items.table import Item, Key, Table
from nacre.ports.other_programs.upstream import Offered

KEY = Key("GATEWAY", "CATALOGUE")
_HEALTH = ("latency", "opening", "failures", "error", "error_at", "paused_until")
_LISTS = ("tools", "resources", "templates", "prompts")


@dataclass(frozen=True, slots=True)
class Health:
    """The duration of a server's last list, and its last failure.

    `latency` and `opening` are those of Offered; `opening` is kept while a session stays open.
    `failures` counts lists that failed in a row. `error` stays after the server has recovered.
    Calls are refused until `paused_until`, in seconds since 1970.
    """

    latency: float = 0.0
    opening: float = 0.0
    failures: int = 0
    error: str = ""
    error_at: float = 0.0
    paused_until: float = 0.0


@dataclass(frozen=True, slots=True)
class Entry:
    """The last offer of one server, and its tools that wait for the owner's approval.

    `digest` belongs to the configuration with which it was asked. `problem` is the reason why the
    last attempt failed; the earlier offer still counts then.
    """

    digest: str
    at: float
    offered: Offered | None
    waiting: Mapping[str, str] = field(default_factory=dict)
    flagged: Mapping[str, str] = field(default_factory=dict)
    problem: str | None = None
    health: Health = field(default=Health(), compare=False)  # lists do not depend on it


Entries = Mapping[str, Entry]


class StoredCatalogue:
    """The catalogue in the item store; `read` may be cheaper than reading the table."""

    def __init__(
        self, table: Callable[[], Table], read: Callable[[Key], Item | None] | None = None
    ) -> None:
        self._table = table
        self._read = read or (lambda key: table().get(key))
        self._loaded: tuple[object, Entries] = (None, {})

    def load(self) -> Entries:
        """Return the entries by server, the same objects until they are written again.

        Raises UnavailableError when they cannot be read.
        """
        item = self._read(KEY)
        packed, loaded = (item or {}).get("entries"), self._loaded
        if loaded[0] != packed:
            loaded = self._loaded = (packed, _unpacked(item))
        return loaded[1]

    def update(self, change: Callable[[Entries], Entries]) -> Entries:
        """Change the entries, also while others change them, and return them."""
        changed: Entries = {}

        def packed(item: Item | None) -> Item | None:
            nonlocal changed
            entries = _unpacked(item)
            changed = change(entries)
            is_same = item is not None and _is_same(changed, entries)
            return None if is_same else {"entries": _packed(changed)}

        problem = "what servers offer cannot be kept now"
        change_item(self._table(), KEY, packed, problem=problem)
        return changed


def _is_same(entries: Entries, others: Entries) -> bool:
    return entries == others and all(
        entry.health == others[name].health for name, entry in entries.items()
    )


def release(catalogue: StoredCatalogue, server: str, tools: Collection[str]) -> None:
    """Allow the use of tools that their owner has approved."""

    def released(entries: Entries) -> Entries:
        entry = entries.get(server)
        if entry is None:
            return entries
        waiting = {name: state for name, state in entry.waiting.items() if name not in tools}
        flagged = {name: reason for name, reason in entry.flagged.items() if name not in tools}
        return {**entries, server: replace(entry, waiting=waiting, flagged=flagged)}

    catalogue.update(released)


def ask_again(catalogue: StoredCatalogue, server: str) -> None:
    """Let a server be asked for its lists at the next occasion, because its login has changed."""

    def outdated(entries: Entries) -> Entries:
        entry = entries.get(server)
        if entry is None:
            return entries
        return {**entries, server: replace(entry, at=0.0, problem=None)}

    catalogue.update(outdated)


def _packed(entries: Entries) -> bytes:
    """Return the entries as bytes for an item; the largest offers are dropped if necessary."""
    values = {name: _entry_value(entry) for name, entry in entries.items()}
    while True:
        packed = zlib.compress(json.dumps(values, separators=(",", ":")).encode(), 6)
        if len(packed) <= CATALOGUE_ITEM_BYTES:
            return packed
        sizes = {name: len(json.dumps(value["offered"])) for name, value in values.items()}
        largest = max(sizes, key=lambda name: sizes[name])
        if values[largest]["offered"] is None:
            raise StoreError("there are too many servers for one catalogue")
        values[largest]["offered"] = None


def _unpacked(item: Item | None) -> Entries:
    packed = (item or {}).get("entries")
    if not isinstance(packed, bytes):
        return {}
    try:
        value = json.loads(zlib.decompress(packed))
        return {name: _entry(entry) for name, entry in value.items()}
    except (zlib.error, ValueError, KeyError, TypeError, AttributeError):
        return {}  # servers are asked again


def _entry_value(entry: Entry) -> dict[str, Any]:
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
        "health": {name: getattr(entry.health, name) for name in _HEALTH},
    }


def _entry(value: Mapping[str, Any]) -> Entry:
    offered, health = value["offered"], value.get("health") or {}
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
        Health(**{name: health[name] for name in _HEALTH if name in health}),
    )
