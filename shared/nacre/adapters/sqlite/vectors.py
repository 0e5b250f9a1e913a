"""The vector index of the laptop: exact, in memory, fed from tables in the item store's file.

The tables follow from the vector items and can be built anew from them. Every write takes the
next number of its Being's changes, and a search first reads what changed since the last one:
so several processes on one folder find each other's points at once.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.points import SqlitePoints
from nacre.adapters.vectors.point_matrix import PointMatrix
from nacre.adapters.vectors.point_rules import check_names, check_points, check_question
from nacre.core.limits import INDEXED_BEINGS_IN_MEMORY
from nacre.ports.embedder import Vector
from nacre.ports.vectors import Candidates, Filter, Point, dimension_of


class LocalVectors:
    """A VectorIndex in the database; its writes do not wait for the disk.

    What a power cut takes from it is still marked in the items, as long as marks are cleared
    behind the writes that they are about and in the same way.
    """

    is_derived = True

    def __init__(self, database: SqliteDatabase, emb_id: str) -> None:
        self.emb_id = emb_id
        self._dimension = dimension_of(emb_id)
        self._points = SqlitePoints(database, emb_id)
        self._guard = threading.Lock()
        self._beings: OrderedDict[str, _InMemory] = OrderedDict()

    def upsert(self, being_id: str, points: Sequence[Point]) -> None:
        """Write points, replacing those with the same ids."""
        check_points(being_id, points, self._dimension)
        if points:
            self._points.put(being_id, list({point.id: point for point in points}.values()))

    def delete(self, being_id: str, ids: Sequence[str]) -> None:
        """Remove points; ids that are not there do no harm."""
        check_names(being_id, *ids)
        if ids:
            self._points.remove(being_id, list(dict.fromkeys(ids)))

    def search(
        self,
        being_id: str,
        *,
        dense: Vector | None,
        sparse: Sequence[str],
        where: Filter,
        limit: int,
    ) -> Candidates:
        """Return up to `limit` hits for a vector and as many for terms."""
        check_question(being_id, dense, self._dimension, limit)
        points = self._in_memory(being_id)
        with points.lock:
            points.catch_up(self._points)
            return points.matrix.search(dense=dense, sparse=sparse, where=where, limit=limit)

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
            found = self._beings.get(being_id)
            if found is None:
                found = self._beings[being_id] = _InMemory(being_id, self._dimension)
            self._beings.move_to_end(being_id)
            while len(self._beings) > INDEXED_BEINGS_IN_MEMORY:
                self._beings.popitem(last=False)
            return found


class _InMemory:
    """A Being's points up to some change; for whoever holds the lock."""

    def __init__(self, being_id: str, dimension: int) -> None:
        self.lock = threading.Lock()
        self.matrix = PointMatrix(dimension)
        self._being_id = being_id
        self._dimension = dimension
        self._ids: dict[int, str] = {}  # by place
        self._number: int | None = None
        self._change = 0

    def catch_up(self, points: SqlitePoints) -> None:
        """Read what was written since the last time, by whichever process."""
        head = points.head(self._being_id)
        if head is None:
            self._begin(None)
            return
        if head.number != self._number or self._change < head.forgotten or self.matrix.is_sparse:
            self._begin(head.number)
        if self._change < head.changes:
            for changes in points.since(head.number, self._change):
                gone = [self._ids.pop(place, "") for place in changes.removed]
                self.matrix.remove(gone)
                self.matrix.add(changes.rows)
                self._ids.update(
                    (place, row.id) for place, row in zip(changes.places, changes.rows, strict=True)
                )
                self._change = changes.last

    def _begin(self, number: int | None) -> None:
        if self._change:
            self.matrix = PointMatrix(self._dimension)
            self._ids = {}
        self._number, self._change = number, 0
