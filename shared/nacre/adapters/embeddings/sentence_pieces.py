"""SentencePiece tokenizer: normalizes a text and splits it into its likeliest pieces.

The normalization is the one that SentencePiece calls nmt_nfkc: Unicode's NFKC, and a blank for
whatever separates words or cannot be seen.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import chain

from nacre.adapters.embeddings.likeliest_pieces import UNKNOWN, WORD_START, LikeliestPieces

# Where nmt_nfkc differs from NFKC: it keeps the wide tilde, and the order of Arabic vowel signs.
_TILDE = "\uff5e"
_VOWEL_SIGNS = re.compile("(?<=[\u064b-\u0652])(?=[\u064b-\u0652])")
_BLANKS = re.compile("[ \t\n\f\r\u1680\u200b\u200e\u200f\u2028\u2029\u2581\ufeff\ufffd]+")
_UNKNOWN_MARGIN = 10.0  # how much less likely than the rarest piece an unknown letter is


class SentencePieces:
    """Turns texts into the ids of a vocabulary.

    The first `marks` pieces stand for something else than text, such as its end, and no text
    contains them; the first of them stands for a letter without a piece.
    """

    def __init__(
        self,
        pieces: Sequence[str],
        scores: Sequence[float],
        reach: Mapping[str, int],
        *,
        marks: int,
    ) -> None:
        rows = dict(zip(pieces, range(len(pieces)), strict=True))
        for mark in pieces[:marks]:
            del rows[mark]
        self._pieces = LikeliestPieces(rows, scores, min(scores) - _UNKNOWN_MARGIN, reach)

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text's pieces, in order; none for a text that has only blanks."""
        words = (WORD_START + word for word in normalized(text).split(" ") if word)
        ids = chain.from_iterable(map(self._pieces.of, words))
        return [0 if row == UNKNOWN else row for row in ids]


def normalized(text: str) -> str:
    """Return a text in the form in which its pieces are looked up."""
    if not text.isascii():
        text = _TILDE.join(map(_composed, text.split(_TILDE)))
    return _BLANKS.sub(" ", text)


def _composed(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", part) for part in _VOWEL_SIGNS.split(text))
