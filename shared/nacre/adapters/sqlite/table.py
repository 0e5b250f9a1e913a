"""The item store on SQLite."""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from nacre.adapters.items.checked_table import CheckedTable
from nacre.adapters.items.item_query import Query, decode_cursor, encode_cursor
from nacre.adapters.items.writes import apply_writes, normal_write
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.item_json import decode_item, encode_item
from nacre.adapters.sqlite.purging import is_brief, safe_moment
from nacre.core.clock import Clock, system_clock
from nacre.ports.items.table import (
    Change,
    Check,
    Condition,
    Delete,
    Item,
    Key,
    Page,
    Put,
    Update,
    Value,
    Write,
)

if TYPE_CHECKING:
    from nacre.adapters.sqlite.memory_changes import SqliteMemoryChanges

_LIVE = "(expires_at IS NULL OR expires_at > ?)"
_COLUMNS = (
    "pk", "sk", "expires_at", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk", "gsi3pk", "gsi3sk", "body",
    "is_brief",
)  # fmt: skip
_PURGE_SECONDS = 60  # how often a writer looks for expired items
_PURGE_ITEMS = 200  # how many one write removes, so that it stays short


class SqliteTable(CheckedTable):
    """A Table in one of the database's two tables.

    Without `durable`, a write is acknowledged before it is on disk. `changes`, if given, opens
    the record of changes of memories, with the first write of a Being's item.
    """

    _keys_at_once = 400  # two variables each, below SQLite's oldest limit of 999

    def __init__(
        self,
        database: SqliteDatabase,
        name: Literal["data", "tokens"] = "data",
        *,
        now: Clock = system_clock,
        durable: bool = True,
        changes: "Callable[[], SqliteMemoryChanges] | None" = None,
    ) -> None:
        self._database = database
        self._open_changes = changes
        self._changes: SqliteMemoryChanges | None = None
        self._durable = durable
        self._name = name
        self._clock = now
        self._purged_at = 0
        self._purging = threading.Lock()
        self._upsert = (
            f"INSERT INTO {name} ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608  # fixed names
            f" ON CONFLICT (pk, sk) DO UPDATE SET "
            + ", ".join(f"{column} = excluded.{column}" for column in _COLUMNS[2:-1])
            # Rewriting a long-lived item near its expiry must not mark it short-lived.
            + ", is_brief = min(is_brief, excluded.is_brief)"
        )

    def put(self, item: Item, *, when: Condition | None = None) -> None:
        """Write the whole item, and replace the old one."""
        self._apply([normal_write(Put(item, when))], self._now())

    def update(self, key: Key, change: Change, *, when: Condition | None = None) -> Item:
        """Change the item and return it as it is now."""
        [(_, after)] = self._apply([normal_write(Update(key, change, when))], self._now())
        assert after is not None
        return after

    def delete(self, key: Key, *, when: Condition | None = None) -> Item | None:
        """Remove the item and return it, or None if there was none."""
        [(before, _)] = self._apply([normal_write(Delete(key, when))], self._now())
        return before

    def purge(self, limit: int = _PURGE_ITEMS) -> int:
        """Remove some items that expired long enough ago; return how many."""
        with self._database.write() as connection:
            return self._purge(connection, limit)

    def _read_one(self, key: Key, now: int) -> Item | None:
        with self._database.read() as connection:
            return self._stored(connection, *key, now)

    def _read_many(self, keys: Sequence[Key], now: int, *, may_lag: bool) -> dict[Key, Item]:
        # A join, because SQLite reads the whole table for `(pk, sk) IN (VALUES ...)`.
        sql = (
            f"WITH wanted (a, b) AS (VALUES {', '.join(['(?, ?)'] * len(keys))})"  # noqa: S608  # fixed names
            f" SELECT pk, sk, body FROM wanted CROSS JOIN {self._name}"
            f" ON pk = a AND sk = b WHERE {_LIVE}"
        )
        values = [part for key in keys for part in key]
        with self._database.read() as connection:
            rows = connection.execute(sql, (*values, now)).fetchall()
        return {Key(pk, sk): decode_item(body) for pk, sk, body in rows}

    def _read_page(self, query: Query, start: str | None, now: int) -> Page:
        sql, values = self._selection(query, start, now)
        with self._database.read() as connection:
            rows = connection.execute(sql, values).fetchall()
        more = query.limit is not None and len(rows) > query.limit
        rows = rows[: query.limit]
        end = encode_cursor(query, list(rows[-1][:-1])) if more else None
        return Page(tuple(decode_item(row[-1]) for row in rows), end)

    def _selection(self, query: Query, start: str | None, now: int) -> tuple[str, list[str | int]]:
        where = [f"{query.partition_key} = ?", _LIVE]
        values: list[str | int] = [query.partition, now]
        for relation, bound in _bounds(query):
            where.append(f"{query.sort_key} {relation} ?")
            values.append(bound)
        if start is not None:
            placeholders = ", ".join("?" * len(query.position))
            relation = "<" if query.descending else ">"
            where.append(f"({', '.join(query.position)}) {relation} ({placeholders})")
            values += decode_cursor(query, start)
        direction = "DESC" if query.descending else "ASC"
        order = ", ".join(f"{column} {direction}" for column in query.position)
        values.append(
            -1 if query.limit is None else query.limit + 1
        )  # one extra row shows whether there is a next page
        sql = (
            f"SELECT {', '.join(query.position)}, body FROM {self._name}"  # noqa: S608  # fixed names
            f" WHERE {' AND '.join(where)} ORDER BY {order} LIMIT ?"
        )
        return sql, values

    def _apply(self, writes: Sequence[Write], now: int) -> list[tuple[Item | None, Item | None]]:
        """Do checked writes in one transaction; return each item before and after."""
        with self._database.write(durable=self._durable) as connection:
            before = [self._item_before(connection, write, now) for write in writes]
            after = apply_writes(writes, before)
            for write, item in zip(writes, after, strict=True):
                self._store(connection, write, item, now)
            self._record(connection, writes, before, after)
            if self._claim_purge(now):
                self._purge(connection, _PURGE_ITEMS)
        return list(zip(before, after, strict=True))

    def _item_before(self, connection: sqlite3.Connection, write: Write, now: int) -> Item | None:
        """Return the stored item of a write that depends on it."""
        key = _key(write)
        if isinstance(write, Put) and write.when is None and self._changes_of(key) is None:
            return None
        return self._stored(connection, *key, now)

    def _changes_of(self, key: Key) -> "SqliteMemoryChanges | None":
        """Return the record of changes if it covers an item."""
        if self._open_changes is None or not key.pk.startswith("B#"):
            return None
        if self._changes is None:
            self._changes = self._open_changes()
        return self._changes if self._changes.covers(key) else None

    def _record(
        self,
        connection: sqlite3.Connection,
        writes: Sequence[Write],
        before: Sequence[Item | None],
        after: Sequence[Item | None],
    ) -> None:
        replaced = [
            (_key(write), old, new)
            for write, old, new in zip(writes, before, after, strict=True)
            if not isinstance(write, Check) and self._changes_of(_key(write)) is not None
        ]
        if replaced and self._changes is not None:
            self._changes.note(connection, replaced, self._clock())

    def _stored(
        self, connection: sqlite3.Connection, pk: Value, sk: Value, now: int
    ) -> Item | None:
        sql = f"SELECT body FROM {self._name} WHERE pk = ? AND sk = ? AND {_LIVE}"  # noqa: S608  # fixed names
        row = connection.execute(sql, (pk, sk, now)).fetchone()
        return None if row is None else decode_item(row[0])

    def _store(
        self, connection: sqlite3.Connection, write: Write, item: Item | None, now: int
    ) -> None:
        if item is None:
            if isinstance(write, Delete):
                sql = f"DELETE FROM {self._name} WHERE pk = ? AND sk = ?"  # noqa: S608  # fixed names
                connection.execute(sql, write.key)
            return
        expires_at = item.get("expires_at")
        brief = isinstance(expires_at, int) and is_brief(expires_at, now)
        connection.execute(self._upsert, [*_columns(item), encode_item(item), brief])

    def _purge(self, connection: sqlite3.Connection, limit: int) -> int:
        now = self._now()
        safe = safe_moment(connection, now)
        removed = 0
        for which, end in (("is_brief AND", now), ("", min(safe, now))):
            sql = (
                f"DELETE FROM {self._name} WHERE rowid IN"  # noqa: S608  # fixed names
                f" (SELECT rowid FROM {self._name} WHERE {which} expires_at <= ? LIMIT ?)"
            )
            removed += connection.execute(sql, (end, limit - removed)).rowcount
        return removed

    def _claim_purge(self, now: int) -> bool:
        with self._purging:
            if abs(now - self._purged_at) < _PURGE_SECONDS:
                return False
            self._purged_at = now
            return True


def _key(write: Write) -> Key:
    if isinstance(write, Put):
        return Key(str(write.item["pk"]), str(write.item["sk"]))
    return write.key


def _bounds(query: Query) -> list[tuple[str, str]]:
    bounds = []
    if query.prefix:
        bounds.append((">=", query.prefix))
        after = _after_prefix(query.prefix)
        if after:
            bounds.append(("<", after))
    if query.low:
        bounds.append((">=", query.low))
    if query.high is not None:
        bounds.append(("<=", query.high))
    return bounds


def _after_prefix(prefix: str) -> str:
    """Return the smallest string above every string with this prefix; empty if there is none."""
    start = prefix.rstrip("\U0010ffff")
    if not start:
        return ""
    following = ord(start[-1]) + 1
    if following == 0xD800:  # surrogates are not text
        following = 0xE000
    return start[:-1] + chr(following)


def _columns(item: Item) -> list[Any]:
    columns = [item["pk"], item["sk"], item.get("expires_at")]
    for index in ("gsi1", "gsi2", "gsi3"):
        pair = [item.get(f"{index}pk"), item.get(f"{index}sk")]
        columns += [None, None] if None in pair else pair
    return columns
