"""Vectors of texts from a sentence encoder and models of English, one after the other.

The encoder knows what a sentence means in many languages. The table of English words separates
texts that differ in one word only, such as a name; an English encoder knows English sentences best.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from nacre.adapters.embeddings.builtin_models import Combination
from nacre.adapters.embeddings.multilingual_encoder import MultilingualEncoder
from nacre.adapters.embeddings.static_embedder import StaticTable
from nacre.adapters.embeddings.tensor_file import Tensor
from nacre.adapters.embeddings.vector_rules import Floats, packed, units
from nacre.ports.vectors.embedder import Vector

if TYPE_CHECKING:
    from nacre.adapters.embeddings.english_encoder import EnglishEncoder  # in an optional wheel


class CombinedEmbedder:
    """An Embedder over an encoder and models of English; threads may share it.

    Whether the model of English counts is decided text by text, so notes in other languages are
    compared by the encoder alone, whatever the language of the question or of the other notes.
    """

    def __init__(
        self,
        kind: Combination,
        encoder: MultilingualEncoder,
        table: StaticTable,
        english: "EnglishEncoder | None" = None,
    ) -> None:
        self._kind = kind
        self._encoder = encoder
        self._table = table
        self._english = english
        self.emb_id = kind.emb_id
        self.dimension = kind.dimension

    def documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text, in order."""
        return self._vectors(texts, queries=False) if texts else []

    def query(self, text: str) -> Vector:
        """Return the vector of a query."""
        return self._vectors([text], queries=True)[0]

    def _vectors(self, texts: Sequence[str], *, queries: bool) -> list[Vector]:
        pieces = [self._table.pieces(text) for text in texts]
        english = np.array([text.english for text in pieces])
        share = self._kind.encoder_share
        if self._english is None:
            other = units(np.stack([self._table.mean(text.ids) for text in pieces]))
        else:
            english = english**2  # it has the larger share, also of a text with some English words
            other = _chosen(self._english, texts, english > 0, queries=queries)
        parts = (
            np.sqrt(share) * units(self._encoder.rows(texts)),
            np.sqrt((1 - share) * english)[:, None] * other,
        )
        rows: Floats = np.concatenate(parts, axis=1, dtype=np.float32)
        return packed(rows, dimension=self.dimension, model=self.emb_id)


def _chosen(
    encoder: "EnglishEncoder", texts: Sequence[str], chosen: Tensor, *, queries: bool
) -> Floats:
    """Return the rows of the chosen texts, and zeros for the others, which are not computed."""
    rows = np.zeros((len(texts), encoder.dimension), np.float32)
    places = np.flatnonzero(chosen).tolist()
    rows[places] = encoder.rows([texts[place] for place in places], queries=queries)
    return rows
