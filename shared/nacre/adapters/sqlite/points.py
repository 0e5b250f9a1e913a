"""Points in tables of the laptop's store, each with the number of the change that wrote it."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.vectors.point_rows import Row, row_of
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.vectors.vector_index import Point

_TABLES = """
CREATE TABLE IF NOT EXISTS vector_sets (
    number INTEGER PRIMARY KEY AUTOINCREMENT, emb_id TEXT NOT NULL, being_id TEXT NOT NULL,
    changes INTEGER NOT NULL, forgotten INTEGER NOT NULL, UNIQUE (emb_id, being_id)
);
CREATE TABLE IF NOT EXISTS vector_points (
    place INTEGER PRIMARY KEY AUTOINCREMENT, set_number INTEGER NOT NULL, id TEXT,
    change INTEGER NOT NULL, kind TEXT, state TEXT, cluster_id TEXT, days TEXT, terms BLOB,
    text_sha TEXT, vector BLOB, UNIQUE (set_number, id)
);
CREATE UNIQUE INDEX IF NOT EXISTS vector_points_change ON vector_points (set_number, change);
CREATE INDEX IF NOT EXISTS vector_points_removed ON vector_points (set_number, change)
    WHERE kind IS NULL
"""
_HEAD = "SELECT number, changes, forgotten FROM vector_sets WHERE emb_id = ? AND being_id = ?"
_PUT = """
INSERT INTO vector_points
    (set_number, id, change, kind, state, cluster_id, days, terms, text_sha, vector)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (set_number, id) DO UPDATE SET change = excluded.change, kind = excluded.kind,
    state = excluded.state, cluster_id = excluded.cluster_id, days = excluded.days,
    terms = excluded.terms, text_sha = excluded.text_sha, vector = excluded.vector
"""
# The place of a removed point stays for a while: other processes may have it in memory.
_REMOVE = """
UPDATE vector_points SET change = ?, id = NULL, kind = NULL, state = NULL, cluster_id = NULL,
    days = NULL, terms = NULL, text_sha = NULL, vector = NULL
WHERE set_number = ? AND id = ?
"""
_SINCE = """
SELECT change, place, id, kind, state, cluster_id, days, vector, terms FROM vector_points
WHERE set_number = ? AND change > ? ORDER BY change
"""
_KEPT_CHANGES = 10_000  # a reader that is further behind reads everything again
_ROWS_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Head:
    """The state of a Being's points: the last change, and the last removal that is forgotten."""

    number: int
    changes: int
    forgotten: int


@dataclass(frozen=True, slots=True)
class Changes:
    """Some changes in their order: points as they are now, and where others were removed.

    A point has its place until it is removed, and no other ever gets it.
    """

    last: int
    rows: tuple[Row, ...]
    places: tuple[int, ...]  # of the rows
    removed: tuple[int, ...]


