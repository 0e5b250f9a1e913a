"""Vectors of texts from a sentence encoder in a folder, run by onnxruntime."""

from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
import onnxruntime

from nacre.adapters.embeddings.onnx_folder import OnnxFolder
from nacre.adapters.embeddings.vector_rules import Floats, WrongDimensionError, embeddable, packed
from nacre.core.errors import UnavailableError
from nacre.ports.vectors.embedder import Vector

_BATCH = 16  # texts of similar length; larger batches need more padding and are not faster
_FATAL = 4  # the log level of onnxruntime; failures raise exceptions


class OnnxEmbedder:
    """An Embedder over a folder; threads may share it."""

    def __init__(self, folder: OnnxFolder) -> None:
        self._folder = folder
        self._lock = Lock()
        self.emb_id = folder.emb_id
        self.dimension = folder.dimension

    def documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text, in order."""
        return self._vectors(texts, self._folder.options.document_prefix)

    def query(self, text: str) -> Vector:
        """Return the vector of a query, after the model's prefix for queries."""
        return self._vectors([text], self._folder.options.query_prefix)[0]

    def _vectors(self, texts: Sequence[str], prefix: str) -> list[Vector]:
        rows = np.zeros((len(texts), self.dimension), np.float32)
        readable = [(place, text) for place, raw in enumerate(texts) if (text := embeddable(raw))]
        ids = {place: self._ids(prefix + text) for place, text in readable}
        places = sorted(ids, key=lambda place: len(ids[place]))
        for start in range(0, len(places), _BATCH):
            batch = places[start : start + _BATCH]
            rows[batch] = self._run([ids[place] for place in batch])
        return packed(rows, dimension=self.dimension, model=self.emb_id)

    def _ids(self, text: str) -> list[int]:
        pieces, marks = self._tokenizer
        limit = self._folder.options.max_tokens - 2
        return [marks["[CLS]"], *pieces.ids(text)[:limit], marks["[SEP]"]]

    def _run(self, ids: list[list[int]]) -> Floats:
        width = max(map(len, ids))
        tokens = np.full((len(ids), width), self._tokenizer[1]["[PAD]"], np.int64)
        mask = np.zeros_like(tokens)
        for place, row in enumerate(ids):
            tokens[place, : len(row)] = row
            mask[place, : len(row)] = 1
        inputs = {
            "input_ids": tokens,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(tokens),
        }
        session = self._session
        names = [entry.name for entry in session.get_inputs() if entry.name in inputs]
        try:
            answer = np.asarray(
                session.run(None, {name: inputs[name] for name in names})[0], np.float32
            )
        except Exception as error:  # onnxruntime's errors have no common base class
            raise UnavailableError(f"the model in '{self._folder.path}' failed") from error
        if answer.shape[-1] != self.dimension:
            actual = answer.shape[-1]
            raise WrongDimensionError(self.emb_id, expected=self.dimension, actual=actual)
        return self._pooled(answer, mask) if answer.ndim == 3 else answer

    def _pooled(self, states: Floats, mask: Any) -> Floats:
        if self._folder.options.pooling == "cls":
            return states[:, 0]
        weights = mask[:, :, None].astype(np.float32)
        pooled: Floats = (states * weights).sum(axis=1) / weights.sum(axis=1)
        return pooled

    @cached_property
    def _tokenizer(self) -> Any:
        return self._folder.word_pieces()

    @cached_property
    def _session(self) -> Any:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _FATAL
        path = self._folder.model
        with self._lock:
            try:
                return onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
            except Exception as error:
                raise UnavailableError(
                    f"'{path}' is not a model that onnxruntime {onnxruntime.__version__} can run"
                ) from error
