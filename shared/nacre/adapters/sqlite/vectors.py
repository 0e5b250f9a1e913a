"""The vector index of a laptop: an exact search in memory, over tables in the database.

The tables can be rebuilt from the vector items. Each write gets the next change number of its
Being, and each search first reads the changes since the last one. So several processes on one
folder find each other's points at once.
"""

import threading
from collections.abc import Sequence

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.points import SqlitePoints
from nacre.adapters.vectors.point_matrix import PointMatrix
from nacre.adapters.vectors.point_rules import check_names, check_points, check_question
from nacre.core.bounded_cache import BoundedCache
from nacre.core.limits import INDEXED_BEINGS_IN_MEMORY
from nacre.ports.items.table import Write
from nacre.ports.vectors.vector_index import (
    Candidates,
    Filter,
    Listing,
    Point,
    Question,
    dimension_of,
)


class LocalVectors:
    """A VectorIndex in the database; its writes do not wait for the disk.

    If a power cut loses a write, its mark in the items is still there: clear marks after the writes
    that they belong to, and without waiting for the disk either.
    """

    is_derived = True
    is_told_in_transaction = False

    def __init__(self, database: SqliteDatabase, emb_id: str) -> None:
        self.emb_id = emb_id
        self._dimension = dimension_of(emb_id)
        self._points = SqlitePoints(database, emb_id)
        self._guard = threading.Lock()
        self._beings: BoundedCache[str, _InMemory] = BoundedCache(INDEXED_BEINGS_IN_MEMORY)

    def changes(self, being_id: str, ids: Sequence[str]) -> list[Write]:
        """Return no writes: `upsert` and `delete` follow."""
        return []

    def settle(self, being_id: str, *, more_follow: bool = False) -> None:
        """Do nothing: nothing waits."""

    def upsert(self, being_id: str, points: Sequence[Point]) -> None:
        """Write points, replacing those with the same ids."""
        check_points(being_id, points, self._dimension)
        if points:
            self._points.put(being_id, list({point.id: point for point in points}.values()))

    def delete(self, being_id: str, ids: Sequence[str]) -> None:
        """Remove points; ignore unknown ids."""
        check_names(being_id, *ids)
        if ids:
            self._points.remove(being_id, list(dict.fromkeys(ids)))

    def search(self, being_id: str, question: Question) -> Candidates:
        """Return up to `limit` hits for a vector and as many for terms."""
        check_question(being_id, question, self._dimension)
        points = self._in_memory(being_id)
        with points.lock:
            points.catch_up(self._points)
            return points.matrix.search(question)

    def list_days(self, being_id: str, where: Filter, *, limit: int) -> Listing:
        """Return the first points that pass the filter, in order of time."""
        check_names(being_id)
        points = self._in_memory(being_id)
        with points.lock:
            points.catch_up(self._points)
            return points.matrix.list_days(where, limit)

    def scan(self, being_id: str, *, after: str | None, limit: int) -> list[tuple[str, str]]:
        """Return the next points as (id, text_sha), in the order of their ids."""
        check_names(being_id)
        return self._points.scan(being_id, after=after or "", limit=limit)

    def erase(self, being_id: str) -> None:
        """Remove all points of a Being."""
        check_names(being_id)
        self._points.erase(being_id)
        with self._guard:
            self._beings.pop(being_id, None)

    def _in_memory(self, being_id: str) -> "_InMemory":
        with self._guard:
            points = self._beings.use(being_id)
            if points is None:
                points = self._beings[being_id] = _InMemory(being_id, self._dimension)
            return points


class _InMemory:
    """A Being's points up to the last change that was read; hold `lock` while using them."""

    def __init__(self, being_id: str, dimension: int) -> None:
        self.lock = threading.Lock()
        self.matrix = PointMatrix(dimension)
        self._being_id = being_id
        self._dimension = dimension
        self._ids: dict[int, str] = {}  # by place
        self._number: int | None = None
        self._change = 0

    def catch_up(self, points: SqlitePoints) -> None:
        """Read the changes that any process has made since the last call."""
        head = points.head(self._being_id)
        if head is None:
            self._reset(None)
            return
        if head.number != self._number or self._change < head.forgotten or self.matrix.is_sparse:
            self._reset(head.number)
        if self._change < head.changes:
            for changes in points.since(head.number, self._change):
                removed_ids = [self._ids.pop(place, "") for place in changes.removed]
                self.matrix.remove(removed_ids)
                self.matrix.add(changes.rows)
                self._ids.update(
                    (place, row.id) for place, row in zip(changes.places, changes.rows, strict=True)
                )
                self._change = changes.last

    def _reset(self, number: int | None) -> None:
        if self._change:
            self.matrix = PointMatrix(self._dimension)
            self._ids = {}
        self._number, self._change = number, 0
