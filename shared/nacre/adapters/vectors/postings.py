"""Which points hold a term, and BM25 over them."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# Short notes: a low b, since a longer one is rarely padded; measured on conversations.
K1 = 0.9
B = 0.4

# Postings beside the sorted ones before they are sorted in: at least some 1000 points, and a
# share of all, so that adding stays cheap however many there are.
_TAIL = 16_384
_TAIL_SHARE = 8

_Terms = npt.NDArray[np.uint64]
_Rows = npt.NDArray[np.int32]
_Counts = npt.NDArray[np.float32]


class Postings:
    """Terms of rows, sorted, with a short unsorted tail; all rows count for a term's rarity."""

    def __init__(self) -> None:
        self._terms: _Terms = np.empty(0, dtype=np.uint64)
        self._rows: _Rows = np.empty(0, dtype=np.int32)
        self._counts: _Counts = np.empty(0, dtype=np.float32)
        self._tail: list[tuple[_Terms, _Rows, _Counts]] = []
        self._tail_size = 0
        self._lengths = np.zeros(64, dtype=np.float32)
        self._size = 0  # rows that were ever added
        self._live = 0
        self._live_length = 0.0

    def add(self, size: int, rows: _Rows, terms: _Terms, counts: _Counts) -> None:
        """Take so many more rows with their terms; `rows` says whose each term is."""
        end = self._size + size
        if end > len(self._lengths):
            longer = np.zeros(max(end, 2 * len(self._lengths)), dtype=np.float32)
            longer[: self._size] = self._lengths[: self._size]
            self._lengths = longer
        lengths = np.bincount(rows - self._size, weights=counts, minlength=size)
        self._lengths[self._size : end] = lengths
        self._size = end
        self._live += size
        self._live_length += float(lengths.sum())
        if len(terms):
            self._tail.append((terms, rows, counts))
            self._tail_size += len(terms)
        if self._tail_size > max(_TAIL, len(self._terms) // _TAIL_SHARE):
            self._settle()

    def forget(self, rows: Sequence[int]) -> None:
        """Leave rows out of what is counted; `scores` is told which are alive."""
        self._live -= len(rows)
        self._live_length -= float(self._lengths[list(rows)].sum())

    def scores(
        self, terms: Sequence[int], alive: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.float64] | None:
        """Return each row's BM25 for distinct terms, or None where no row has any of them."""
        if not terms or not self._live:
            return None
        average = self._live_length / self._live or 1.0
        total: npt.NDArray[np.float64] | None = None
        for term in terms:
            rows, counts = self._of(term)
            live = alive[rows]
            rows, counts = rows[live], counts[live].astype(np.float64)
            if not len(rows):
                continue
            if total is None:
                total = np.zeros(self._size, dtype=np.float64)
            rarity = np.log1p((self._live - len(rows) + 0.5) / (len(rows) + 0.5))
            norm = K1 * (1 - B + B * self._lengths[rows].astype(np.float64) / average)
            total[rows] += rarity * counts * (K1 + 1) / (counts + norm)
        return total

    def _of(self, term: int) -> tuple[_Rows, _Counts]:
        wanted = np.uint64(term)
        low = int(np.searchsorted(self._terms, wanted, "left"))
        high = int(np.searchsorted(self._terms, wanted, "right"))
        rows, counts = self._rows[low:high], self._counts[low:high]
        if len(self._tail) > 1:
            self._tail = [self._joined_tail()]
        for tail_terms, tail_rows, tail_counts in self._tail:
            here = tail_terms == wanted
            if here.any():
                rows = np.concatenate((rows, tail_rows[here]))
                counts = np.concatenate((counts, tail_counts[here]))
        return rows, counts

    def _joined_tail(self) -> tuple[_Terms, _Rows, _Counts]:
        terms, rows, counts = zip(*self._tail, strict=True)
        return np.concatenate(terms), np.concatenate(rows), np.concatenate(counts)

    def _settle(self) -> None:
        terms, rows, counts = self._joined_tail()
        order = np.argsort(terms, kind="stable")
        terms, rows, counts = terms[order], rows[order], counts[order]
        places = np.searchsorted(self._terms, terms, "right")
        self._terms = np.insert(self._terms, places, terms)
        self._rows = np.insert(self._rows, places, rows)
        self._counts = np.insert(self._counts, places, counts)
        self._tail, self._tail_size = [], 0
