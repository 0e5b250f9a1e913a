"""The record of changes of memories: for each change, what it replaced.

A recall reads scenes, memories, their points, the Being's clock and the embedding of its index.
The transaction that changes one of these also stores the attributes that it replaced. Undoing the
changes since a time, the newest first, gives the items of that time. The record is bounded in time
and in bytes, and the oldest changes go first.

A scene or a memory that is deleted leaves no record, and neither does an erased Being.
"""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Literal

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.item_json import decode_item, encode_item
from nacre.being.memory.index.vector_items import SUBJECT_OF, VECTOR_OF
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import CLOCK
from nacre.core.limits import CHANGES_KEPT_BYTES, CHANGES_KEPT_DAYS
from nacre.ports.items.table import SCHEMA, Item, Key
from nacre.ports.memory_changes import NotRecordedError

_TABLES = """
CREATE TABLE IF NOT EXISTS memory_changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, pk TEXT NOT NULL,
    sk TEXT NOT NULL, before TEXT, size INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS memory_changes_key ON memory_changes (pk, sk);
CREATE TABLE IF NOT EXISTS memory_records (
    pk TEXT PRIMARY KEY, since INTEGER NOT NULL, bytes INTEGER NOT NULL, looked INTEGER NOT NULL
)
"""
_HAS_TABLES = "SELECT count(*) FROM sqlite_schema WHERE name = 'memory_records'"
_ITEMS = """
SELECT body FROM data WHERE (pk = ? AND sk IN (?, ?)) OR pk IN (?, ?)
    OR (pk = ? AND sk >= 'P#' AND sk < 'P$')
"""
_LAST = "SELECT max(number) FROM memory_changes WHERE pk >= ? AND pk < ? AND at <= ?"
_LATER = """
SELECT pk, sk, before FROM memory_changes WHERE pk >= ? AND pk < ? AND number > ?
ORDER BY number DESC
"""
_TEXTS = """
SELECT number, before FROM memory_changes WHERE pk >= ? AND pk < ? AND before IS NOT NULL
"""
_SIZES = "SELECT number, at, size FROM memory_changes WHERE pk >= ? AND pk < ? ORDER BY number"
_ADD = "INSERT INTO memory_changes (at, pk, sk, before, size) VALUES (?, ?, ?, ?, ?)"
_GROW = """
INSERT INTO memory_records (pk, since, bytes, looked) VALUES (?, ?, ?, ?)
ON CONFLICT (pk) DO UPDATE SET bytes = bytes + excluded.bytes
"""
_RECORD = "SELECT since, bytes, looked FROM memory_records WHERE pk = ?"
_SHRINK = """
UPDATE memory_records SET bytes = (
    SELECT coalesce(sum(size), 0) FROM memory_changes
    WHERE memory_changes.pk >= ? AND memory_changes.pk < ?
) WHERE pk = ?
"""
_ROW_BYTES = 200  # of a row besides what was replaced: its keys, twice
_EPOCH = datetime.fromtimestamp(0, UTC)
_DAY = 86_400_000  # in milliseconds, as all times of the record
_FREED_SHARE = 10  # a full record frees a tenth, so that it is not full again at once
_HOME = len("B#") + 36  # characters of a Being's own partition

Part = Literal["memory", "point", "clock", "index"]
Replaced = tuple[Key, Item | None, Item | None]
"""The key of an item, and the item before and after a transaction, if there was and is one."""


