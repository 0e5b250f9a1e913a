"""Vectors of English texts from the encoder of the package `nacre_english`.

`english_layers` computes them with numpy, or `english_session` with onnxruntime. Both round in the
same way and read the same file of weights, so their vectors hardly differ and one index may have
both.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np

import nacre_english
from nacre.adapters.embeddings.vector_rules import Floats, embeddable, units
from nacre.adapters.embeddings.word_pieces import WordPieces

DIMENSION = 384
QUERY_PREFIX = "Represent this sentence for searching relevant passages: "

Encode = Callable[[Sequence[Sequence[int]]], Floats]
"""Returns a row for each text, which is given as the ids of its pieces."""

_FOLDER = Path(nacre_english.__file__).parent / "arctic_embed_s"
_LONGEST = 256  # pieces of a text; twice as many take more than twice the time
_BATCH = 512  # pieces of all texts that are computed together; more are not faster


class _Loaded(NamedTuple):
    pieces: WordPieces
    start: int
    end: int
    encode: Encode


class EnglishEncoder:
    """The encoder, read by `load` on first use; threads may share it."""

    dimension = DIMENSION

    def __init__(self, load: Callable[[Path], Encode], folder: Path = _FOLDER) -> None:
        self._load = load
        self._folder = folder
        self._lock = Lock()

    def rows(self, texts: Sequence[str], *, queries: bool = False) -> Floats:
        """Return a row of unit length for each text, in order: zeros for one without pieces.

        All English texts have much in common for this model. The mean of notes or of questions
        is taken out, so that unrelated texts have cosines of about zero.
        """
        rows = self.raw(texts, queries=queries)
        readable = rows.any(axis=1)
        rows[readable] = units(units(rows[readable]) - self._means[int(queries)])
        return rows

    def raw(self, texts: Sequence[str], *, queries: bool = False) -> Floats:
        """Return the model's own row for each text, in order: zeros for one without pieces."""
        loaded = self._loaded
        result = np.zeros((len(texts), DIMENSION), np.float32)
        batch: dict[int, list[int]] = {}
        size = 0
        for place, text in enumerate(texts):
            ids = self._ids(text, QUERY_PREFIX if queries else "")
            if batch and size + len(ids) > _BATCH:
                result[list(batch)] = loaded.encode(list(batch.values()))
                batch, size = {}, 0
            if ids:
                batch[place] = ids
                size += len(ids)
        if batch:
            result[list(batch)] = loaded.encode(list(batch.values()))
        return result

    def _ids(self, text: str, prefix: str) -> list[int]:
        loaded = self._loaded
        text = embeddable(text)
        if not text:
            return []
        return [loaded.start, *loaded.pieces.ids(prefix + text)[: _LONGEST - 2], loaded.end]

    @property
    def _loaded(self) -> _Loaded:
        with self._lock:  # two threads at once must not load twice
            return self._content

    @cached_property
    def _means(self) -> Floats:
        """Return the mean of notes and that of questions."""
        means: Floats = np.load(self._folder / "means.npy")
        return means

    @cached_property
    def _content(self) -> _Loaded:
        folder = self._folder
        names = (folder / "pieces.txt").read_text(encoding="utf-8").split("\n")
        ids = {piece: number for number, piece in enumerate(names)}
        return _Loaded(
            WordPieces(ids, unknown=ids["[UNK]"]),
            ids["[CLS]"],
            ids["[SEP]"],
            self._load(folder),
        )
