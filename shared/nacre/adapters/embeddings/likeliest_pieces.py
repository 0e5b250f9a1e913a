"""Cutting words into their likeliest pieces, as a unigram model of SentencePiece does."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

WORD_START = "\u2581"  # SentencePiece's sign for the blank before a word
UNKNOWN = -1
_CACHED_WORDS = 30_000
_CACHED_LENGTH = 24  # longer ones are sentences without spaces, which do not recur


class LikeliestPieces:
    """Cuts words into the pieces of a vocabulary; threads may share it.

    `rows` has the number of each piece, `scores` the log-probability of each number and `unknown`
    that of a letter without a piece. `reach` has the length of the longest piece by its first
    letter, because most letters begin only short ones.
    """

    def __init__(
        self,
        rows: Mapping[str, int],
        scores: Sequence[float],
        unknown: float,
        reach: Mapping[str, int],
    ) -> None:
        self._rows = rows
        self._scores = scores
        self._unknown = unknown
        self._reach = reach
        self._cached_pieces = lru_cache(_CACHED_WORDS)(self._pieces)

    def of(self, word: str) -> tuple[int, ...]:
        """Return the numbers of a word's pieces, in order; UNKNOWN for a letter without a piece."""
        return self._cached_pieces(word) if len(word) <= _CACHED_LENGTH else self._pieces(word)

    def _pieces(self, word: str) -> tuple[int, ...]:
        """Return the likeliest pieces by Viterbi, from left to right."""
        length = len(word)
        best = [0.0] + [-math.inf] * length
        last = [(0, UNKNOWN)] * (length + 1)
        rows, scores = self._rows, self._scores
        for start in range(length):
            so_far = best[start]
            if so_far + self._unknown > best[start + 1]:
                best[start + 1] = so_far + self._unknown
                last[start + 1] = (start, UNKNOWN)
            reach = min(length, start + self._reach.get(word[start], 0))
            for end in range(start + 1, reach + 1):
                row = rows.get(word[start:end])
                if row is not None and so_far + scores[row] > best[end]:
                    best[end] = so_far + scores[row]
                    last[end] = (start, row)
        numbers: list[int] = []
        end = length
        while end:
            end, row = last[end]
            numbers.append(row)
        return tuple(reversed(numbers))


def reach_of(pieces: Sequence[str]) -> dict[str, int]:
    """Return the length of the longest piece by its first letter."""
    reach: dict[str, int] = {}
    for piece in pieces:
        reach[piece[:1]] = max(reach.get(piece[:1], 1), len(piece))
    return reach
