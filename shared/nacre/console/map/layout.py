"""The layout of the map: similar memories lie close together, and none overlap.

Clusters are placed along the two directions in which memories differ most, then pushed apart
until none overlap. Within a cluster the most typical memories lie in the middle, and the others
around them in the direction in which they differ. The same memories always give the same map.
"""

import math
from collections.abc import Sequence
from operator import mul
from typing import NamedTuple

Axis = list[float]

_SAMPLE = 240  # vectors that determine the directions; more change them very little
_ROUNDS = 14  # of the power iteration; no visible change after ten
_COMPARED = 512  # dimensions of a vector that count; more would take seconds
_GOLDEN = math.pi * (3 - math.sqrt(5))
_PUSHES = 120
_SHARE = 0.5  # of the map that clusters cover
_ASPECT = 1.6


class Spot(NamedTuple):
    """A place on the map."""

    x: float
    y: float


class Disc(NamedTuple):
    """A round part of the map."""

    x: float
    y: float
    radius: float


def plane(vectors: Sequence[bytes]) -> list[Spot]:
    """Return the positions of vectors along the two directions in which they differ most."""
    points = [_read(vector) for vector in vectors]
    if not points:
        return []
    step = max(1, len(points) // _SAMPLE)
    sample = points[::step]
    mean = [math.fsum(column) / len(sample) for column in zip(*sample, strict=True)]
    centred = [
        [part - middle for part, middle in zip(point, mean, strict=True)] for point in sample
    ]
    first = _principal(centred, ())
    second = _principal(centred, (first,))
    zero = Spot(sum(map(mul, first, mean)), sum(map(mul, second, mean)))
    return [
        Spot(sum(map(mul, point, first)) - zero.x, sum(map(mul, point, second)) - zero.y)
        for point in points
    ]


def spread(centres: Sequence[Spot], radii: Sequence[float], gap: float) -> list[Disc]:
    """Return discs of these radii that do not overlap, each near its centre among the others."""
    if not centres:
        return []
    area = sum(math.pi * (radius + gap) ** 2 for radius in radii) / _SHARE
    height = math.sqrt(area / _ASPECT)
    across = _evenly([centre.x for centre in centres])
    down = _evenly([centre.y for centre in centres])
    xs = [place * height * _ASPECT for place in across]
    ys = [place * height for place in down]
    widest = max(radii)
    for _ in range(_PUSHES):
        if not _push(xs, ys, radii, gap, widest):
            break
    return [Disc(*disc) for disc in zip(xs, ys, radii, strict=True)]


def packed_radius(count: int, spacing: float) -> float:
    """Return the radius of a disc that holds so many dots."""
    return spacing * (0.58 * math.sqrt(count + 0.6) + 0.5) if count > 1 else spacing * 0.7


def packed(spots: Sequence[Spot], spacing: float) -> list[Spot]:
    """Return positions around zero for dots that do not overlap.

    Dots near the mean lie in the middle, the others in their direction from it.
    """
    if not spots:
        return []
    middle_x = math.fsum(spot.x for spot in spots) / len(spots)
    middle_y = math.fsum(spot.y for spot in spots) / len(spots)
    off = [Spot(spot.x - middle_x, spot.y - middle_y) for spot in spots]
    order = sorted(range(len(spots)), key=lambda at: (math.hypot(*off[at]), at))
    result = [Spot(0.0, 0.0)] * len(spots)
    first, ring = 0, 1
    while first < len(order):
        end = min(len(order), first + ring)
        places = sorted((_place(at, spacing) for at in range(first, end)), key=_angle)
        dots = sorted(order[first:end], key=lambda at: (_angle(off[at]), at))
        for at, place in zip(dots, places, strict=True):
            result[at] = place
        first, ring = end, ring + 6 if ring > 1 else 6
    return result


def _place(at: int, spacing: float) -> Spot:
    """Return the position of the seed with this number in a sunflower."""
    # A little more room in the middle, where a sunflower is narrow.
    radius = spacing * 0.58 * math.sqrt(at + 1.6 if at else 0.0)
    return Spot(radius * math.cos(at * _GOLDEN), radius * math.sin(at * _GOLDEN))


def _angle(spot: Spot) -> float:
    return math.atan2(spot.y, spot.x)


def _read(vector: bytes) -> Sequence[float]:
    return memoryview(vector[: _COMPARED * 4]).cast("f").tolist()


def _principal(points: Sequence[Axis], others: Sequence[Axis]) -> Axis:
    """Return the direction of the greatest variance at right angles to the others."""
    size = len(points[0])
    axis = [math.cos(1.0 + place) for place in range(size)]
    for _ in range(_ROUNDS):
        for known_axis in others:
            share = sum(map(mul, axis, known_axis))
            axis = [part - share * along for part, along in zip(axis, known_axis, strict=True)]
        length = math.sqrt(sum(map(mul, axis, axis)))
        if length < 1e-12:  # all points are equal
            return [0.0] * size
        axis = [part / length for part in axis]
        weights = [sum(map(mul, point, axis)) for point in points]
        axis = [sum(map(mul, weights, column)) for column in zip(*points, strict=True)]
    for known_axis in others:
        share = sum(map(mul, axis, known_axis))
        axis = [part - share * along for part, along in zip(axis, known_axis, strict=True)]
    length = math.sqrt(sum(map(mul, axis, axis)))
    return [part / length for part in axis] if length > 1e-12 else [0.0] * size


def _evenly(values: Sequence[float]) -> list[float]:
    """Return places from 0 to 1, by rank more than by value, so that no corner is crowded."""
    low, high = min(values), max(values)
    width = high - low or 1.0
    order = sorted(range(len(values)), key=lambda at: (values[at], at))
    ranks = [0.0] * len(values)
    for rank, at in enumerate(order):
        ranks[at] = (rank + 0.5) / len(values)
    return [
        0.15 * (value - low) / width + 0.85 * rank
        for value, rank in zip(values, ranks, strict=True)
    ]


def _push(
    xs: list[float], ys: list[float], radii: Sequence[float], gap: float, widest: float
) -> bool:
    """Push discs that overlap apart, each by half; tell whether any did."""
    order = sorted(range(len(xs)), key=xs.__getitem__)
    moved = False
    for place, first in enumerate(order):
        reach = radii[first] + widest + gap
        for second in order[place + 1 :]:
            across = xs[second] - xs[first]
            if across > reach:
                break
            down = ys[second] - ys[first]
            minimum = radii[first] + radii[second] + gap
            if abs(down) >= minimum or across * across + down * down >= minimum * minimum:
                continue
            distance = math.hypot(across, down)
            if distance < 1e-9:  # both at one point: any direction will do
                across, down, distance = 0.0, 1.0, 1.0
                share = minimum / 2
            else:
                share = (minimum - distance) / 2 * 1.02
            xs[first] -= across / distance * share
            ys[first] -= down / distance * share
            xs[second] += across / distance * share
            ys[second] += down / distance * share
            moved = True
    return moved
