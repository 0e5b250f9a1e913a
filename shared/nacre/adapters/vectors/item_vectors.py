"""A vector index without a separate store: it reads the vector items for each search.

It serves stacks without Qdrant. For a Being with few memories the answer is exact. For others only
the newest memories are searched, and the answer says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from nacre.adapters.vectors.point_matrix import PointMatrix
from nacre.adapters.vectors.point_rows import Row, pack_terms, row_of
from nacre.adapters.vectors.point_rules import check_names, check_question, check_vector
from nacre.being.memory.index.vector_items import VectorItem, from_item, pages
from nacre.being.memory.model import keys
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import EXACT_ITEM_POINTS, SCANNED_BYTES
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Table, Write
from nacre.ports.vectors.vector_index import (
    Candidates,
    Filter,
    Listing,
    Point,
    Question,
    dimension_of,
)
from nacre.text.analysis import terms

_PAGE = 500
_AT_ONCE = 100
_OVERHEAD = 200  # approximate bytes of an item besides its text and its vector
_packed = lru_cache(2 * EXACT_ITEM_POINTS)(lambda text: pack_terms(terms(text)))


class ItemVectors:
    """A VectorIndex over the item store; it needs no writes besides the items."""

    is_derived = False
    is_told_in_transaction = False

    def __init__(self, table: Table, emb_id: str) -> None:
        self.emb_id = emb_id
        self._table = table
        self._dimension = dimension_of(emb_id)
        self._large: set[str] = set()  # Beings with too many points for exact search

    def changes(self, being_id: str, ids: Sequence[str]) -> list[Write]:
        """Return no writes: the vector items are enough."""
        return []

    def settle(self, being_id: str, *, more_follow: bool = False) -> None:
        """Do nothing: nothing waits."""

    def upsert(self, being_id: str, points: Sequence[Point]) -> None:
        """Do nothing: the vector items are written already."""

    def delete(self, being_id: str, ids: Sequence[str]) -> None:
        """Do nothing: the vector items are deleted already."""

    def erase(self, being_id: str) -> None:
        """Do nothing: the vector items are erased with the Being."""

    def search(self, being_id: str, question: Question) -> Candidates:
        """Return up to `limit` hits for a vector and as many for terms."""
        check_question(being_id, question, self._dimension)
        items, truncated = self._points(being_id)
        return replace(
            self._matrix(items).search(question),
            truncated=truncated,
            summaries=lambda ids: {
                id_: summary
                for id_ in ids
                if id_ in items and (summary := items[id_].point_summary) is not None
            },
        )

    def hold(self, being_id: str) -> "HeldItemVectors":
        """Return the points of a Being for work that searches them many times."""
        check_names(being_id)
        items, truncated = self._points(being_id)
        return HeldItemVectors(self._matrix(items), self._dimension, truncated=truncated)

    def list_days(self, being_id: str, where: Filter, *, limit: int) -> Listing:
        """Return the first points that pass the filter, in order of time."""
        check_names(being_id)
        items, truncated = self._points(being_id)
        listing = self._matrix(items).list_days(where, limit)
        return Listing(listing.hits, truncated or listing.truncated)

    def scan(self, being_id: str, *, after: str | None, limit: int) -> list[tuple[str, str]]:
        """Return the next points as (id, text_sha), in the order of their ids."""
        for items in pages(self._table, being_id, after=after, size=limit):
            return [(item.id, item.digest(self.emb_id)) for item in items]
        return []

    def _points(self, being_id: str) -> tuple[dict[str, VectorItem], bool]:
        """Return the points to search, and whether older ones were left out."""
        items = self._all(being_id)
        points = self._newest(being_id) if items is None else items
        return {item.id: item for item in points}, items is None

    def _matrix(self, items: Mapping[str, VectorItem]) -> PointMatrix:
        matrix = PointMatrix(self._dimension)
        matrix.add([row_of_item(item, self.emb_id) for item in items.values()])
        return matrix

    def _all(self, being_id: str) -> list[VectorItem] | None:
        """Return all points; None if there are too many to read for a search."""
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
        """Return the newest points of waiting scenes and living nodes, up to a limit of bytes."""
        bytes_left = SCANNED_BYTES
        points: dict[str, VectorItem] = {}
        for ids in self._newest_ids(being_id):
            stored = self._table.get_many([keys.point(being_id, id_) for id_ in ids])
            for id_ in ids:
                item = stored.get(keys.point(being_id, id_))
                if item is None:
                    continue
                point = from_item(item)
                bytes_left -= _OVERHEAD + len(point.text.encode()) + 4 * self._dimension
                if bytes_left < 0:
                    return list(points.values())
                points[id_] = point
        return list(points.values())

    def _newest_ids(self, being_id: str) -> Iterator[list[str]]:
        for partition in (keys.pending(being_id), keys.activity(being_id)):
            items = every_item(
                self._table, partition, index="gsi1", descending=True, at_once=_AT_ONCE
            )
            while ids := [str(item["sk"]) for item in islice(items, _AT_ONCE)]:
                yield ids


def row_of_item(item: VectorItem, emb_id: str) -> Row:
    """Return the point of a vector item as a row, with its vector of one embedding."""
    return Row(
        item.id,
        item.kind,
        item.state,
        item.cluster_id,
        item.days,
        item.vectors.get(emb_id),
        _packed(item.text),
    )


class HeldItemVectors:
    """The points of a Being, read once; for one thread."""

    def __init__(self, matrix: PointMatrix, dimension: int, *, truncated: bool) -> None:
        self._matrix = matrix
        self._dimension = dimension
        self._truncated = truncated

    def upsert(self, points: Sequence[Point]) -> None:
        """Add points, replacing those with the same ids."""
        distinct = {point.id: point for point in points}
        self._matrix.add(list(map(row_of, distinct.values())))

    def delete(self, ids: Sequence[str]) -> None:
        """Remove points; ignore unknown ids."""
        self._matrix.remove(ids)

    def search(self, question: Question) -> Candidates:
        """Return up to `limit` hits for a vector and as many for terms."""
        if question.dense is not None:
            check_vector(question.dense, self._dimension)
        return replace(self._matrix.search(question), truncated=self._truncated)
