"""Vectors of texts from a sentence encoder and a table of words, one after the other.

The encoder knows what a sentence means in many languages; the table of English words keeps apart
what only a word tells apart, such as names.
"""

from collections.abc import Sequence

import numpy as np

from nacre.adapters.embeddings.builtin_models import Combination
from nacre.adapters.embeddings.englishness import englishness
from nacre.adapters.embeddings.sentence_encoder import SentenceEncoder
from nacre.adapters.embeddings.static_embedder import StaticTable
from nacre.adapters.embeddings.vector_rules import Floats, packed, units
from nacre.ports.embedder import Vector


class CombinedEmbedder:
    """An Embedder over an encoder and a table; threads may share it."""

    def __init__(self, kind: Combination, encoder: SentenceEncoder, table: StaticTable) -> None:
        self._kind = kind
        self._encoder = encoder
        self._table = table
        self.emb_id = kind.emb_id
        self.dimension = kind.dimension

    def documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text, in order."""
        if not texts:
            return []
        ids = [self._table.piece_ids(text) for text in texts]
        english = np.array(
            [englishness(text, len(row)) for text, row in zip(texts, ids, strict=True)]
        )
        share = self._kind.encoder_share
        parts = (
            np.sqrt(share) * units(self._encoder.rows(texts)),
            np.sqrt((1 - share) * english)[:, None]
            * units(np.stack([self._table.mean(row) for row in ids])),
        )
        rows: Floats = np.concatenate(parts, axis=1, dtype=np.float32)
        return packed(rows, dimension=self.dimension, model=self.emb_id)

    def query(self, text: str) -> Vector:
        """Return the vector of a query, computed as for any text."""
        return self.documents([text])[0]
