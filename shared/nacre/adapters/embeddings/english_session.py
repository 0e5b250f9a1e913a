"""The English encoder, computed by onnxruntime on one thread."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnxruntime

from nacre.adapters.embeddings.vector_rules import Floats
from nacre.core.errors import UnavailableError

_FATAL = 4  # the log level of onnxruntime; failures raise exceptions


def with_onnxruntime(folder: Path) -> Callable[[Sequence[Sequence[int]]], Floats]:
    """Return a function that encodes the pieces of texts, text by text.

    Other texts in a batch would change how the numbers of a text are rounded.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _FATAL
    # More threads are slower on a busy machine, and one search would take all cores.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(
            folder / "graph.onnx", options, ["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime's errors have no common base class
        raise UnavailableError("onnxruntime cannot run the English encoder") from error

    def encode(ids: Sequence[Sequence[int]]) -> Floats:
        return np.concatenate([_first_state(session, row) for row in ids])

    return encode


def _first_state(session: onnxruntime.InferenceSession, ids: Sequence[int]) -> Floats:
    tokens = np.array([ids], np.int64)
    inputs = {
        "input_ids": tokens,
        "attention_mask": np.ones_like(tokens),
        "token_type_ids": np.zeros_like(tokens),
    }
    try:
        states = session.run(None, inputs)[0]
    except Exception as error:  # as above
        raise UnavailableError("onnxruntime failed in the English encoder") from error
    first: Floats = np.asarray(states, np.float32)[:, 0]
    return first
