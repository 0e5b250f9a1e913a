"""The page of the map, where similar memories lie close together."""

from collections.abc import Sequence
from typing import NamedTuple

from fastapi import APIRouter
from fastapi.responses import Response

from nacre.console.map.chart import Chart, Dot, Island, chart
from nacre.console.visits import PageVisit, checked_id
from nacre.core.errors import NotFoundError

routes = APIRouter(prefix="/beings/{being_id}")

_EACH_A_LINK = 1500  # dots; a browser is slow with more links in one picture
_COLOURS = 8
_SIZES = (0.25, 0.5, 0.75, 1.01)  # classes of dots, when there are too many for one shape each
_NUMBERED = 60  # of the largest clusters; more numbers would overlap
_NAMED = 24  # of the largest clusters; names need more space than numbers
_LONGEST_NAME = 28
_LETTER = 0.6  # the width of a letter, relative to the font size
_LINE = 1.15  # the distance of two lines, relative to the font size
_LISTED = 24  # clusters in the list beside the map; the others are folded


class Drawn(NamedTuple):
    """A cluster as it is drawn: its colour, and its dots or their paths."""

    island: Island
    colour: int
    dots: Sequence[Dot]
    paths: Sequence[tuple[float, str]]  # the thickness and the dots of each path


class Caption(NamedTuple):
    """A text on the map, with its centre and base line."""

    text: str
    x: float
    y: float
    size: float

    def overlaps(self, caption: "Caption") -> bool:
        """Tell whether two texts overlap."""
        height = max(self.size, caption.size) * _LINE
        return (
            abs(self.x - caption.x) < self.half + caption.half and abs(self.y - caption.y) < height
        )

    def covers(self, island: Island) -> bool:
        """Tell whether the text lies over a cluster."""
        middle = self.y - self.size * 0.3
        across = max(0.0, abs(island.x - self.x) - self.half)
        down = max(0.0, abs(island.y - middle) - self.size * 0.5)
        return across**2 + down**2 < island.radius**2

    @property
    def half(self) -> float:
        """Return half the width of the text."""
        return len(self.text) * self.size * _LETTER / 2


@routes.get("/map")
def show_map(at: PageVisit) -> Response:
    """Show the map of all memories, or of one cluster."""
    fields = at.query
    group, forgotten = fields.get("group", ""), fields.get("forgotten") == "1"
    if group:
        checked_id(group)
    table = at.parts.table()
    drawing = chart(table, at.being_id, group=group or None, forgotten=forgotten)
    if group and not drawing.islands:
        raise NotFoundError("there is no such cluster on the map; its memories may have moved")
    return at.show(
        "map/map.html",
        here="map",
        chart=drawing,
        drawn=drawn_clusters(drawing),
        group=group,
        forgotten=forgotten,
        listed=_LISTED,
        captions=captions(drawing),
    )


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


def captions(drawing: Chart) -> list[Caption]:
    """Return the clusters' names where they fit beside them, otherwise their numbers."""
    size = round(drawing.width / 62, 1)
    placed: list[Caption] = []
    for place, island in enumerate(drawing.islands[:_NUMBERED]):
        numbers = _spots(drawing, island, str(island.number), size)
        spots = numbers
        if place < _NAMED:
            label = island.label
            short = label if len(label) <= _LONGEST_NAME else f"{label[: _LONGEST_NAME - 1]}…"
            spots = _spots(drawing, island, f"{island.number} {short}", size) + numbers
        near = _level(drawing, island, size)
        apart = [spot for spot in spots if not any(map(spot.overlaps, placed))]
        clear = (spot for spot in apart if not any(map(spot.covers, near)))
        number = next((spot for spot in apart if spot in numbers), numbers[0])
        placed.append(next(clear, number))
    return placed


def _level(drawing: Chart, island: Island, size: float) -> list[Island]:
    """Return the clusters that a text beside this one could overlap."""
    return [
        neighbour
        for neighbour in drawing.islands
        if abs(neighbour.y - island.y) < neighbour.radius + island.radius + 2 * size
    ]


def _spots(drawing: Chart, island: Island, text: str, size: float) -> list[Caption]:
    """Return the possible positions of a text: above, below, right and left, within the map."""
    half = Caption(text, 0.0, 0.0, size).half
    aside, level = island.radius + size * 0.4 + half, island.y + size * 0.3
    spots = (
        (island.x, island.y - island.radius - size * 0.4),
        (island.x, island.y + island.radius + size),
        (island.x + aside, level),
        (island.x - aside, level),
    )
    low, high = drawing.left + half, drawing.left + drawing.width - half
    top, bottom = drawing.top + size, drawing.top + drawing.height - size * 0.3
    return [
        Caption(text, round(min(max(x, low), high), 1), round(min(max(y, top), bottom), 1), size)
        for x, y in spots
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
