"""The curve of a fading memory, and how it is drawn."""

import re

import pytest

from nacre.being.memory.model.forgetting_curve import DEAD_BELOW, DYING_BELOW, retention
from nacre.being.memory.model.types import Node
from nacre.console.memories.strength import fading
from nacre.console.memories.strength_curve import HEIGHT, WIDTH, plotted
from tests.being.memory.keeping import a_node


def test_the_curve_goes_from_when_it_was_strengthened_to_after_its_end() -> None:
    found = fading(a_node(1, clock0=10), 40)

    assert found is not None
    assert (found.first, found.now, found.left) == (10, 40, retention(30, 16.0))
    assert found.past[0][1] == 1.0
    assert found.past[-1] == found.coming[0] == (40, found.left)
    assert found.fades < found.dies < found.last
    assert retention(found.fades - 10, 16.0) < DYING_BELOW <= retention(found.fades - 11, 16.0)
    assert retention(found.dies - 10, 16.0) < DEAD_BELOW
    lefts = [left for _, left in (*found.past, *found.coming)]
    assert lefts == sorted(lefts, reverse=True)


@pytest.mark.parametrize(
    "node",
    [
        a_node(1, pinned=True),
        a_node(1, status="dead", due=None),
        a_node(1, status="merged"),
    ],
)
def test_what_does_not_fade_has_no_curve(node: Node) -> None:
    assert fading(node, 40) is None


@pytest.mark.parametrize("stability", [0.01, 4.0, 64.0, 3650.0])
@pytest.mark.parametrize("clock", [0, 1, 30, 5000, 400_000])
def test_every_curve_stays_within_its_picture(stability: float, clock: int) -> None:
    found = fading(a_node(1, stability=stability, clock0=0), clock)
    assert found is not None

    plot = plotted(found)

    points = re.findall(r"([-\d.]+) ([-\d.]+)", f"{plot.past} {plot.coming}")
    assert len(points) >= 4
    for across, down in points:
        assert 40 <= float(across) <= WIDTH
        assert 0 <= float(down) <= HEIGHT - 30
    assert 1 <= len(plot.days) <= 8
    assert (plot.fades_on is None) == (clock >= found.fades)
