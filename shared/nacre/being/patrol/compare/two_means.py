"""Two halves of a cluster by 2-means, with seeds that follow from the members alone."""

from collections.abc import Mapping

from nacre.being.patrol.compare.geometry import Numbers, dot, less, mean
from nacre.core.lazy_dataclasses import dataclass

_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Halves:
    """Two halves by id, and the share of the scatter that is left within them (0 to 1)."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    scatter: float


def two_means(vectors: Mapping[str, Numbers]) -> Halves | None:
    """Return the halves of at least two vectors; None if all are the same.

    The seeds are the member farthest from the centre, and the one farthest from that; among equals
    the first id wins.
    """
    ids = sorted(vectors)
    centre = mean([vectors[id_] for id_ in ids])
    scatter = sum(_distance(vectors[id_], centre) for id_ in ids)
    if not scatter:
        return None
    first = min(ids, key=lambda id_: (-_distance(vectors[id_], centre), id_))
    second = min(ids, key=lambda id_: (-_distance(vectors[id_], vectors[first]), id_))
    centres = [vectors[first], vectors[second]]
    sides: list[int] = []
    for _ in range(_ROUNDS):
        nearer = [
            int(_distance(vectors[id_], centres[1]) < _distance(vectors[id_], centres[0]))
            for id_ in ids
        ]
        if nearer == sides or len(set(nearer)) < 2:
            break
        sides = nearer
        centres = [
            mean([vectors[id_] for id_, side in zip(ids, sides, strict=True) if side == number])
            for number in (0, 1)
        ]
    if not sides:
        return None
    scatter_within = sum(
        _distance(vectors[id_], centres[side]) for id_, side in zip(ids, sides, strict=True)
    )
    return Halves(
        tuple(id_ for id_, side in zip(ids, sides, strict=True) if side == 0),
        tuple(id_ for id_, side in zip(ids, sides, strict=True) if side == 1),
        scatter_within / scatter,
    )


def _distance(first: Numbers, second: Numbers) -> float:
    difference = less(first, second)
    return dot(difference, difference)
