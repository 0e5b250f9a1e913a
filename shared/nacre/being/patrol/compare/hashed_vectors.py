"""Vectors without a model: each term is a direction, found by its hash."""

import math
from collections import Counter
from functools import lru_cache
from hashlib import blake2b

from nacre.being.patrol.compare.geometry import packed
from nacre.ports.embedder import Cosines, Vector
from nacre.text.analysis import terms

DIMENSION = 1024
HASHED = f"hashed:terms:{DIMENSION}:1"

# Of pairs of notes that have nothing to do with each other. Words that are not the same have
# nothing in common here, so what belongs together lies only four deviations above.
COSINES = Cosines(mean=0.018, deviation=0.081, floor=1.0, join=0.34)


def hashed(text: str) -> Vector:
    """Return the vector of a text's terms, of unit length; zeros where it has none."""
    sums = [0.0] * DIMENSION
    for term, count in Counter(terms(text)).items():
        place, sign = _place(term)
        sums[place] += sign * math.sqrt(count)
    length = math.sqrt(math.fsum(part * part for part in sums))
    return packed([part / length for part in sums] if length else sums)


@lru_cache(1 << 14)
def _place(term: str) -> tuple[int, int]:
    number = int.from_bytes(blake2b(term.encode(), digest_size=8).digest())
    return number % DIMENSION, 1 if number >> 63 else -1
