"""The layers of a BERT encoder whose matrices are whole numbers, in numpy.

The input of each matrix is rounded to 256 levels between its least and its greatest number, text
by text, as the encoder's published graph does. Products of whole numbers are exact in float32 as
long as they are small, so this computes the numbers of that graph, but for the order of sums.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nacre.adapters.embeddings.tensor_file import Tensor, mapped_tensors
from nacre.adapters.embeddings.vector_rules import Floats

_TINY = np.float32(1e-12)  # as in the model
_HEAD = 32  # numbers of one attention head
_LEVELS = np.float32(255)


class _Matrix(NamedTuple):
    """Whole numbers as float32, with the scale and the bias of each column."""

    numbers: Floats
    scales: Floats
    bias: Floats


class _Norm(NamedTuple):
    gain: Floats
    shift: Floats


class _Layer(NamedTuple):
    attention: _Matrix  # queries, keys and values side by side
    output: _Matrix
    output_norm: _Norm
    up: _Matrix
    down: _Matrix
    down_norm: _Norm


def with_numpy(folder: Path) -> Callable[[Sequence[Sequence[int]]], Floats]:
    """Return a function that encodes the pieces of texts with the weights in a folder."""
    return EnglishLayers(mapped_tensors(folder / "weights.safetensors")).texts


class EnglishLayers:
    """The weights of all layers; computing changes nothing, so threads may share it."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        def matrix(*names: str) -> _Matrix:
            return _Matrix(
                np.hstack([tensors[f"{name}.numbers"] for name in names]).astype(np.float32),
                np.hstack([tensors[f"{name}.scales"] for name in names]),
                np.hstack([tensors[f"{name}.bias"] for name in names]),
            )

        def norm(name: str) -> _Norm:
            return _Norm(np.array(tensors[f"{name}.gain"]), np.array(tensors[f"{name}.shift"]))

        self._words, self._word = tensors["words.levels"], tensors["words.scale"]
        self._places, self._place = tensors["places.levels"], tensors["places.scale"]
        first_kind = tensors["kinds.levels"][0].astype(np.float32) - 128
        self._kind = first_kind * tensors["kinds.scale"]
        self._norm = norm("embedding_norm")
        count = sum(name.endswith(".up.bias") for name in tensors)
        self._layers = [
            _Layer(
                matrix(f"{at}.query", f"{at}.key", f"{at}.value"),
                matrix(f"{at}.output"),
                norm(f"{at}.output_norm"),
                matrix(f"{at}.up"),
                matrix(f"{at}.down"),
                norm(f"{at}.down_norm"),
            )
            for at in range(count)
        ]

    def texts(self, ids: Sequence[Sequence[int]]) -> Floats:
        """Return the vector of the first piece of each text after the last layer."""
        counts = np.array([len(row) for row in ids])
        starts = np.cumsum(counts) - counts
        pieces = np.concatenate([np.asarray(row, np.intp) for row in ids])
        places = np.arange(len(pieces)) - np.repeat(starts, counts)
        rows = (self._words[pieces].astype(np.float32) - 128) * self._word
        rows += self._kind
        rows += (self._places[places].astype(np.float32) - 128) * self._place
        rows = _normalized(rows, self._norm)
        for layer in self._layers:
            rows = _computed(layer, rows, starts, counts)
        result: Floats = rows[starts]
        return result


def _computed(layer: _Layer, rows: Floats, starts: Tensor, counts: Tensor) -> Floats:
    """Return the output of one layer for the pieces of all texts."""
    projected = _product(rows, layer.attention, starts, counts)
    mixed = np.empty_like(rows)
    for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
        mixed[start : start + count] = _attention(projected[start : start + count])
    rows = rows + _product(mixed, layer.output, starts, counts)
    rows = _normalized(rows, layer.output_norm)
    wide = _gelu(_product(rows, layer.up, starts, counts))
    return _normalized(rows + _product(wide, layer.down, starts, counts), layer.down_norm)


def _attention(projected: Floats) -> Floats:
    """Return the output of the attention heads for the pieces of one text."""
    count, width = len(projected), projected.shape[1] // 3
    heads = projected.reshape(count, 3, width // _HEAD, _HEAD).transpose(1, 2, 0, 3)
    queries, keys, values = np.ascontiguousarray(heads)
    scores = queries @ keys.transpose(0, 2, 1)
    scores /= np.float32(_HEAD**0.5)
    scores -= scores.max(axis=2, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=2, keepdims=True)
    mixed = (scores @ values).transpose(1, 0, 2).reshape(count, width)
    result: Floats = mixed.astype(np.float32, copy=False)
    return result


def _product(rows: Floats, matrix: _Matrix, starts: Tensor, counts: Tensor) -> Floats:
    """Return rows times a matrix, with the rows of each text rounded to 256 levels."""
    low = np.minimum(np.minimum.reduceat(rows.min(axis=1), starts), np.float32(0))
    high = np.maximum(np.maximum.reduceat(rows.max(axis=1), starts), np.float32(0))
    steps = (high - low) / _LEVELS
    steps[steps == 0] = 1
    zeros = np.rint(-low / steps)
    step, zero = (np.repeat(numbers, counts)[:, None] for numbers in (steps, zeros))
    levels = np.rint(rows / step)
    np.clip(levels, -zero, _LEVELS - zero, out=levels)
    result: Floats = levels @ matrix.numbers
    result *= step * matrix.scales
    result += matrix.bias
    return result


def _normalized(rows: Floats, norm: _Norm) -> Floats:
    rows = rows - rows.mean(axis=1, keepdims=True)
    variance = np.einsum("ij,ij->i", rows, rows) / rows.shape[1]
    rows /= np.sqrt(variance + _TINY)[:, None]
    rows *= norm.gain
    rows += norm.shift
    return rows


# The error function as in Abramowitz and Stegun, 7.1.26: within 1.5e-7.
_ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
_ERF_SCALE = 0.3275911


def _gelu(rows: Floats) -> Floats:
    """Return half of each number times one plus the error function of it by the root of two."""
    size = np.abs(rows)
    size *= np.float32(0.5**0.5)
    share = 1 / (1 + np.float32(_ERF_SCALE) * size)
    total = np.full_like(rows, _ERF[0])
    for number in _ERF[1:]:
        total *= share
        total += np.float32(number)
    total *= share
    np.square(size, out=size)
    np.negative(size, out=size)
    np.exp(size, out=size)
    total *= size  # one minus the error function of the size
    np.subtract(1, total, out=total)
    np.copysign(total, rows, out=total)
    total += 1
    total *= rows
    total *= np.float32(0.5)
    return total