class SqliteMemoryChanges:
    """The record in the database of the items.

    Without `keeps`, changes are not recorded: what an erasing command restores is not history.
    What is deleted leaves the record in any case.
    """

    def __init__(self, database: SqliteDatabase, *, keeps: bool = True) -> None:
        self._database = database
        self._keeps = keeps
        self._has_tables = False

    def covers(self, key: Key) -> bool:
        """Return whether changes of this item are recorded."""
        return _part(key) is not None

    def note(
        self, connection: sqlite3.Connection, replaced: Sequence[Replaced], now: datetime
    ) -> None:
        """Record changes inside their own transaction."""
        changes = [(key, before, after) for key, before, after in replaced if before != after]
        if not changes:
            return
        if not self._found_tables(connection):
            for statement in _TABLES.split(";"):
                connection.execute(statement)
        gone = {key for key, _, after in changes if after is None}
        deleted = {key.sk for key in gone if _part(key) == "memory"}
        for key in gone:
            if _part(key) == "memory":
                self._remove(connection, key)
                self._remove(connection, Key(f"{key.pk[:_HOME]}#V", f"P#{key.sk}"))
        for home in sorted({key.pk[:_HOME] for key, _, _ in changes}):
            # Of a Being that is being erased nothing is recorded.
            if gone and not _exists(connection, Key(home, keys.META)):
                connection.execute("DELETE FROM memory_changes WHERE pk >= ? AND pk < ?", _of(home))
                connection.execute("DELETE FROM memory_records WHERE pk = ?", (home,))
            elif self._keeps:
                own = [change for change in changes if change[0].pk[:_HOME] == home]
                self._add(connection, home, _rows(own, deleted), _milliseconds(now))

    def items_at(self, being_id: str, time: datetime) -> list[Item]:
        """Return the items that a recall reads, as they were; raise NotRecordedError."""
        home, at = keys.home(being_id), _milliseconds(time)
        places = (
            *(home, keys.META, keys.index_state(being_id).sk),
            *(keys.nodes(being_id), keys.scenes(being_id), keys.vectors(being_id)),
        )
        with self._database.read() as connection, _one_state(connection):
            since = self._since(connection, home)
            if since is None or at < since:
                raise NotRecordedError(None if since is None else _moment(since))
            bodies = connection.execute(_ITEMS, places)
            items = {Key.of(item): item for item in (decode_item(body) for (body,) in bodies)}
            [last] = connection.execute(_LAST, (*_of(home), at)).fetchone()
            for pk, sk, before in connection.execute(_LATER, (*_of(home), last or 0)):
                _undo(items, Key(pk, sk), before)
        return [_compared(key, item) for key, item in sorted(items.items())]

    def scrub(self, being_id: str, needles: Sequence[str]) -> None:
        """Remove recorded changes that contain one of these ids or texts.

        A memory that such a change belongs to is then, before that change, as it was after it.
        """
        forms = {json.dumps(needle, ensure_ascii=False)[1:-1] for needle in needles if needle}
        home = keys.home(being_id)
        with self._database.write() as connection:
            if self._since(connection, home) is not None:
                rows = connection.execute(_TEXTS, _of(home))
                numbers = [
                    number for number, before in rows if any(form in before for form in forms)
                ]
                self._remove_numbers(connection, home, numbers)

    def _add(
        self,
        connection: sqlite3.Connection,
        home: str,
        rows: Sequence[tuple[Key, str | None]],
        at: int,
    ) -> None:
        if not rows:
            return
        values = [
            (at, *key, before, _ROW_BYTES + len((before or "").encode())) for key, before in rows
        ]
        connection.executemany(_ADD, values)
        size = sum(value[-1] for value in values)
        connection.execute(_GROW, (home, at, size, at))
        _, total, looked = connection.execute(_RECORD, (home,)).fetchone()
        if total > CHANGES_KEPT_BYTES or abs(at - looked) > _DAY:
            self._drop_oldest(connection, home, at)

    def _drop_oldest(self, connection: sqlite3.Connection, home: str, now: int) -> None:
        """Remove the changes that are too old, and so many more that the record has room."""
        rows = connection.execute(_SIZES, _of(home)).fetchall()
        total, since, numbers = sum(size for _, _, size in rows), 0, []
        aim = CHANGES_KEPT_BYTES
        if total > aim:
            aim -= aim // _FREED_SHARE
        for number, at, size in rows:
            if at > now - CHANGES_KEPT_DAYS * _DAY and total <= aim:
                break
            total -= size
            since = max(since, at)
            numbers.append(number)
        if numbers:
            self._remove_numbers(connection, home, numbers)
        later = "UPDATE memory_records SET since = max(since, ?), looked = ? WHERE pk = ?"
        connection.execute(later, (since, now, home))

    def _remove(self, connection: sqlite3.Connection, key: Key) -> None:
        """Remove the record of one item."""
        sql = "SELECT coalesce(sum(size), 0) FROM memory_changes WHERE pk = ? AND sk = ?"
        [size] = connection.execute(sql, key).fetchone()
        if size:
            connection.execute("DELETE FROM memory_changes WHERE pk = ? AND sk = ?", key)
            less = "UPDATE memory_records SET bytes = bytes - ? WHERE pk = ?"
            connection.execute(less, (size, key.pk[:_HOME]))

    def _remove_numbers(
        self, connection: sqlite3.Connection, home: str, numbers: Iterable[int]
    ) -> None:
        connection.executemany(
            "DELETE FROM memory_changes WHERE number = ?", [(number,) for number in numbers]
        )
        connection.execute(_SHRINK, (*_of(home), home))

    def _since(self, connection: sqlite3.Connection, home: str) -> int | None:
        if not self._found_tables(connection):
            return None
        row = connection.execute(_RECORD, (home,)).fetchone()
        return None if row is None else int(row[0])

    def _found_tables(self, connection: sqlite3.Connection) -> bool:
        # Tables of a transaction that failed are gone again, so only ones from before it count.
        if not self._has_tables:
            self._has_tables = bool(connection.execute(_HAS_TABLES).fetchone()[0])
        return self._has_tables


