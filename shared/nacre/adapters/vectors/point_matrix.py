"""One Being's points in memory: exact nearest vectors and BM25, filtered before ranking."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from nacre.adapters.vectors.point_rows import TERM, Row
from nacre.adapters.vectors.point_rules import day_number, in_order_of_time, term_hash
from nacre.adapters.vectors.postings import Postings
from nacre.ports.vectors.embedder import Vector
from nacre.ports.vectors.packed_vectors import PackedVector
from nacre.ports.vectors.vector_index import Candidates, Filter, Hit, Kind, Listing, Question


class Column:
    """A growing array of values of one type."""

    def __init__(self, kind: type[np.generic]) -> None:
        self._buffer: npt.NDArray[Any] = np.empty(64, dtype=kind)
        self._length = 0

    @property
    def values(self) -> npt.NDArray[Any]:
        """The values, to be read or changed in place."""
        return self._buffer[: self._length]

    def extend(self, values: Sequence[Any]) -> None:
        """Append values."""
        end = self._length + len(values)
        if end > len(self._buffer):
            buffer = np.empty(max(end, 2 * len(self._buffer)), dtype=self._buffer.dtype)
            buffer[: self._length] = self.values
            self._buffer = buffer
        self._buffer[self._length : end] = values
        self._length = end


# Vectors live in blocks, so that a growing index neither copies itself nor holds spare buffer
# for longer than one block: pages that nothing was written to cost no memory.
_BLOCK_ROWS = 8192
_FEW = 8  # if fewer than one row in 8 matches, only the vectors of these are read
_DECIMALS = 6
_SLACK = 4e-6  # more than the error of a cosine in float32
_BATCH = 4096  # rows whose scores are computed exactly at once

_KINDS: tuple[Kind, ...] = ("node", "scene")
# Of up to 300 hits in each list: a call of Hit with its arguments takes three times as long.
_hit = cast("Callable[[Iterable[Any]], Hit]", partial(tuple.__new__, Hit))
_Mask = npt.NDArray[np.bool_]
_Rows = npt.NDArray[np.intp]
_Scores = npt.NDArray[Any]


class PointMatrix:
    """Points that can be added, replaced and searched, by one thread at a time.

    A replaced point leaves its old row behind; `is_sparse` says when the matrix should be rebuilt.
    """

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._blocks: list[npt.NDArray[np.float32]] = []
        self._ids: list[str] = []
        self._days_of: list[tuple[str, ...]] = []
        self._cluster_of: list[str | None] = []
        self._row_of: dict[str, int] = {}
        self._codes: dict[str, int] = {}
        self._alive = Column(np.bool_)
        self._has_vector = Column(np.bool_)
        self._kinds = Column(np.uint8)
        self._states = Column(np.int32)
        self._clusters = Column(np.int32)
        self._days = Column(np.int32)
        self._day_rows = Column(np.int32)
        self._postings = Postings()

    def __len__(self) -> int:
        return len(self._row_of)

    @property
    def is_sparse(self) -> bool:
        """True if most rows belong to replaced or removed points."""
        return len(self._ids) > max(1024, 2 * len(self._row_of))

    def remove(self, ids: Iterable[str]) -> None:
        """Remove points."""
        rows = [row for id_ in ids if (row := self._row_of.pop(id_, None)) is not None]
        if rows:
            self._alive.values[rows] = False
            self._postings.forget(rows)

    def add(self, points: Sequence[Row]) -> None:
        """Add points with distinct ids; they replace points with the same ids."""
        self.remove(point.id for point in points)
        first = len(self._ids)
        for row, point in enumerate(points, first):
            self._row_of[point.id] = row
            self._ids.append(point.id)
            self._days_of.append(point.days)
            self._cluster_of.append(point.cluster_id)
            if point.days:
                self._days.extend([day_number(day) for day in point.days])
                self._day_rows.extend([row] * len(point.days))
        self._alive.extend([True] * len(points))
        self._kinds.extend([_KINDS.index(point.kind) for point in points])
        self._states.extend([self._code(point.state) for point in points])
        self._clusters.extend([self._code(point.cluster_id) for point in points])
        self._has_vector.extend([point.vector is not None for point in points])
        self._add_vectors(first, [point.vector for point in points])
        self._add_terms(first, [point.packed_terms for point in points])

    def search(self, question: Question) -> Candidates:
        """Return the best points by vector and by terms."""
        dense, limit = question.dense, question.limit
        mask = self._matches(question.where)
        sparse, rarity = self._matching(question.sparse, mask, limit)
        return Candidates(
            dense=() if dense is None else self._nearest(dense, mask, limit),
            sparse=sparse,
            rarity=rarity,
        )

    def list_days(self, where: Filter, limit: int) -> Listing:
        """Return the first points that pass the filter, in order of time."""
        rows = np.flatnonzero(self._matches(where)).tolist()
        hits = in_order_of_time([self._hit(row, 0.0) for row in rows], where)
        return Listing(tuple(hits[:limit]), truncated=len(hits) > limit)

    def _hit(self, row: int, score: float) -> Hit:
        kind = _KINDS[self._kinds.values[row]]
        return Hit(self._ids[row], kind, score, self._days_of[row], self._cluster_of[row])

    def _matches(self, where: Filter) -> _Mask:
        mask: _Mask = self._alive.values.copy()
        if where.kinds is not None:
            mask &= np.isin(self._kinds.values, [_KINDS.index(kind) for kind in where.kinds])
        if where.states is not None:
            codes = [self._codes[state] for state in where.states if state in self._codes]
            mask &= np.isin(self._states.values, codes)
        if where.cluster_id is not None:
            mask &= self._clusters.values == self._codes.get(where.cluster_id, -1)
        if where.day_from is not None or where.day_to is not None:
            days = self._days.values
            low = day_number(where.day_from) if where.day_from else 0
            high = day_number(where.day_to) if where.day_to else 9999_99_99
            on_time = np.zeros(len(mask), dtype=np.bool_)
            on_time[self._day_rows.values[(days >= low) & (days <= high)]] = True
            mask &= on_time
        return mask

    def _nearest(self, dense: Vector, mask: _Mask, limit: int) -> tuple[Hit, ...]:
        rows = np.flatnonzero(mask & self._has_vector.values)
        if not len(rows):
            return ()
        query = np.frombuffer(dense, dtype="<f4")
        if len(rows) * _FEW < len(self._ids):
            scores = self._exact_scores(rows, query)
        else:
            scores = self._cosines(query)[rows]
        lowest = _lowest_kept_score(scores, limit) - _SLACK
        rows = rows[scores >= lowest]
        # Sums in float32 depend on a row's place; equal vectors must get equal scores.
        return self._ranked(rows, self._exact_scores(rows, query), limit)

    def _matching(
        self, terms: Sequence[str], mask: _Mask, limit: int
    ) -> tuple[tuple[Hit, ...], dict[str, float]]:
        """Return the best points by terms, and how rare each term is."""
        numbers = {term_hash(term): term for term in terms}
        answer = self._postings.scores(list(numbers), self._alive.values)
        if answer is None:
            return (), {}
        scores, rarities = answer
        rows = np.flatnonzero(mask & (scores > 0))
        if not len(rows):
            return (), {}
        matching_scores = scores[rows]
        keep = matching_scores >= _lowest_kept_score(matching_scores, limit) - _SLACK
        hits = self._ranked(rows[keep], matching_scores[keep], limit)
        return hits, dict(zip(numbers.values(), rarities, strict=True))

    def _ranked(self, rows: _Rows, scores: _Scores, limit: int) -> tuple[Hit, ...]:
        rounded = np.round(scores.astype(np.float64), _DECIMALS) + 0.0
        numbers = rows.tolist()
        ids = [self._ids[number] for number in numbers]
        # Sorting by one column after the other takes a third of the time of sorting tuples.
        by_id = np.array(sorted(range(len(ids)), key=ids.__getitem__))
        order = by_id[np.argsort(-rounded[by_id], kind="stable")[:limit]]
        places = order.tolist()
        best = [numbers[place] for place in places]
        columns = (
            [ids[place] for place in places],
            map(_KINDS.__getitem__, self._kinds.values[best].tolist()),
            rounded[order].tolist(),
            map(self._days_of.__getitem__, best),
            map(self._cluster_of.__getitem__, best),
        )
        return tuple(map(_hit, zip(*columns, strict=True)))

    def _cosines(self, query: npt.NDArray[np.float32]) -> _Scores:
        scores = np.empty(len(self._ids), dtype=np.float32)
        for number, block in enumerate(self._blocks):
            part = scores[number * _BLOCK_ROWS : (number + 1) * _BLOCK_ROWS]
            np.dot(block[: len(part)], query, out=part)
        return scores

    def _exact_scores(self, rows: _Rows, query: npt.NDArray[np.float32]) -> _Scores:
        scores = np.empty(len(rows), dtype=np.float64)
        exact_query = query.astype(np.float64)
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            vectors = np.empty((len(batch), self._dimension), dtype=np.float32)
            blocks = batch // _BLOCK_ROWS
            for number in np.flatnonzero(np.bincount(blocks)).tolist():
                in_block = blocks == number
                vectors[in_block] = self._blocks[number][batch[in_block] % _BLOCK_ROWS]
            np.dot(vectors.astype(np.float64), exact_query, out=scores[start : start + _BATCH])
        return scores

    def _add_vectors(self, first: int, vectors: Sequence[PackedVector | None]) -> None:
        if not self._dimension:
            return
        end = first + len(vectors)
        while len(self._blocks) * _BLOCK_ROWS < end:
            self._blocks.append(np.empty((_BLOCK_ROWS, self._dimension), dtype=np.float32))
        start = first
        while start < end:
            block, place = divmod(start, _BLOCK_ROWS)
            count = min(end - start, _BLOCK_ROWS - place)
            batch = vectors[start - first : start - first + count]
            self._blocks[block][place : place + count] = _unpacked(batch, self._dimension)
            start += count

    def _add_terms(self, first: int, packed: Sequence[bytes]) -> None:
        terms = np.frombuffer(b"".join(packed), dtype=TERM)
        sizes = [len(entry) // TERM.itemsize for entry in packed]
        rows = np.repeat(np.arange(first, first + len(packed), dtype=np.int32), sizes)
        self._postings.add(len(packed), rows, terms["term"], terms["count"].astype(np.float32))

    def _code(self, text: str | None) -> int:
        return -2 if text is None else self._codes.setdefault(text, len(self._codes))


def _unpacked(vectors: Sequence[PackedVector | None], dimension: int) -> npt.NDArray[np.float32]:
    """Return vectors as rows; a missing one is a row of zeros."""
    rows = np.zeros((len(vectors), dimension), dtype=np.float32)
    by_form: dict[int, list[int]] = {}
    for place, vector in enumerate(vectors):
        if vector is not None:
            by_form.setdefault(len(vector), []).append(place)
    for size, places in by_form.items():
        joined = b"".join(vectors[place] or b"" for place in places)
        if size == dimension:
            numbers = np.frombuffer(joined, np.int8).reshape(-1, dimension).astype(np.float64)
            lengths = np.sqrt((numbers * numbers).sum(axis=1, keepdims=True))
            rows[places] = numbers / np.where(lengths > 0, lengths, 1)
        else:
            rows[places] = np.frombuffer(joined, "<f4").reshape(-1, dimension)
    return rows


def _lowest_kept_score(scores: _Scores, limit: int) -> float:
    """Return the lowest score among the best."""
    if len(scores) <= limit:
        return float(scores.min())
    return float(np.partition(scores, len(scores) - limit)[len(scores) - limit])
