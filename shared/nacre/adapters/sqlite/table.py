"""The item store on SQLite."""

import sqlite3
import threading
from collections.abc import Iterable, Sequence
from typing import Any, Literal, assert_never

from nacre.adapters.items.conditions import holds
from nacre.adapters.items.item_json import decode_item, encode_item
from nacre.adapters.items.item_query import Query, decode_cursor, encode_cursor, make_query
from nacre.adapters.items.values import check_key
from nacre.adapters.items.writes import apply_once, changed, normal_write, write_key
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.purging import is_brief, safe_moment
from nacre.core.clock import Clock, system_clock
from nacre.core.errors import ConditionFailedError
from nacre.ports.items.table import (
    Change,
    Check,
    Condition,
    Delete,
    Index,
    Item,
    Key,
    Page,
    Put,
    Range,
    Update,
    Write,
)

_LIVE = "(expires_at IS NULL OR expires_at > ?)"
_COLUMNS = (
    "pk", "sk", "expires_at", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk", "gsi3pk", "gsi3sk", "body",
    "is_brief",
)  # fmt: skip
_PURGE_SECONDS = 60  # how often a writer looks for expired items
_PURGE_ITEMS = 200  # how many one write removes, so that it stays short
_KEYS_AT_ONCE = 400  # two variables each, below SQLite's oldest limit of 999


