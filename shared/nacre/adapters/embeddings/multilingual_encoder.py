"""Vectors of texts in many languages from the encoder of `nacre_encoder`, in numpy.

The rows of its table are read from a mapped file, four bits for each number; the weights of its
layers take 16 MB of memory.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np

import nacre_encoder
from nacre.adapters.embeddings.multilingual_layers import DIMENSION, MultilingualLayers
from nacre.adapters.embeddings.sentence_pieces import SentencePieces
from nacre.adapters.embeddings.tensor_file import Tensor, mapped_tensors
from nacre.adapters.embeddings.vector_rules import Floats, embeddable

_FOLDER = Path(nacre_encoder.__file__).parent / "use_multilingual_3"
_MARKS = 6  # pieces that stand for an unknown letter, the ends of a text, and nothing
_START, _END = 1, 2
_LONGEST = 2048  # pieces of a text; an ordinary text of the longest length has fewer
_BATCH = 512  # pieces of all texts that are computed together; more are not faster


class _Loaded(NamedTuple):
    pieces: SentencePieces
    rows: "PieceRows"
    layers: MultilingualLayers


class MultilingualEncoder:
    """The encoder, read on first use; threads may share it."""

    dimension = DIMENSION

    def __init__(self, folder: Path = _FOLDER) -> None:
        self._folder = folder
        self._lock = Lock()

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text's pieces between the marks of its ends; none for no pieces."""
        ids = self._loaded.pieces.ids(embeddable(text))[:_LONGEST]
        return [_START, *ids, _END] if ids else []

    def rows(self, texts: Sequence[str]) -> Floats:
        """Return a row for each text, in order: zeros for one without pieces."""
        result = np.zeros((len(texts), DIMENSION), np.float32)
        batch: dict[int, list[int]] = {}
        size = 0
        for place, text in enumerate(texts):
            ids = self.ids(text)
            if batch and size + len(ids) > _BATCH:
                result[list(batch)] = self._encoded(list(batch.values()))
                batch, size = {}, 0
            if ids:
                batch[place] = ids
                size += len(ids)
        if batch:
            result[list(batch)] = self._encoded(list(batch.values()))
        return result

    def _encoded(self, batch: Sequence[Sequence[int]]) -> Floats:
        loaded = self._loaded
        ids = np.fromiter(chain.from_iterable(batch), np.int64)
        return loaded.layers.texts(loaded.rows.of(ids), [len(ids) for ids in batch])

    @property
    def _loaded(self) -> _Loaded:
        with self._lock:  # two threads at once must not load twice
            return self._content

    @cached_property
    def _content(self) -> _Loaded:
        folder = self._folder
        tensors = mapped_tensors(folder / "weights.safetensors")
        pieces = SentencePieces(
            (folder / "pieces.txt").read_text(encoding="utf-8").split("\n"),
            tensors["scores"].tolist(),
            json.loads((folder / "reach.json").read_text(encoding="utf-8")),
            marks=_MARKS,
        )
        return _Loaded(pieces, PieceRows(tensors), MultilingualLayers(tensors))


class PieceRows:
    """The table of pieces: levels of four bits in a mapped file, and the few larger ones."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self._rows = tensors["rows"]
        self._starts = tensors["starts"]
        self._outlier_places = tensors["outlier_places"]
        self._outliers = tensors["outliers"]
        self._scales = np.array(tensors["chunk_scales"])
        self._lows = np.array(tensors["chunk_lows"])

    def of(self, ids: Tensor) -> Floats:
        """Return the vectors of these pieces."""
        nibbles = self._rows[ids]
        levels = np.empty((len(ids), DIMENSION), np.float32)
        levels[:, 0::2] = nibbles & 15
        levels[:, 1::2] = nibbles >> 4
        levels += self._starts[ids][:, None]
        bounds = np.searchsorted(self._outlier_places, [ids * DIMENSION, (ids + 1) * DIMENSION])
        for row in np.flatnonzero(bounds[0] < bounds[1]):
            some = slice(bounds[0][row], bounds[1][row])
            columns = self._outlier_places[some] % DIMENSION
            levels[row, columns] = self._outliers[some]
        chunks = ids % len(self._scales)  # the model's table has a scale for each of its parts
        vectors: Floats = levels * self._scales[chunks][:, None] + self._lows[chunks][:, None]
        return vectors
