"""Fit the weights of how a text is worded, by logistic regression with numpy alone.

    python -m tests.firewall.content.injection.fit_injection ROWS...

Each is a file of JSON Lines: a `text`, whether it is an `attack`, and, if it is to count more or
less than others, its `share`. The command writes the file that
`nacre.firewall.content.injection.wording` reads.
The texts of a whole author can be left out by leaving their file out.
"""

import json
import sys
from base64 import b85encode
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.firewall.content.injection import wording
from nacre.firewall.content.injection.normalized_text import fold
from nacre.firewall.content.injection.tokens import Token, tokens
from tests.firewall.content.injection.judge_injection import rows

STRENGTH = 10.0  # of the data against the pull of all weights towards 0
ROUNDS = 150
_KEPT = 10  # steps that the method remembers

Floats = NDArray[np.float64]
Row = dict[int, float]


def features(text: str) -> Row:
    """Return the features of the first stretch of a text, each with its value."""
    low = fold(text)
    text_tokens = tokens(low)
    blocks: tuple[list[int], list[int], list[int]] = ([], [], [])
    for half in wording.halves(low, text_tokens)[:2]:
        more_blocks = _features(half.words, text_tokens[half.first : half.last])
        for block, more in zip(blocks, more_blocks, strict=True):
            block += more
    row: Row = {}
    offset = 0
    for block, size in zip(blocks, wording.SIZES, strict=True):
        for place in block:
            row[offset + place] = row.get(offset + place, 0.0) + 1 / sqrt(len(block))
        offset += size
    return row


def _features(words: list[str], text_tokens: list[Token]) -> tuple[list[int], list[int], list[int]]:
    masks = [token.classes & wording.MEANING for token in text_tokens]
    numbers = [wording.numbers(word) for word in words]
    buckets = [bucket for word in set(words) for bucket in wording.grams(word)]
    buckets += {wording.pair(first[0], two[1]) for first, two in pairwise(numbers)}
    single = [bit for mask in set(masks) for bit in wording.kinds(mask)]
    double = [
        first * wording.KINDS + two
        for before, after in wording.pairs_of(text_tokens, masks)
        for first in wording.kinds(before)
        for two in wording.kinds(after)
    ]
    return buckets, single, double


@dataclass(slots=True)
class Matrix:
    """Rows of features, without the zeros."""

    starts: NDArray[np.int64]
    places: NDArray[np.int64]
    values: Floats

    @classmethod
    def of(cls, rows: Iterable[Row]) -> "Matrix":
        """Return the matrix of the rows; each has a constant as its last feature."""
        starts, places, values = [0], [], []
        constant = sum(wording.SIZES)
        for row in rows:
            places += [*row, constant]
            values += [*row.values(), 1.0]
            starts.append(len(places))
        return cls(np.array(starts), np.array(places), np.array(values))

    def times(self, weights: Floats) -> Floats:
        """Return the sum of each row."""
        sums: Floats = np.add.reduceat(weights[self.places] * self.values, self.starts[:-1])
        return sums

    def back(self, errors: Floats, size: int) -> Floats:
        """Return what the rows' errors are for each feature."""
        products = np.repeat(errors, np.diff(self.starts)) * self.values
        return np.bincount(self.places, products, size).astype(np.float64)


def fit(rows: list[Row], attacks: list[bool], shares: list[float]) -> Floats:
    """Return the weights that tell attacks from the rest; `shares` says how much a row counts."""
    matrix = Matrix.of(rows)
    y = np.where(np.array(attacks), 1.0, -1.0)
    share = np.array(shares)
    for sign in (1.0, -1.0):  # both sides count the same
        share[y == sign] *= len(rows) / 2 / share[y == sign].sum()
    size = sum(wording.SIZES) + 1
    pull = np.ones(size)
    pull[-1] = 0.0

    def loss(weights: Floats) -> tuple[float, Floats]:
        margin = y * matrix.times(weights)
        value = STRENGTH * float(share @ np.logaddexp(0, -margin)) + weights @ (pull * weights) / 2
        slope = -share * y / (1 + np.exp(np.clip(margin, -50, 50)))
        return float(value), STRENGTH * matrix.back(slope, size) + pull * weights

    return _least(loss, np.zeros(size))


def _least(loss: Any, weights: Floats) -> Floats:
    """Return the minimum of a smooth convex function (L-BFGS)."""
    value, slope = loss(weights)
    history: list[tuple[Floats, Floats]] = []
    for _ in range(ROUNDS):
        step = -slope
        factors = []
        for moved, bent in reversed(history):
            factor = (moved @ step) / (moved @ bent)
            factors.append(factor)
            step = step - factor * bent
        if history:
            moved, bent = history[-1]
            step = step * ((moved @ bent) / (bent @ bent))
        else:
            step = step / max(1.0, float(np.abs(slope).max()))
        for (moved, bent), factor in zip(history, reversed(factors), strict=True):
            step = step + moved * (factor - (bent @ step) / (moved @ bent))
        length = 1.0
        while True:
            new, bent_slope = loss(weights + length * step)
            if new <= value + 1e-4 * length * float(slope @ step) or length < 1e-8:
                break
            length /= 2
        moved, bent = length * step, bent_slope - slope
        weights = weights + moved
        if moved @ bent > 1e-10:
            history = [*history, (moved, bent)][-_KEPT:]
        if value - new < 1e-6 * value:
            break
        value, slope = new, bent_slope
    return weights


def packed(weights: Floats) -> dict[str, Any]:
    """Return weights as the product reads them: whole numbers of one byte."""
    blocks, scales, offset = [], [], 0
    for size in wording.SIZES:
        block = weights[offset : offset + size]
        scale = max(float(np.abs(block).max()) / 127, 1e-9)
        rounded = np.rint(block / scale).astype(np.int8)
        blocks.append(b85encode(rounded.tobytes()).decode("ascii"))
        scales.append(float(f"{scale:.6g}"))
        offset += size
    return {"bias": round(float(weights[-1]), 4), "scales": scales, "blocks": blocks}


def main(files: list[str]) -> None:
    """Fit the weights to the rows of these files and write them."""
    texts = [row for file in files for row in rows(Path(file))]
    weights = fit(
        [features(row["text"]) for row in texts],
        [bool(row["attack"]) for row in texts],
        [float(row.get("share", 1)) for row in texts],
    )
    wording.FILE.write_text(json.dumps(packed(weights)) + "\n", encoding="ascii")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python -m tests.firewall.content.injection.fit_injection ROWS...")
    main(sys.argv[1:])
