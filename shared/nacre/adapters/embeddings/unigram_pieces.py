"""Unigram: words as the likeliest pieces of a vocabulary, in any script.

The vocabulary lists its pieces from the most to the least frequent and gives no
frequencies, so Zipf's law stands in for them.
"""

import math
import unicodedata
from collections.abc import Sequence

from nacre.adapters.embeddings.bert_words import is_punctuation
from nacre.text.characters import Replacements

_WORD_START = "\u2581"  # how SentencePiece writes the blank before a word
_HEAD = 10  # Mandelbrot's shift: the first ranks are less far apart than 1/rank says
_REMEMBERED_WORDS = 30_000
_REMEMBERED_LENGTH = 24  # longer words are sentences without blanks, which do not come again


class UnigramPieces:
    """Turns texts into the row numbers of `pieces`; punctuation and unknown letters drop out."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self._ids = {piece: row for row, piece in enumerate(pieces)}
        self._scores = [zipf_score(row) for row in range(len(pieces))]
        self._unknown = zipf_score(len(pieces)) - 10  # as SentencePiece does
        # How long a piece that begins with this letter can be: most can only be short.
        self._reach: dict[str, int] = {}
        for piece in pieces:
            self._reach[piece[:1]] = max(self._reach.get(piece[:1], 1), len(piece))
        self._known: dict[str, tuple[int, ...]] = {}

    def ids(self, text: str) -> list[int]:
        """Return the row numbers of a text's pieces, in order."""
        found: list[int] = []
        known = self._known
        for word in _words(text):
            pieces = known.get(word)
            if pieces is None:
                pieces = self._pieces(_WORD_START + word)
                if len(known) < _REMEMBERED_WORDS and len(word) <= _REMEMBERED_LENGTH:
                    known[word] = pieces
            found += pieces
        return found

    def _pieces(self, word: str) -> tuple[int, ...]:
        """Return the likeliest pieces: Viterbi, the best way to each letter from the left."""
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
        found: list[int] = []
        end = length
        while end:
            end, row = last[end]
            if row is not None:
                found.append(row)
        return tuple(reversed(found))


def zipf_score(row: int) -> float:
    """Return the log-frequency, up to a constant, of the piece at this place of the list."""
    return -math.log(row + _HEAD)


def _words(text: str) -> list[str]:
    return unicodedata.normalize("NFKC", text).lower().translate(_WORDS).split()


def _word_letter(char: str) -> str:
    category = unicodedata.category(char)
    if category == "Cf":  # joiners and marks of direction, within words
        return ""
    return " " if category[0] in "CZ" or is_punctuation(char) else char


_WORDS = Replacements(_word_letter)
