"""Vectors of texts as the mean of their words' vectors, from a table that ships with Nacre.

No model runs. Each piece has a row of int8 numbers with a scale, read from a mapped file. Rows of
meaningful pieces are longer, so the mean needs no other weights, and MaxSim uses their lengths.
"""

from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

import nacre_tables
from nacre.adapters.embeddings.builtin_models import Pieces, TableKind
from nacre.adapters.embeddings.vector_rules import Floats, embeddable, packed
from nacre.adapters.embeddings.word_pieces import WordPieces, bert_words
from nacre.core.bounded_cache import BoundedCache
from nacre.ports.vectors.embedder import Vector

Rows = np.ndarray[Any, np.dtype[np.intp]]

_QUERY_PIECES = 64  # of one query in MaxSim; more do not improve the ranking
_HALF = 32  # pieces in half a passage
_FLAT_PIECES = 16_384  # of all texts compared at once: at most 4 MB for a query of 64 pieces
_OTHER_LANGUAGE = 0.5  # difference in englishness from which two texts share no language
# Shares of English letters below and above which a text is surely foreign or surely English.
# Words of other languages fall into more pieces.
_FOREIGN = 0.65
_ENGLISH = 0.8
_CACHED_TEXTS = 8192  # candidates recur with later queries; about 5 MB of short notes
_CACHED_LENGTH = 500  # longer texts are not cached


class _Loaded(NamedTuple):
    pieces: Pieces
    rows: Any
    scales: Floats
    norms: Floats


class TextPieces(NamedTuple):
    """The rows of a text's pieces in a table, in order, and how much of the text is English.

    Unknown pieces are left out. Only the English table tells English from other languages, which
    it hardly knows. An array takes a fifth of a tuple's memory, and thousands of texts are cached.
    """

    ids: "array[int]"
    english: float


class StaticTable:
    """One table in a folder, read on first use; threads may share it."""

    def __init__(self, kind: TableKind, folder: Path | None = None) -> None:
        self.kind = kind
        self._folder = folder
        self._lock = Lock()
        self._cache: BoundedCache[str, TextPieces] = BoundedCache(_CACHED_TEXTS)

    def pieces(self, text: str) -> TextPieces:
        """Return the pieces of a text."""
        pieces = self._cache.get(text)
        if pieces is None:
            with self._lock:
                pieces = self._cut(embeddable(text))
                if len(text) <= _CACHED_LENGTH:
                    self._cache[text] = pieces
        return pieces

    def mean(self, ids: Sequence[int]) -> Floats:
        """Return the sum of these rows, which has the direction of their mean."""
        if not ids:
            return np.zeros(self.kind.dimension, np.float32)
        loaded = self._loaded
        chosen = np.asarray(ids, np.intp)
        result: Floats = loaded.scales[chosen] @ loaded.rows[chosen].astype(np.float32)
        return result

    def units(self, ids: Rows) -> Floats:
        """Return these rows with unit length; a row of zeros stays zero."""
        loaded = self._loaded
        rows = loaded.rows[ids].astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        units: Floats = rows / np.where(lengths > 0, lengths, 1)[:, None]
        return units

    def norms(self, ids: Rows) -> Floats:
        """Return the original lengths of these rows, which weigh their pieces."""
        return self._loaded.norms[ids]

    def _cut(self, text: str) -> TextPieces:
        tokenizer = self._loaded.pieces
        if not isinstance(tokenizer, WordPieces):
            return TextPieces(array("i", [row for row in tokenizer.ids(text) if row >= 0]), 0.0)
        words = bert_words(text)
        ids = tokenizer.ids_of_words(words)
        if ids and min(ids) < 0:
            ids = [row for row in ids if row >= 0]
        return TextPieces(array("i", ids), englishness(words, len(ids)))

    @cached_property
    def _loaded(self) -> _Loaded:
        folder = self._folder
        if folder is None:
            folder = Path(nacre_tables.__file__).parent / self.kind.folder
        pieces = (folder / "pieces.txt").read_text(encoding="utf-8").split("\n")
        return _Loaded(
            pieces=self.kind.pieces(pieces),
            rows=np.load(folder / "rows.npy", mmap_mode="r"),
            scales=np.load(folder / "scales.npy"),
            norms=np.load(folder / "norms.npy"),
        )


