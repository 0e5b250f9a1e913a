"""Arithmetic on vectors as plain numbers, always summed in the same order."""

import math
import struct
from collections.abc import Sequence
from operator import mul
from operator import sub as difference

from nacre.ports.vectors.embedder import Vector

Numbers = tuple[float, ...]


def numbers(vector: Vector) -> Numbers:
    """Return the numbers of a vector."""
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def packed(parts: Sequence[float]) -> Vector:
    """Return numbers as a vector."""
    return struct.pack(f"<{len(parts)}f", *parts)


def dot(first: Numbers, second: Numbers) -> float:
    """Return the dot product."""
    return float(sum(map(mul, first, second)))


def cosine(first: Numbers, second: Numbers) -> float:
    """Return the cosine of two vectors; 0 if one of them has no direction."""
    length = math.sqrt(dot(first, first) * dot(second, second))
    return dot(first, second) / length if length else 0.0


def less(first: Numbers, second: Numbers) -> Numbers:
    """Return the difference; an empty second vector counts as zero."""
    return tuple(map(difference, first, second)) if second else first


def unit(vector: Numbers) -> Numbers:
    """Return the vector with length 1; a vector without direction is returned unchanged."""
    length = math.sqrt(dot(vector, vector))
    return tuple(part / length for part in vector) if length else vector


def mean(vectors: Sequence[Numbers]) -> Numbers:
    """Return the mean of at least one vector."""
    return tuple(math.fsum(column) / len(vectors) for column in zip(*vectors, strict=True))
