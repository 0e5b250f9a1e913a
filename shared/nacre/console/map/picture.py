"""The map as it is drawn: the shapes of its clusters and dots."""

from collections.abc import Sequence
from typing import NamedTuple

from nacre.console.map.chart import Chart, Dot, Island

_EACH_A_LINK = 1500  # dots; a browser is slow with more links in one picture
_COLOURS = 8
_SIZES = (0.25, 0.5, 0.75, 1.01)  # classes of dots, when there are too many for one shape each


class Drawn(NamedTuple):
    """A cluster as it is drawn: its colour, and its dots or their paths."""

    island: Island
    colour: int
    dots: Sequence[Dot]
    paths: Sequence[tuple[float, str]]  # the thickness and the dots of each path


def drawn_clusters(drawing: Chart) -> list[Drawn]:
    """Return the clusters as they are drawn: one shape for each dot, or paths for many dots."""
    one_by_one = drawing.count <= _EACH_A_LINK
    return [
        Drawn(
            island,
            island.number % _COLOURS,
            island.dots if one_by_one else (),
            () if one_by_one else _paths(drawing, island),
        )
        for island in drawing.islands
    ]


def _paths(drawing: Chart, island: Island) -> list[tuple[float, str]]:
    """Return the dots of a cluster as one path for each of a few sizes."""
    paths = []
    low = -1.0
    for high in _SIZES:
        some = [dot for dot in island.dots if low <= dot.strength < high]
        if some:
            thick = round(drawing.spacing * (0.32 + 0.52 * min(1.0, high - 0.125)), 1)
            paths.append((thick, "".join(f"M{dot.x:g} {dot.y:g}h0" for dot in some)))
        low = high
    return paths
