"""The map: a Being's memories, near to each other what means the same."""

from collections.abc import Sequence
from typing import NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.console.frame import At, console_of, known_id, show
from nacre.console.map.chart import Chart, Dot, Island, chart
from nacre.core.errors import NotFoundError
from nacre.web.forms import query_fields

routes = APIRouter(prefix="/beings/{being_id}")

_EACH_A_LINK = 1500  # dots; a browser is slow with more links in one picture
_COLOURS = 8
_SIZES = (0.25, 0.5, 0.75, 1.01)  # of a dot where there are too many for a shape each
_NUMBERED = 60  # of the largest: more numbers would lie over one another
_NAMED = 24  # of the largest: names need more room than numbers
_LONGEST_NAME = 28
_LETTER = 0.6  # how wide a letter is, in its font's size
_LINE = 1.15  # how far apart two lines of text are, in their font's size
_LISTED = 24  # groups beside the map; the others are folded away


class Drawn(NamedTuple):
    """A group as it is drawn: its colour, and its dots or their paths."""

    island: Island
    colour: int
    dots: Sequence[Dot]
    paths: Sequence[tuple[float, str]]  # how thick the dots of a path are, and where they lie


class Caption(NamedTuple):
    """A text on the map, its middle and its base line."""

    text: str
    x: float
    y: float
    size: float

    def meets(self, other: "Caption") -> bool:
        """Tell whether two texts lie over one another."""
        height = max(self.size, other.size) * _LINE
        return abs(self.x - other.x) < self.half + other.half and abs(self.y - other.y) < height

    def covers(self, island: Island) -> bool:
        """Tell whether the text lies over a group."""
        middle = self.y - self.size * 0.3
        across = max(0.0, abs(island.x - self.x) - self.half)
        down = max(0.0, abs(island.y - middle) - self.size * 0.5)
        return across**2 + down**2 < island.radius**2

    @property
    def half(self) -> float:
        """Return half the width of the text."""
        return len(self.text) * self.size * _LETTER / 2


@routes.get("/map")
def show_map(request: Request, at: At) -> Response:
    """Show the map of all memories, or of one group."""
    fields = query_fields(request)
    group, forgotten = fields.get("group", ""), fields.get("forgotten") == "1"
    if group:
        known_id(group)
    table = console_of(request).table()
    found = chart(table, at.being_id, group=group or None, forgotten=forgotten)
    if group and not found.islands:
        raise NotFoundError("there is no such group on the map; its memories may have moved")
    return show(
        request,
        at,
        "map/map.html",
        here="map",
        chart=found,
        drawn=drawn_groups(found),
        group=group,
        forgotten=forgotten,
        listed=_LISTED,
        captions=captions(found),
    )


def drawn_groups(found: Chart) -> list[Drawn]:
    """Return the groups as they are drawn, with a shape for each dot or paths for many."""
    one_by_one = found.count <= _EACH_A_LINK
    return [
        Drawn(
            each,
            each.number % _COLOURS,
            each.dots if one_by_one else (),
            () if one_by_one else _paths(found, each),
        )
        for each in found.islands
    ]


def captions(found: Chart) -> list[Caption]:
    """Return the groups' names beside them, clear of other groups; else their numbers."""
    size = round(found.width / 62, 1)
    placed: list[Caption] = []
    for place, island in enumerate(found.islands[:_NUMBERED]):
        numbers = _spots(found, island, str(island.number), size)
        spots = numbers
        if place < _NAMED:
            label = island.label
            short = label if len(label) <= _LONGEST_NAME else f"{label[: _LONGEST_NAME - 1]}…"
            spots = _spots(found, island, f"{island.number} {short}", size) + numbers
        near = _level(found, island, size)
        apart = [spot for spot in spots if not any(map(spot.meets, placed))]
        clear = (spot for spot in apart if not any(map(spot.covers, near)))
        number = next((spot for spot in apart if spot in numbers), numbers[0])
        placed.append(next(clear, number))
    return placed


def _level(found: Chart, island: Island, size: float) -> list[Island]:
    """Return the groups that a text beside this one can lie over."""
    return [
        other
        for other in found.islands
        if abs(other.y - island.y) < other.radius + island.radius + 2 * size
    ]


def _spots(found: Chart, island: Island, text: str, size: float) -> list[Caption]:
    """Return where a text may stand: above, below, right and left, within the picture."""
    half = Caption(text, 0.0, 0.0, size).half
    aside, level = island.radius + size * 0.4 + half, island.y + size * 0.3
    spots = (
        (island.x, island.y - island.radius - size * 0.4),
        (island.x, island.y + island.radius + size),
        (island.x + aside, level),
        (island.x - aside, level),
    )
    low, high = found.left + half, found.left + found.width - half
    top, bottom = found.top + size, found.top + found.height - size * 0.3
    return [
        Caption(text, round(min(max(x, low), high), 1), round(min(max(y, top), bottom), 1), size)
        for x, y in spots
    ]


def _paths(found: Chart, island: Island) -> list[tuple[float, str]]:
    """Return the dots of a group as one path for each of a few sizes."""
    paths = []
    low = -1.0
    for high in _SIZES:
        some = [dot for dot in island.dots if low <= dot.strength < high]
        if some:
            thick = round(found.spacing * (0.32 + 0.52 * min(1.0, high - 0.125)), 1)
            paths.append((thick, "".join(f"M{dot.x:g} {dot.y:g}h0" for dot in some)))
        low = high
    return paths
