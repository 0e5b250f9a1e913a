"""Unigram tokenizer: splits words into their likeliest pieces, in any script.

The vocabulary is ordered from the most to the least frequent piece and has no frequencies, so
Zipf's law replaces them.
"""

import math
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from nacre.adapters.embeddings.word_pieces import is_punctuation
from nacre.text.characters import Replacements

_WORD_START = "\u2581"  # SentencePiece's sign for the blank before a word
_HEAD = 10  # Mandelbrot's shift: the first ranks differ less than 1/rank
_CACHED_WORDS = 30_000
_CACHED_LENGTH = 24  # longer words are sentences without blanks, which do not recur


class UnigramPieces:
    """Turns texts into row numbers of `pieces`; punctuation and unknown letters are dropped."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self._ids = {piece: row for row, piece in enumerate(pieces)}
        self._scores = [zipf_score(row) for row in range(len(pieces))]
        self._unknown = zipf_score(len(pieces)) - 10  # as SentencePiece does
        # The longest piece by its first letter; most letters begin only short ones.
        self._reach: dict[str, int] = {}
        for piece in pieces:
            self._reach[piece[:1]] = max(self._reach.get(piece[:1], 1), len(piece))
        self._cached_pieces = lru_cache(_CACHED_WORDS)(self._pieces)

    def ids(self, text: str) -> list[int]:
        """Return the row numbers of a text's pieces, in order."""
        numbers: list[int] = []
        cached_pieces = self._cached_pieces
        for word in _words(text):
            numbers += cached_pieces(word) if len(word) <= _CACHED_LENGTH else self._pieces(word)
        return numbers

    def _pieces(self, word: str) -> tuple[int, ...]:
        """Return the likeliest pieces by Viterbi, from left to right."""
        word = _WORD_START + word
        length = len(word)
        best = [0.0] + [-math.inf] * length
        last: list[tuple[int, int | None]] = [(0, None)] * (length + 1)
        ids, scores = self._ids, self._scores
        for start in range(length):
            so_far = best[start]
            if so_far + self._unknown > best[start + 1]:
                best[start + 1] = so_far + self._unknown
                last[start + 1] = (start, None)
            reach = min(length, start + self._reach.get(word[start], 0))
            for end in range(start + 1, reach + 1):
                row = ids.get(word[start:end])
                if row is not None and so_far + scores[row] > best[end]:
                    best[end] = so_far + scores[row]
                    last[end] = (start, row)
        numbers: list[int] = []
        end = length
        while end:
            end, row = last[end]
            if row is not None:
                numbers.append(row)
        return tuple(reversed(numbers))


def zipf_score(row: int) -> float:
    """Return the log-frequency of the piece at this place, up to a constant."""
    return -math.log(row + _HEAD)


def _words(text: str) -> list[str]:
    return unicodedata.normalize("NFKC", text).lower().translate(_WORDS).split()


def _word_letter(char: str) -> str:
    category = unicodedata.category(char)
    if category == "Cf":  # joiners and marks of direction, within words
        return ""
    return " " if category[0] in "CZ" or is_punctuation(char) else char


_WORDS = Replacements(_word_letter)
