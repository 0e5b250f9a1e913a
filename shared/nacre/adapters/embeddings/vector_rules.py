"""What every embedder does to texts before its model and to numbers after it."""

from typing import Any

import numpy as np

from nacre.core.errors import UnavailableError
from nacre.core.limits import MAX_EMBEDDED_BYTES
from nacre.ports.embedder import Vector

Floats = np.ndarray[Any, np.dtype[np.float32]]


def embeddable(text: str) -> str:
    """Return the beginning of a text, as much of it as models read; blank texts become empty."""
    # Half a character at the cut, or a lone surrogate, is nothing that a model could read.
    text = text.encode("utf-8", "ignore")[:MAX_EMBEDDED_BYTES].decode("utf-8", "ignore")
    return text if text.strip() else ""


def packed(rows: Floats, *, dimension: int, model: str) -> list[Vector]:
    """Return rows as vectors of unit length; a row of zeros stays one.

    Anything but finite numbers in rows of the right length raises UnavailableError.
    """
    if rows.ndim != 2 or rows.shape[1] != dimension:
        found = rows.shape[-1] if rows.ndim else 0
        raise WrongDimensionError(model, expected=dimension, found=found)
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise UnavailableError(f"{model} answered with numbers that are not finite")
    units = (rows / np.where(lengths > 0, lengths, 1)).astype("<f4")
    return [unit.tobytes() for unit in units]


class WrongDimensionError(UnavailableError):
    """A model answered with vectors of another length than the ones that are stored."""

    def __init__(self, model: str, *, expected: int, found: int) -> None:
        super().__init__(
            f"{model} answered with vectors of {found} dimensions instead of {expected}, and "
            f"nothing was stored; if {found} is right, set it as NACRE_EMBEDDING_DIMENSIONS of "
            "an endpoint, or as hidden_size in the config.json of a folder"
        )
        self.expected = expected
        self.found = found
