"""Vectors as items keep them: one signed byte for each number.

The largest number becomes 127 or -127, and the length is made 1 again on reading. That is a
quarter of the bytes, and cosines differ in the fourth decimal. Packing an unpacked vector gives
the same bytes. Items of version 0.1.0 have float32 vectors; they are read as they are.
"""

from array import array
from math import sqrt

from nacre.ports.vectors.embedder import Vector

PackedVector = bytes
"""A packed vector, or a float32 vector that version 0.1.0 stored."""

_LARGEST = 127


def packed(vector: Vector) -> PackedVector:
    """Return a vector with one byte for each number; a vector of zeros stays zero."""
    numbers = memoryview(vector).cast("f").tolist()
    largest = max(map(abs, numbers), default=0.0)
    if not largest:
        return bytes(len(numbers))
    scale = _LARGEST / largest
    return array("b", [round(number * scale) for number in numbers]).tobytes()


def rounded(vector: Vector) -> Vector:
    """Return the vector that reading the packed form of this one gives."""
    small = packed(vector)
    return unpacked(small, len(small))


def unpacked(vector: PackedVector, dimension: int) -> Vector:
    """Return the float32 vector of unit length; other lengths than `dimension` stay as they are."""
    if len(vector) != dimension:
        return vector
    numbers = memoryview(vector).cast("b").tolist()
    length = sqrt(sum(number * number for number in numbers)) or 1.0
    return array("f", [number / length for number in numbers]).tobytes()
