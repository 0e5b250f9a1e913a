"""A vector index without an index: the vector items themselves, read for each search.

It is for a stack without Qdrant. As long as a Being has few memories the answer is exact;
beyond that its newest memories are looked at, and the answer says so.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from nacre.adapters.vectors.point_matrix import PointMatrix
from nacre.adapters.vectors.point_rows import Row, pack_terms
from nacre.adapters.vectors.point_rules import check_question
from nacre.being.memory.index.vector_items import VectorItem, from_item, pages, point_key
from nacre.being.memory.model import keys
from nacre.core.limits import EXACT_ITEM_POINTS, SCANNED_BYTES
from nacre.ports.embedder import Vector
from nacre.ports.items.table import Table
from nacre.ports.vectors import Candidates, Filter, Point, dimension_of
from nacre.text.analysis import terms

_PAGE = 500
_OVERHEAD = 200  # bytes of an item beside its text and its vector, about
_packed = lru_cache(2 * EXACT_ITEM_POINTS)(lambda text: pack_terms(terms(text)))


class ItemVectors:
    """A VectorIndex over the item store; writing the items is all that it needs."""

    is_derived = False

    def __init__(self, table: Table, emb_id: str) -> None:
        self.emb_id = emb_id
        self._table = table
        self._dimension = dimension_of(emb_id)
        self._large: set[str] = set()  # Beings that were found to have too many points

    def upsert(self, being_id: str, points: Sequence[Point]) -> None:
        """Do nothing: the points are the vector items, and those are written already."""

    def delete(self, being_id: str, ids: Sequence[str]) -> None:
        """Do nothing: the vector items are deleted already."""

    def erase(self, being_id: str) -> None:
        """Do nothing: whoever erases a Being erases its vector items."""

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
        items = self._all(being_id)
        truncated = items is None
        rows = [self._row(item) for item in (self._newest(being_id) if items is None else items)]
        matrix = PointMatrix(self._dimension)
        matrix.add(rows)
        found = matrix.search(dense=dense, sparse=sparse, where=where, limit=limit)
        return Candidates(found.dense, found.sparse, truncated)

    def scan(self, being_id: str, *, after: str | None, limit: int) -> list[tuple[str, str]]:
        """Return the next points as (id, text_sha), in the order of their ids."""
        for items in pages(self._table, being_id, after=after, size=limit):
            return [(item.id, item.digest(self.emb_id)) for item in items]
        return []

    def _all(self, being_id: str) -> list[VectorItem] | None:
        """Return all points, or None where there are more than can be read for a search."""
        if being_id in self._large:
            return None
        items: list[VectorItem] = []
        for page in pages(self._table, being_id, size=_PAGE):
            items += page
            if len(items) > EXACT_ITEM_POINTS:
                self._large.add(being_id)
                return None
        return items

    def _newest(self, being_id: str) -> list[VectorItem]:
        """Return what fits among the points of waiting scenes and living nodes, newest first."""
        room = SCANNED_BYTES
        found: dict[str, VectorItem] = {}
        for ids in self._newest_ids(being_id):
            read = self._table.get_many([point_key(being_id, id_) for id_ in ids])
            for id_ in ids:
                item = read.get(point_key(being_id, id_))
                if item is None:
                    continue
                point = from_item(item)
                room -= _OVERHEAD + len(point.text.encode()) + 4 * self._dimension
                if room < 0:
                    return list(found.values())
                found[id_] = point
        return list(found.values())

    def _newest_ids(self, being_id: str) -> Iterator[list[str]]:
        for partition in (keys.pending(being_id), keys.activity(being_id)):
            start = None
            while True:
                page = self._table.query(
                    partition, index="gsi1", descending=True, limit=100, start=start
                )
                if page.items:
                    yield [str(item["sk"]) for item in page.items]
                if (start := page.next) is None:
                    break

    def _row(self, item: VectorItem) -> Row:
        return Row(
            item.id,
            item.kind,
            item.state,
            item.cluster_id,
            item.days,
            item.vectors.get(self.emb_id),
            _packed(item.text),
        )
