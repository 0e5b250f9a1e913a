"""Postings: the points of each term, and BM25 over them."""

from collections.abc import Sequence
from math import log1p

import numpy as np
import numpy.typing as npt

# Measured on conversations with short turns and with long answers.
K1 = 0.9
B = 0.75

# Unsorted postings before they are merged: at least those of some 1000 points, and a share of all,
# so that adding is cheap in an index of any size.
_TAIL = 16_384
_TAIL_SHARE = 8

_Terms = npt.NDArray[np.uint64]
_Rows = npt.NDArray[np.int32]
_Counts = npt.NDArray[np.float32]
_Scores = npt.NDArray[np.float64]


class Postings:
    """The terms of rows, sorted, with a short unsorted tail; all rows count for a term's rarity."""

    def __init__(self) -> None:
        self._terms: _Terms = np.empty(0, dtype=np.uint64)
        self._rows: _Rows = np.empty(0, dtype=np.int32)
        self._counts: _Counts = np.empty(0, dtype=np.float32)
        self._tail: list[tuple[_Terms, _Rows, _Counts]] = []
        self._tail_size = 0
        self._lengths = np.zeros(64, dtype=np.float32)
        self._size = 0  # all rows, also removed ones
        self._live = 0
        self._live_length = 0.0

    def add(self, size: int, rows: _Rows, terms: _Terms, counts: _Counts) -> None:
        """Add rows with their terms; `rows` has the row of each term."""
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
            self._merge_tail()

    def forget(self, rows: Sequence[int]) -> None:
        """Exclude rows from the statistics; `scores` gets the living rows as an argument."""
        self._live -= len(rows)
        self._live_length -= float(self._lengths[list(rows)].sum())

    def scores(
        self, terms: Sequence[int], alive: npt.NDArray[np.bool_]
    ) -> tuple[_Scores, list[float]] | None:
        """Return the BM25 score of each row, and the rarity of each of these distinct terms.

        Return None if no row has any of the terms.
        """
        if not terms or not self._live:
            return None
        average = self._live_length / self._live or 1.0
        total: _Scores | None = None
        rarities: list[float] = []
        for term in terms:
            rows, counts = self._postings_of(term)
            live = alive[rows]
            rows, counts = rows[live], counts[live].astype(np.float64)
            rarity = log1p((self._live - len(rows) + 0.5) / (len(rows) + 0.5))
            rarities.append(rarity)
            if not len(rows):
                continue
            if total is None:
                total = np.zeros(self._size, dtype=np.float64)
            norm = K1 * (1 - B + B * self._lengths[rows].astype(np.float64) / average)
            total[rows] += rarity * counts * (K1 + 1) / (counts + norm)
        return None if total is None else (total, rarities)

    def _postings_of(self, term: int) -> tuple[_Rows, _Counts]:
        number = np.uint64(term)
        low = int(np.searchsorted(self._terms, number, "left"))
        high = int(np.searchsorted(self._terms, number, "right"))
        rows, counts = self._rows[low:high], self._counts[low:high]
        if len(self._tail) > 1:
            self._tail = [self._joined_tail()]
        for tail_terms, tail_rows, tail_counts in self._tail:
            matches = tail_terms == number
            if matches.any():
                rows = np.concatenate((rows, tail_rows[matches]))
                counts = np.concatenate((counts, tail_counts[matches]))
        return rows, counts

    def _joined_tail(self) -> tuple[_Terms, _Rows, _Counts]:
        terms, rows, counts = zip(*self._tail, strict=True)
        return np.concatenate(terms), np.concatenate(rows), np.concatenate(counts)

    def _merge_tail(self) -> None:
        terms, rows, counts = self._joined_tail()
        order = np.argsort(terms, kind="stable")
        terms, rows, counts = terms[order], rows[order], counts[order]
        places = np.searchsorted(self._terms, terms, "right")
        self._terms = np.insert(self._terms, places, terms)
        self._rows = np.insert(self._rows, places, rows)
        self._counts = np.insert(self._counts, places, counts)
        self._tail, self._tail_size = [], 0
