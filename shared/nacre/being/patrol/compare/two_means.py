"""Two halves of a cluster: 2-means from seeds that follow from the members alone."""

from collections.abc import Mapping
from dataclasses import dataclass

from nacre.being.patrol.compare.geometry import Numbers, dot, less, mean

_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Halves:
    """Two halves, each by id, and how much of the scatter is left within them (0..1)."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    scatter: float


def halves(vectors: Mapping[str, Numbers]) -> Halves | None:
    """Return the halves of at least two vectors; None where all are the same.

    The seeds are the member farthest from the centre and the one farthest from that; of equals
    the first id counts.
    """
    ids = sorted(vectors)
    centre = mean([vectors[each] for each in ids])
    whole = sum(_apart(vectors[each], centre) for each in ids)
    if not whole:
        return None
    one = min(ids, key=lambda each: (-_apart(vectors[each], centre), each))
    other = min(ids, key=lambda each: (-_apart(vectors[each], vectors[one]), each))
    centres = [vectors[one], vectors[other]]
    sides: list[int] = []
    for _ in range(_ROUNDS):
        nearer = [
            int(_apart(vectors[each], centres[1]) < _apart(vectors[each], centres[0]))
            for each in ids
        ]
        if nearer == sides or len(set(nearer)) < 2:
            break
        sides = nearer
        centres = [
            mean([vectors[each] for each, side in zip(ids, sides, strict=True) if side == number])
            for number in (0, 1)
        ]
    if not sides:
        return None
    within = sum(
        _apart(vectors[each], centres[side]) for each, side in zip(ids, sides, strict=True)
    )
    return Halves(
        tuple(each for each, side in zip(ids, sides, strict=True) if side == 0),
        tuple(each for each, side in zip(ids, sides, strict=True) if side == 1),
        within / whole,
    )


def _apart(one: Numbers, other: Numbers) -> float:
    difference = less(one, other)
    return dot(difference, difference)