class SqlitePoints:
    """The points of one embedding; writes do not wait for the disk."""

    def __init__(self, database: SqliteDatabase, emb_id: str) -> None:
        self._database = database
        self._emb_id = emb_id
        self._has_tables = False

    def put(self, being_id: str, points: Sequence[Point]) -> None:
        """Write points with distinct ids."""
        with self._writing() as connection:
            head = self._reserve(connection, being_id, len(points))
            first = head.changes - len(points) + 1
            connection.executemany(
                _PUT,
                [_values(head.number, change, point) for change, point in enumerate(points, first)],
            )

    def remove(self, being_id: str, ids: Sequence[str]) -> None:
        """Remove the points that are there."""
        if self.head(being_id) is None:
            return
        with self._writing() as connection:
            head = self._reserve(connection, being_id, len(ids))
            first = head.changes - len(ids) + 1
            connection.executemany(
                _REMOVE, [(change, head.number, id_) for change, id_ in enumerate(ids, first)]
            )
            self._forget_removals(connection, head)

    def erase(self, being_id: str) -> None:
        """Remove every trace of a Being."""
        head = self.head(being_id)
        if head is None:
            return
        with self._writing() as connection:
            connection.execute("DELETE FROM vector_points WHERE set_number = ?", (head.number,))
            connection.execute("DELETE FROM vector_sets WHERE number = ?", (head.number,))

    def scan(self, being_id: str, *, after: str, limit: int) -> list[tuple[str, str]]:
        """Return the next points as (id, text_sha), in the order of their ids."""
        head = self.head(being_id)
        if head is None:
            return []
        with self._database.read() as connection:
            return connection.execute(
                "SELECT id, text_sha FROM vector_points WHERE set_number = ? AND id > ?"
                " ORDER BY id LIMIT ?",
                (head.number, after, limit),
            ).fetchall()

    def head(self, being_id: str) -> Head | None:
        """Return the state of the points, or None if there never was one."""
        with self._database.read() as connection:
            if not self._has_tables:
                sql = "SELECT count(*) FROM sqlite_schema WHERE name = 'vector_points_removed'"
                self._has_tables = bool(connection.execute(sql).fetchone()[0])
            return self._head(connection, being_id) if self._has_tables else None

    def since(self, number: int, change: int) -> Iterator[Changes]:
        """Yield the changes after one, in portions that are all of one moment."""
        with self._database.read() as connection:
            cursor = connection.execute(_SINCE, (number, change))
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                there = [row for row in rows if row[3] is not None]
                yield Changes(
                    last=rows[-1][0],
                    rows=tuple(map(_row, there)),
                    places=tuple(row[1] for row in there),
                    removed=tuple(row[1] for row in rows if row[3] is None),
                )

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._database.write(durable=False) as connection:
            if not self._has_tables:
                for statement in _TABLES.split(";"):
                    connection.execute(statement)
            yield connection
        self._has_tables = True

    def _reserve(self, connection: sqlite3.Connection, being_id: str, count: int) -> Head:
        connection.execute(
            "INSERT INTO vector_sets (emb_id, being_id, changes, forgotten) VALUES (?, ?, ?, 0)"
            " ON CONFLICT (emb_id, being_id) DO UPDATE SET changes = changes + excluded.changes",
            (self._emb_id, being_id, count),
        )
        head = self._head(connection, being_id)
        assert head is not None
        return head

    def _head(self, connection: sqlite3.Connection, being_id: str) -> Head | None:
        row = connection.execute(_HEAD, (self._emb_id, being_id)).fetchone()
        return None if row is None else Head(*row)

    def _forget_removals(self, connection: sqlite3.Connection, head: Head) -> None:
        oldest = head.changes - _KEPT_CHANGES
        gone = connection.execute(
            "DELETE FROM vector_points WHERE set_number = ? AND kind IS NULL AND change <= ?",
            (head.number, oldest),
        )
        if gone.rowcount:
            connection.execute(
                "UPDATE vector_sets SET forgotten = ? WHERE number = ?", (oldest, head.number)
            )


def _values(number: int, change: int, point: Point) -> tuple[object, ...]:
    row = row_of(point)
    return (
        number,
        row.id,
        change,
        row.kind,
        row.state,
        row.cluster_id,
        " ".join(row.days) or None,
        row.packed_terms,
        point.text_sha,
        row.vector,
    )


def _row(values: tuple[object, ...]) -> Row:
    _, _, id_, kind, state, cluster_id, days, vector, terms = values
    return Row(
        id=id_,  # type: ignore[arg-type]  # the columns have the types of _values
        kind=kind,  # type: ignore[arg-type]
        state=state,  # type: ignore[arg-type]
        cluster_id=cluster_id,  # type: ignore[arg-type]
        days=tuple(days.split()) if isinstance(days, str) else (),
        vector=vector,  # type: ignore[arg-type]
        packed_terms=terms,  # type: ignore[arg-type]
    )
