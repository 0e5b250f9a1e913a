"""Unigram tokenizer: splits words into their likeliest pieces, in any script.

The vocabulary is ordered from the most to the least frequent piece and has no frequencies, so
Zipf's law replaces them.
"""

import math
import unicodedata
from collections.abc import Sequence
from itertools import chain

from nacre.adapters.embeddings.likeliest_pieces import (
    UNKNOWN,
    WORD_START,
    LikeliestPieces,
    reach_of,
)
from nacre.adapters.embeddings.word_pieces import is_punctuation
from nacre.text.characters import Replacements

_HEAD = 10  # Mandelbrot's shift: the first ranks differ less than 1/rank


class UnigramPieces:
    """Turns texts into row numbers of `pieces`; punctuation and unknown letters are dropped."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self._pieces = LikeliestPieces(
            {piece: row for row, piece in enumerate(pieces)},
            [zipf_score(row) for row in range(len(pieces))],
            unknown=zipf_score(len(pieces)) - 10,  # as SentencePiece does
            reach=reach_of(pieces),
        )

    def ids(self, text: str) -> list[int]:
        """Return the row numbers of a text's pieces, in order."""
        words = map(self._pieces.of, (WORD_START + word for word in _words(text)))
        return [row for row in chain.from_iterable(words) if row != UNKNOWN]


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
