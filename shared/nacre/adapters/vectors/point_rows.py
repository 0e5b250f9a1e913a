"""Points with packed terms, as the laptop's index stores them."""

from collections.abc import Iterable

import numpy as np

from nacre.adapters.vectors.point_rules import term_counts
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.vectors.embedder import Vector
from nacre.ports.vectors.packed_vectors import PackedVector, packed, unpacked
from nacre.ports.vectors.vector_index import Kind, Point


@dataclass(frozen=True, slots=True)
class Row:
    """A point as an index stores it, with its terms as packed numbers."""

    id: str
    kind: Kind
    state: str
    cluster_id: str | None
    days: tuple[str, ...]
    vector: PackedVector | None
    packed_terms: bytes


TERM = np.dtype([("term", "<u8"), ("count", "<u2")])


def pack_terms(terms: Iterable[str]) -> bytes:
    """Return the terms of a point as bytes, 10 for each distinct one."""
    counts = term_counts(terms)
    return np.array(
        [(term, min(count, 0xFFFF)) for term, count in sorted(counts.items())], dtype=TERM
    ).tobytes()


def row_of(point: Point) -> Row:
    """Return a point as a row."""
    return Row(
        point.id,
        point.kind,
        point.state,
        point.cluster_id,
        point.days,
        _smallest(point.vector),
        pack_terms(point.terms),
    )


def _smallest(vector: Vector | None) -> PackedVector | None:
    """Return the vector packed if that loses nothing: vectors of items were packed before."""
    if vector is None:
        return None
    small = packed(vector)
    return small if unpacked(small, len(small)) == vector else vector
