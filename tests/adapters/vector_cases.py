"""Points and questions for the suites of the vector index."""

import math
from array import array
from collections.abc import Sequence
from random import Random

from nacre.ports.vectors.embedder import Vector
from nacre.ports.vectors.vector_index import Candidates, Filter, Hit, Kind, Point

DIMENSION = 8
EMB_ID = f"test:words:{DIMENSION}:1"
EVERY = Filter()


def unit(*numbers: float) -> Vector:
    """Return a vector of length 1 that points there."""
    padded = [*numbers, *[0.0] * (DIMENSION - len(numbers))]
    length = math.hypot(*padded) or 1.0
    return array("f", [number / length for number in padded]).tobytes()


def some_vector(rng: Random) -> Vector:
    return unit(*(rng.gauss(0, 1) for _ in range(DIMENSION)))


def point(
    id_: str,
    vector: Vector | None = None,
    terms: Sequence[str] = (),
    *,
    kind: Kind = "node",
    state: str = "active",
    cluster_id: str | None = None,
    days: tuple[str, ...] = (),
    text_sha: str = "sha",
    summary: str | None = None,
) -> Point:
    return Point(id_, kind, state, cluster_id, days, vector, tuple(terms), text_sha, summary)


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.id for hit in hits]


def both(candidates: Candidates) -> set[str]:
    return {*ids(candidates.dense), *ids(candidates.sparse)}
