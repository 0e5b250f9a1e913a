"""The names, sizes and tokenizers of the embedding tables that ship with Nacre.

No file is read here.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from nacre.adapters.embeddings.unigram_pieces import UnigramPieces
from nacre.adapters.embeddings.word_pieces import WordPieces


class Pieces(Protocol):
    """A tokenizer: cuts texts into numbered pieces."""

    def ids(self, text: str) -> list[int]:
        """Return the numbers of a text's pieces, in order; negative for unknown ones."""
        ...


class TableKind(NamedTuple):
    """One table: its folder, the id of its vectors, and its tokenizer."""

    folder: str
    emb_id: str
    dimension: int
    pieces: Callable[[Sequence[str]], Pieces]


def _word_pieces(pieces: Sequence[str]) -> WordPieces:
    return WordPieces({piece: row for row, piece in enumerate(pieces)}, unknown=-1)


ENGLISH = TableKind("potion_base_8m", "builtin:potion-base-8m:256:1", 256, _word_pieces)
MULTILINGUAL = TableKind(
    "potion_multilingual_128m", "builtin:potion-multilingual-128m:128:1", 128, UnigramPieces
)
