"""Where memories lie on a map."""

import math
import struct
from collections.abc import Sequence
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.console.map.layout import Spot, packed, packed_radius, plane, spread

share = st.floats(-1, 1, width=32)
spots = st.lists(st.builds(Spot, share, share), max_size=60)


def vector(*parts: float) -> bytes:
    return struct.pack(f"<{len(parts)}f", *parts)


def apart(one: Sequence[float], other: Sequence[float]) -> float:
    return math.hypot(one[0] - other[0], one[1] - other[1])


def test_what_means_the_same_lies_close_together() -> None:
    cats = [vector(1, 0.1 * each, 0, 0) for each in range(5)]
    boats = [vector(0, 0.1 * each, 1, 0) for each in range(5)]

    found = plane([*cats, *boats])

    within = max(apart(found[0], each) for each in found[1:5])
    between = min(apart(one, other) for one in found[:5] for other in found[5:])
    assert within < between / 2


def test_what_says_nothing_lies_somewhere() -> None:
    assert plane([]) == []
    assert plane([vector(0, 0)] * 3) == [Spot(0, 0)] * 3
    assert plane([vector(1, 2)]) == [Spot(0, 0)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(share, share, st.floats(1, 30)), max_size=40))
def test_no_group_lies_over_another(groups: list[tuple[float, float, float]]) -> None:
    radii = [radius for _, _, radius in groups]

    discs = spread([Spot(x, y) for x, y, _ in groups], radii, 2.0)

    assert [disc.radius for disc in discs] == radii
    for one, other in combinations(discs, 2):
        assert apart(one, other) > one.radius + other.radius


@settings(max_examples=40, deadline=None)
@given(spots)
def test_no_dot_lies_over_another_and_all_within_their_group(some: list[Spot]) -> None:
    places = packed(some, 10.0)

    assert len(places) == len(some)
    # The largest dot has a radius of 0.42 spacings.
    assert all(apart(one, other) > 8.4 for one, other in combinations(places, 2))
    most = packed_radius(len(some), 10.0)
    assert all(math.hypot(*place) + 4.2 <= most for place in places)


@given(spots)
def test_the_same_memories_always_give_the_same_map(some: list[Spot]) -> None:
    assert packed(some, 10.0) == packed(list(some), 10.0)