def _of(home: str) -> tuple[str, str]:
    """Return the bounds of a Being's partitions."""
    return home, f"{home}$"  # "$" follows "#", which separates the parts of a key


@contextmanager
def _one_state(connection: sqlite3.Connection) -> Iterator[None]:
    """Let all statements of a block see one state of the database."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def _part(key: Key) -> Part | None:
    """Return the kind of an item that a recall reads, or None for other items."""
    place = _PLACE.fullmatch(key.pk)
    if place is None:
        return None
    match place[1]:
        case "#N" | "#S":
            return "memory"
        case "#V":
            return "point" if key.sk.startswith("P#") else None
        case _:
            return _OF_HOME.get(key.sk)


_PLACE = re.compile(r"B#[0-9a-f-]{36}(#[NSV])?")
_NOBODY = "00000000-0000-0000-0000-000000000000"
_OF_HOME: Mapping[str, Part] = {keys.META: "clock", keys.index_state(_NOBODY).sk: "index"}
_NOT_READ = ("gsi", "summary", SUBJECT_OF)
_READ_OF: Mapping[Part, str] = {"clock": CLOCK, "index": "active"}


def _compared(key: Key, item: Item) -> Item:
    """Return the attributes of an item that a recall depends on."""
    part = _part(key)
    assert part is not None
    if part in _READ_OF:
        names = {"pk", "sk", SCHEMA, _READ_OF[part]}
        return {name: value for name, value in item.items() if name in names}
    # Keys of indexes and summaries follow from the other attributes, and patrols alone compare
    # subjects.
    return {name: value for name, value in item.items() if not name.startswith(_NOT_READ)}


def _rows(changes: Iterable[Replaced], deleted: set[str]) -> list[tuple[Key, str | None]]:
    """Return the rows of changes; those of deleted memories and their points are left out."""
    rows: list[tuple[Key, str | None]] = []
    for key, before, after in changes:
        if before is None:
            rows.append((key, None))
        elif after is not None:
            replaced = _difference(_compared(key, before), _compared(key, after))
            if replaced is not None:
                rows.append((key, replaced))
        elif _part(key) == "point" and key.sk[2:] not in deleted:
            rows.append((key, encode_item({"item": _compared(key, before)})))
    return rows


def _difference(before: Item, after: Item) -> str | None:
    """Return the attributes of `before` that `after` lacks or has changed; None without any."""
    names = before.keys() | after.keys()
    if before.get("text_sha") == after.get("text_sha"):
        # The vectors of a text are those of a model: another model is another matter.
        names = {name for name in names if not name.startswith(VECTOR_OF)}
    differing = sorted(
        name
        for name in names
        if name not in before or name not in after or before[name] != after[name]
    )
    if not differing:
        return None
    replaced: Item = {name: before[name] for name in differing if name in before}
    return encode_item({"set": replaced, "added": [n for n in differing if n not in before]})


def _undo(items: dict[Key, Item], key: Key, before: str | None) -> None:
    """Take one change back."""
    if before is None:
        items.pop(key, None)
        return
    change = decode_item(before)
    whole, replaced, added = change.get("item"), change.get("set"), change.get("added", [])
    if isinstance(whole, dict):
        items[key] = whole
    elif key in items and isinstance(replaced, dict) and isinstance(added, list):
        rest = {name: value for name, value in items[key].items() if name not in added}
        items[key] = {**rest, **replaced}


def _exists(connection: sqlite3.Connection, key: Key) -> bool:
    sql = "SELECT count(*) FROM data WHERE pk = ? AND sk = ?"
    return bool(connection.execute(sql, key).fetchone()[0])


def _milliseconds(time: datetime) -> int:
    return (time - _EPOCH) // timedelta(milliseconds=1)


def _moment(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)
