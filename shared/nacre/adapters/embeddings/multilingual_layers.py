"""The layers of the Universal Sentence Encoder: from the vectors of pieces to that of a text.

Three convolutions look at two, three and five neighbouring pieces. Their outputs and the pieces'
own vectors are summed over the text, and four dense layers follow. The computation is that of
Google's multilingual model, version 3.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from nacre.adapters.embeddings.tensor_file import Tensor
from nacre.adapters.embeddings.vector_rules import Floats

DIMENSION = 512
_WIDTH = 256  # of each convolution
_GAP = 2  # rows of zeros around each text, as far as a convolution looks
_TINY = 1e-12  # as in the model


class _Convolution(NamedTuple):
    """Two layers that look at some neighbours of each piece, the first of them `before` it."""

    before: int
    first: Floats
    first_bias: Floats
    second: Floats
    second_bias: Floats


class MultilingualLayers:
    """The weights of all layers after the table of pieces."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        def matrix(name: str) -> Floats:
            values: Floats = tensors[f"{name}.values"][tensors[f"{name}.codes"]]
            return values

        def vector(name: str) -> Floats:
            return np.array(tensors[name])

        orders = (2, 3, 5)
        self._project = np.hstack([matrix(f"project_{order}") for order in orders])
        self._project_bias = np.hstack([vector(f"project_bias_{order}") for order in orders])
        self._project_gain = np.stack([vector(f"project_gain_{order}") for order in orders])
        self._project_shift = np.stack([vector(f"project_shift_{order}") for order in orders])
        self._convolutions = [
            _Convolution(
                (order - 1) // 2,
                matrix(f"first_{order}").reshape(order, _WIDTH, _WIDTH),
                vector(f"first_bias_{order}"),
                matrix(f"second_{order}").reshape(order, _WIDTH, _WIDTH),
                vector(f"second_bias_{order}"),
            )
            for order in orders
        ]
        self._gain, self._shift = vector("gain"), vector("shift")
        self._pool, self._pool_bias = matrix("pool"), vector("pool_bias")
        self._dense = [matrix(f"dense_{number}") for number in range(4)]
        self._skips = {number: matrix(f"skip_{number}") for number in (1, 3)}

    def texts(self, pieces: Floats, lengths: Sequence[int]) -> Floats:
        """Return a vector for each text; `pieces` are those of all texts, one after another."""
        counts = np.asarray(lengths)
        starts = np.cumsum(counts) - counts
        features = _normalized(self._features(pieces, counts), self._gain, self._shift)
        roots = np.sqrt(counts, dtype=np.float32)[:, None]
        sums = np.add.reduceat(features, starts, axis=0) / roots
        return self._deep(sums @ self._pool + roots * self._pool_bias)

    def _features(self, pieces: Floats, counts: Tensor) -> Floats:
        """Return the vector of each piece, and beside it what the convolutions see there."""
        # The row of each piece once there are rows of zeros before, between and after the texts.
        places = np.arange(len(pieces)) + _GAP * (1 + np.repeat(np.arange(len(counts)), counts))
        spaced = np.zeros((len(pieces) + _GAP * (len(counts) + 1), _WIDTH), np.float32)
        projected = pieces @ self._project
        projected += self._project_bias
        projected = projected.reshape(len(pieces), len(self._convolutions), _WIDTH)
        projected = _normalized(projected, self._project_gain, self._project_shift)
        features = np.empty((len(pieces), DIMENSION + _WIDTH * len(self._convolutions)), np.float32)
        features[:, :DIMENSION] = pieces
        for number, convolution in enumerate(self._convolutions):
            before, first, first_bias, second, second_bias = convolution
            rows = projected[:, number]
            rows = _neighbours(rows, places, spaced, before, first, first_bias)
            start = DIMENSION + number * _WIDTH
            features[:, start : start + _WIDTH] = _neighbours(
                rows, places, spaced, before, second, second_bias
            )
        return features

    def _deep(self, pooled: Floats) -> Floats:
        """Return the output of the dense layers, two of which also read the input of another."""
        zeroth = _positive(pooled @ self._dense[0])
        first = _positive(zeroth @ self._dense[1] + pooled @ self._skips[1])
        second = _positive(first @ self._dense[2])
        third: Floats = np.tanh(second @ self._dense[3] + first @ self._skips[3])
        return third


def _neighbours(
    rows: Floats, places: Tensor, spaced: Floats, before: int, matrices: Floats, bias: Floats
) -> Floats:
    """Return the rows plus one layer that looks at their neighbours.

    `spaced` is filled with the rows at their places and has zeros elsewhere.
    """
    spaced[places] = rows
    low, high = _GAP - before, len(spaced) - _GAP - before
    total = spaced[low:high] @ matrices[0]
    for shift, matrix in enumerate(matrices[1:], 1):
        total += spaced[low + shift : high + shift] @ matrix
    layered: Floats = total[places - _GAP]
    layered += bias
    _positive(layered)
    layered += rows
    return layered


def _normalized(rows: Floats, gain: Floats, shift: Floats) -> Floats:
    """Return rows with mean zero and variance one, then scaled and shifted."""
    normalized: Floats = rows - rows.mean(axis=-1, keepdims=True)
    variance = np.einsum("...i,...i->...", normalized, normalized) / rows.shape[-1]
    normalized /= np.sqrt(variance + np.float32(_TINY))[..., None]
    normalized *= gain
    normalized += shift
    return normalized


def _positive(rows: Floats) -> Floats:
    return np.maximum(rows, 0, out=rows)
