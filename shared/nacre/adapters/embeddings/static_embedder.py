"""Texts as the mean of their words' vectors, from a table that ships with Nacre.

No model runs: a row for each piece, as int8 with a scale, read from a mapped file. The
rows' lengths grow with how much a piece says, so the mean needs no weights of its own,
and MaxSim has the ones it needs.
"""

from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

import nacre_tables
from nacre.adapters.embeddings.static_tables import Pieces, TableKind
from nacre.adapters.embeddings.vector_rules import Floats, embeddable, packed
from nacre.ports.embedder import Vector

Rows = np.ndarray[Any, np.dtype[np.intp]]

_QUERY_PIECES = 64  # of one query in MaxSim: more words do not make it clearer
_TEXT_PIECES = 512  # of one candidate: two hundred of them stay within 30 MB
_REMEMBERED_TEXTS = 2048  # candidates come again with the next query: about 2 MB
_REMEMBERED_LENGTH = 500  # longer texts are cut anew


class _Loaded(NamedTuple):
    pieces: Pieces
    rows: Any
    scales: Floats
    norms: Floats


class StaticTable:
    """One table in a folder, read when it is first needed; threads may share it."""

    def __init__(self, kind: TableKind, folder: Path | None = None) -> None:
        self.kind = kind
        self._folder = folder
        self._lock = Lock()
        self._remembered: OrderedDict[str, tuple[int, ...]] = OrderedDict()

    def piece_ids(self, text: str) -> tuple[int, ...]:
        """Return the rows of a text's pieces, in order; what the table lacks is left out."""
        with self._lock:
            ids = self._remembered.get(text)
            if ids is None:
                ids = tuple(row for row in self._loaded.pieces.ids(embeddable(text)) if row >= 0)
                if len(text) <= _REMEMBERED_LENGTH:
                    self._remembered[text] = ids
                if len(self._remembered) > _REMEMBERED_TEXTS:
                    self._remembered.popitem(last=False)
            return ids

    def mean(self, ids: Sequence[int]) -> Floats:
        """Return the sum of these rows, which points where their mean does."""
        if not ids:
            return np.zeros(self.kind.dimension, np.float32)
        loaded = self._loaded
        chosen = np.asarray(ids, np.intp)
        result: Floats = loaded.scales[chosen] @ loaded.rows[chosen].astype(np.float32)
        return result

    def units(self, ids: Rows) -> Floats:
        """Return these rows, each of unit length; a row of zeros stays one."""
        loaded = self._loaded
        rows = loaded.rows[ids].astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        units: Floats = rows / np.where(lengths > 0, lengths, 1)[:, None]
        return units

    def norms(self, ids: Rows) -> Floats:
        """Return how long these rows were, which is how much their pieces say."""
        return self._loaded.norms[ids]

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
        """Return a vector for each text, in their order."""
        if not texts:
            return []
        rows = np.stack([self._table.mean(self._table.piece_ids(text)) for text in texts])
        return packed(rows, dimension=self.dimension, model=self.emb_id)

    def query(self, text: str) -> Vector:
        """Return the vector of a query, which is that of a text."""
        return self.documents([text])[0]


class StaticTokenSimilarity:
    """MaxSim over a table: for each piece of the query, how near the nearest of a text comes.

    The nearness is squared, so that a good match outweighs several poor ones, and weighted
    by the length of the query piece's row, which is small for words that say little.
    """

    def __init__(self, table: StaticTable) -> None:
        self._table = table

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return a number from 0 to 1 for each text, in their order."""
        asked = _distinct(np.asarray(self._table.piece_ids(query)[:_QUERY_PIECES], np.intp))
        weights = self._table.norms(asked)
        held = [self._table.piece_ids(text)[:_TEXT_PIECES] for text in texts]
        filled = [place for place, ids in enumerate(held) if ids]
        scores = np.zeros(len(texts), np.float32)
        if not filled or not weights.sum() > 0:
            return scores.tolist()
        flat = np.fromiter(chain.from_iterable(held), np.intp)
        distinct = _distinct(flat)
        near = self._table.units(distinct) @ self._table.units(asked).T
        np.square(np.clip(near, 0, 1, out=near), out=near)
        starts = np.cumsum([0, *(len(held[place]) for place in filled[:-1])])
        best = np.maximum.reduceat(near[np.searchsorted(distinct, flat)], starts, axis=0)
        scores[filled] = best @ weights / weights.sum()
        return [min(1.0, score) for score in scores.tolist()]


def _distinct(rows: Rows) -> Rows:
    """Return the rows once each, in order; np.unique would first load masked arrays, 25 ms."""
    ordered = np.sort(rows)
    once: Rows = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return once
