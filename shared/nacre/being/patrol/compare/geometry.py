"""Vectors as the patrol reckons with them: plain numbers, always summed in the same order."""

import math
import struct
from collections.abc import Sequence
from operator import mul

from nacre.ports.embedder import Vector

Numbers = tuple[float, ...]


def numbers(vector: Vector) -> Numbers:
    """Return the numbers of a vector."""
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def packed(every: Sequence[float]) -> Vector:
    """Return numbers as a vector."""
    return struct.pack(f"<{len(every)}f", *every)


def dot(one: Numbers, other: Numbers) -> float:
    """Return the sum of the products."""
    return float(sum(map(mul, one, other)))


def cosine(one: Numbers, other: Numbers) -> float:
    """Return the cosine of two vectors, 0 where one has no direction."""
    length = math.sqrt(dot(one, one) * dot(other, other))
    return dot(one, other) / length if length else 0.0


def less(one: Numbers, other: Numbers) -> Numbers:
    """Return the difference; nothing is taken away by nothing."""
    return tuple(a - b for a, b in zip(one, other, strict=True)) if other else one


def unit(one: Numbers) -> Numbers:
    """Return the vector with its length made 1; one without direction stays as it is."""
    length = math.sqrt(dot(one, one))
    return tuple(part / length for part in one) if length else one


def mean(every: Sequence[Numbers]) -> Numbers:
    """Return the mean of at least one vector."""
    return tuple(math.fsum(column) / len(every) for column in zip(*every, strict=True))
