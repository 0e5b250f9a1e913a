"""Rules that all embedders share: the texts they read and the vectors they return."""

from typing import Any

import numpy as np

from nacre.core.errors import UnavailableError
from nacre.core.limits import MAX_EMBEDDED_BYTES
from nacre.ports.vectors.embedder import Vector

Floats = np.ndarray[Any, np.dtype[np.float32]]


def embeddable(text: str) -> str:
    """Return the beginning of a text up to the limit of models; blank texts become empty."""
    if text.isascii() and len(text) <= MAX_EMBEDDED_BYTES:
        return "" if text.isspace() else text
    # Models cannot read lone surrogates or half a character at the cut.
    text = text.encode("utf-8", "ignore")[:MAX_EMBEDDED_BYTES].decode("utf-8", "ignore")
    return text if text.strip() else ""


def packed(rows: Floats, *, dimension: int, model: str) -> list[Vector]:
    """Return rows as vectors of unit length; a row of zeros stays zero.

    Raises UnavailableError unless the rows have the right length and finite numbers.
    """
    if rows.ndim != 2 or rows.shape[1] != dimension:
        actual = rows.shape[-1] if rows.ndim else 0
        raise WrongDimensionError(model, expected=dimension, actual=actual)
    if not np.isfinite(_lengths(rows)).all():
        raise UnavailableError(f"{model} answered with numbers that are not finite")
    return [unit.tobytes() for unit in units(rows).astype("<f4", copy=False)]


def units(rows: Floats) -> Floats:
    """Return rows with unit length; a row of zeros stays zero."""
    lengths = _lengths(rows)
    result: Floats = (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return result


def _lengths(rows: Floats) -> Any:
    return np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)


class WrongDimensionError(UnavailableError):
    """A model answered with vectors of another length than the stored ones."""

    def __init__(self, model: str, *, expected: int, actual: int) -> None:
        super().__init__(
            f"{model} answered with vectors of {actual} dimensions instead of {expected}, and "
            f"nothing was stored; if {actual} is right, set it as NACRE_EMBEDDING_DIMENSIONS of "
            "an endpoint, or as hidden_size in the config.json of a folder"
        )
        self.expected = expected
        self.actual = actual