class StaticEmbedder:
    """An Embedder over a table."""

    def __init__(self, table: StaticTable) -> None:
        self._table = table
        self.emb_id = table.kind.emb_id
        self.dimension = table.kind.dimension

    def documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text, in order."""
        if not texts:
            return []
        rows = np.stack([self._table.mean(self._table.pieces(text).ids) for text in texts])
        return packed(rows, dimension=self.dimension, model=self.emb_id)

    def query(self, text: str) -> Vector:
        """Return the vector of a query, computed as for any text."""
        return self.documents([text])[0]


class StaticTokenSimilarity:
    """MaxSim over a table: the best match in a text for each piece of the query.

    Cosines are squared, so that a good match counts more than several poor ones. They are
    weighted by the length of the query piece's row, which is small for common words. A long
    text has the score of its best passage: in all of it, every piece would find some match.
    """

    def __init__(self, table: StaticTable) -> None:
        self._table = table

    def score(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """Return a number from 0 to 1 for each text; None if it is in another language."""
        query_pieces = self._table.pieces(query)
        pieces = list(map(self._table.pieces, texts))
        similarities = self._similarities(query_pieces.ids, [text.ids for text in pieces])
        return [
            None if abs(text.english - query_pieces.english) > _OTHER_LANGUAGE else similarity
            for text, similarity in zip(pieces, similarities, strict=True)
        ]

    def _similarities(self, query: "array[int]", texts: Sequence["array[int]"]) -> list[float]:
        query_ids = _distinct(np.asarray(query[:_QUERY_PIECES], np.intp))
        weights = self._table.norms(query_ids)
        scores = np.zeros(len(texts), np.float32)
        if not weights.sum() > 0:
            return scores.tolist()
        units, weights = self._table.units(query_ids), weights / weights.sum()
        for batch in _batches(texts):
            places = list(batch)
            scores[places] = self._best_passages(units, weights, [batch[at] for at in places])
        return [min(1.0, score) for score in scores.tolist()]

    def _best_passages(
        self, query: Floats, weights: Floats, texts: Sequence["array[int]"]
    ) -> Floats:
        """Return the score of the best passage of each text; none is empty."""
        flat = np.frombuffer(b"".join(texts), np.intc).astype(np.intp)
        distinct = _distinct(flat)
        nearness = self._table.units(distinct) @ query.T
        np.square(np.clip(nearness, 0, 1, out=nearness), out=nearness)
        counts = np.array([-(-len(ids) // _HALF) for ids in texts])
        first = np.cumsum(counts) - counts  # the first half of each text
        begin = np.cumsum([0, *(len(ids) for ids in texts[:-1])])
        within = np.arange(int(counts.sum())) - np.repeat(first, counts)
        starts = np.repeat(begin, counts) + _HALF * within
        best = np.maximum.reduceat(nearness[np.searchsorted(distinct, flat)], starts, axis=0)
        # Halves that overlap, so that a sentence across two of them counts whole.
        inner = within[1:] > 0
        best[:-1][inner] = np.maximum(best[:-1][inner], best[1:][inner])
        passages: Floats = np.maximum.reduceat(best @ weights, first)
        return passages


def _batches(texts: Sequence["array[int]"]) -> Iterator[dict[int, "array[int]"]]:
    """Yield the texts that are not empty by their places, in batches of a limited size."""
    batch: dict[int, array[int]] = {}
    size = 0
    for place, ids in enumerate(texts):
        if batch and size + len(ids) > _FLAT_PIECES:
            yield batch
            batch, size = {}, 0
        if ids:
            batch[place] = ids
            size += len(ids)
    if batch:
        yield batch


def _distinct(rows: Rows) -> Rows:
    """Return the distinct rows, sorted; np.unique would first import masked arrays (25 ms)."""
    ordered = np.sort(rows)
    distinct: Rows = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return distinct


def englishness(words: Sequence[str], pieces: int) -> float:
    """Return the English share of a text, from 0 to 1, by the number of its pieces in the table.

    `words` are those of `bert_words`. English words are mostly one piece each; words of other
    languages are cut into several, or have letters that the table hardly knows.
    """
    letters = sum(map(str.isalnum, words))
    if all(map(str.isascii, words)):
        english = letters
    else:
        english = sum(map(str.isalnum, filter(str.isascii, words)))
    continuations = max(0, pieces - len(words))  # pieces that continue a word
    if not letters:
        return 0.0
    return min(
        1.0, max(0.0, (english / (letters + continuations) - _FOREIGN) / (_ENGLISH - _FOREIGN))
    )
