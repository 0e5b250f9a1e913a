"""The embedding models that ship with Nacre: their names, sizes, tokenizers and shares.

No file is read here.
"""

from collections.abc import Callable, Mapping, Sequence
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


class EnglishKind(NamedTuple):
    """A sentence encoder for English, which comes in a separate data wheel."""

    name: str
    dimension: int


class Combination(NamedTuple):
    """A sentence encoder and a model of English in one vector, whose cosine sums up theirs.

    `encoder_share` is the encoder's weight in this sum. The rest is that of the English encoder,
    or without one that of the table. Texts that are not English have only the encoder's part.
    """

    encoder: str
    encoder_dimension: int
    table: TableKind
    encoder_share: float
    english: EnglishKind | None = None

    @property
    def dimension(self) -> int:
        """Return the dimension of both parts together."""
        return self.encoder_dimension + (self.english or self.table).dimension

    @property
    def emb_id(self) -> str:
        """Return the id of the vectors, of which the shares are a part."""
        other = self.english.name if self.english else self.table.emb_id.split(":")[1]
        share = round(100 * self.encoder_share)
        return f"builtin:{self.encoder}+{other}:{self.dimension}:1.{share}"


# With .7, English questions that share no word with their answer find it most often; more for the
# table finds more by words, which the words' own channel does as well, and less across languages.
ENCODER = Combination("use-multilingual-3", 512, ENGLISH, encoder_share=0.7)

# The encoder of English knows English sentences best. With less than .3, an English question finds
# fewer notes in other languages, which only the other encoder knows.
BEST = ENCODER._replace(encoder_share=0.3, english=EnglishKind("arctic-embed-s", 384))

BUILTIN: Mapping[str, Combination | TableKind] = {
    "builtin": ENCODER,
    "builtin-best": BEST,
    "builtin-static": ENGLISH,
    "builtin-multilingual": MULTILINGUAL,
}
"""The models by their names in the settings."""