class SqliteTable:
    """A Table in one of the database's two tables.

    One that is not `durable` acknowledges before the disk has the write.
    """

    def __init__(
        self,
        database: SqliteDatabase,
        name: Literal["data", "tokens"] = "data",
        *,
        now: Clock = system_clock,
        durable: bool = True,
    ) -> None:
        self._database = database
        self._durable = durable
        self._name = name
        self._clock = now
        self._purged_at = 0
        self._purging = threading.Lock()
        self._upsert = (
            f"INSERT INTO {name} ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608  # fixed names
            f" ON CONFLICT (pk, sk) DO UPDATE SET "
            + ", ".join(f"{column} = excluded.{column}" for column in _COLUMNS[2:-1])
            # Near its end an item that was meant to live long does not become a brief one.
            + ", is_brief = min(is_brief, excluded.is_brief)"
        )

    def get(self, key: Key) -> Item | None:
        """Return the item as last acknowledged, or None."""
        check_key(key)
        with self._database.read() as connection:
            return self._find(connection, key, self._now())

    def get_many(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """Return the items that exist; missing keys are left out."""
        wanted = list(dict.fromkeys(keys))
        for key in wanted:
            check_key(key)
        found: dict[Key, Item] = {}
        for first in range(0, len(wanted), _KEYS_AT_ONCE):
            some = wanted[first : first + _KEYS_AT_ONCE]
            # A join, because SQLite reads the whole table for `(pk, sk) IN (VALUES ...)`.
            sql = (
                f"WITH wanted (a, b) AS (VALUES {', '.join(['(?, ?)'] * len(some))})"  # noqa: S608  # fixed names
                f" SELECT pk, sk, body FROM wanted CROSS JOIN {self._name}"
                f" ON pk = a AND sk = b WHERE {_LIVE}"
            )
            values = [part for key in some for part in key]
            with self._database.read() as connection:
                rows = connection.execute(sql, (*values, self._now())).fetchall()
            found.update({Key(pk, sk): decode_item(body) for pk, sk, body in rows})
        return found

    def put(self, item: Item, *, when: Condition | None = None) -> None:
        """Write the whole item, replacing what was there."""
        self._apply([normal_write(Put(item, when))])

    def update(self, key: Key, change: Change, *, when: Condition | None = None) -> Item:
        """Change the item and return it as it is now."""
        [(_, after)] = self._apply([normal_write(Update(key, change, when))])
        assert after is not None
        return after

    def delete(self, key: Key, *, when: Condition | None = None) -> Item | None:
        """Remove the item and return what was there."""
        [(before, _)] = self._apply([normal_write(Delete(key, when))])
        return before

    def transact(self, writes: Sequence[Write], *, token: str | None = None) -> None:
        """Apply all writes or none."""
        apply_once(writes, self._apply, token=token, now=self._now())

    def query(
        self,
        partition: str,
        *,
        index: Index | None = None,
        keys: Range | None = None,
        descending: bool = False,
        limit: int | None = None,
        start: str | None = None,
    ) -> Page:
        """Return a partition's items in sort key order, at most `limit` of them."""
        query = make_query(partition, index=index, keys=keys, descending=descending, limit=limit)
        if query.is_empty:
            return Page((), None)
        sql, values = self._selection(query, start)
        with self._database.read() as connection:
            rows = connection.execute(sql, values).fetchall()
        more = limit is not None and len(rows) > limit
        rows = rows[:limit]
        end = encode_cursor(query, list(rows[-1][:-1])) if more else None
        return Page(tuple(decode_item(row[-1]) for row in rows), end)

    def purge(self, limit: int = _PURGE_ITEMS) -> int:
        """Remove some items that expired long enough ago; return how many."""
        with self._database.write() as connection:
            return self._purge(connection, limit)

    def _selection(self, query: Query, start: str | None) -> tuple[str, list[str | int]]:
        where = [f"{query.partition_key} = ?", _LIVE]
        values: list[str | int] = [query.partition, self._now()]
        for relation, bound in _bounds(query):
            where.append(f"{query.sort_key} {relation} ?")
            values.append(bound)
        if start is not None:
            places = ", ".join("?" * len(query.position))
            relation = "<" if query.descending else ">"
            where.append(f"({', '.join(query.position)}) {relation} ({places})")
            values += decode_cursor(query, start)
        direction = "DESC" if query.descending else "ASC"
        order = ", ".join(f"{column} {direction}" for column in query.position)
        values.append(-1 if query.limit is None else query.limit + 1)  # one more: is there a next?
        sql = (
            f"SELECT {', '.join(query.position)}, body FROM {self._name}"  # noqa: S608  # fixed names
            f" WHERE {' AND '.join(where)} ORDER BY {order} LIMIT ?"
        )
        return sql, values

    def _apply(self, writes: Sequence[Write]) -> list[tuple[Item | None, Item | None]]:
        """Do checked writes in one transaction; return each item before and after."""
        now = self._now()
        with self._database.write(durable=self._durable) as connection:
            before = [
                self._find(connection, write_key(write), now) if _looks(write) else None
                for write in writes
            ]
            for place, (write, item) in enumerate(zip(writes, before, strict=True)):
                if not holds(write.when, item):
                    raise ConditionFailedError(place)
            after = [_result(write, item) for write, item in zip(writes, before, strict=True)]
            for write, item in zip(writes, after, strict=True):
                self._store(connection, write, item, now)
            if self._may_purge(now):
                self._purge(connection, _PURGE_ITEMS)
        return list(zip(before, after, strict=True))

    def _find(self, connection: sqlite3.Connection, key: Key, now: int) -> Item | None:
        sql = f"SELECT body FROM {self._name} WHERE pk = ? AND sk = ? AND {_LIVE}"  # noqa: S608  # fixed names
        row = connection.execute(sql, (key.pk, key.sk, now)).fetchone()
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

    def _may_purge(self, now: int) -> bool:
        with self._purging:
            if abs(now - self._purged_at) < _PURGE_SECONDS:
                return False
            self._purged_at = now
            return True

    def _now(self) -> int:
        return int(self._clock().timestamp())


def _looks(write: Write) -> bool:
    """Tell whether the write depends on what is there."""
    return write.when is not None or not isinstance(write, Put)


def _result(write: Write, item: Item | None) -> Item | None:
    match write:
        case Put(new, _):
            return new
        case Update(key, change, _):
            return changed(key, item, change)
        case Delete() | Check():
            return None
        case _:
            assert_never(write)


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
    """Return the least text above all that starts with the prefix; empty if there is none."""
    kept = prefix.rstrip("\U0010ffff")
    if not kept:
        return ""
    following = ord(kept[-1]) + 1
    if following == 0xD800:  # surrogates are not text
        following = 0xE000
    return kept[:-1] + chr(following)


def _columns(item: Item) -> list[Any]:
    columns = [item["pk"], item["sk"], item.get("expires_at")]
    for index in ("gsi1", "gsi2", "gsi3"):
        pair = [item.get(f"{index}pk"), item.get(f"{index}sk")]
        columns += [None, None] if None in pair else pair
    return columns
