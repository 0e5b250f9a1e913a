"""The map: a Being's memories, near to each other what means the same."""

from collections.abc import Sequence
from typing import NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.console.chart import Chart, Dot, Island, chart
from nacre.errors import NotFoundError
from nacre.faces.console_shell import At, console_of, known_id, show
from nacre.faces.forms import query_fields

routes = APIRouter(prefix="/beings/{being_id}")

_EACH_A_LINK = 1500  # dots; a browser is slow with more links in one picture
_COLOURS = 8
_SIZES = (0.25, 0.5, 0.75, 1.01)  # of a dot where there are too many for a shape each
_NUMBERED = 60  # of the largest: more numbers would lie over one another
_NAMED = 12  # of the largest: names need more room than numbers
_LISTED = 24  # groups beside the map; the others are folded away


class Drawn(NamedTuple):
    """A group as it is drawn: its colour, and its dots or their paths."""

    island: Island
    colour: int
    dots: Sequence[Dot]
    paths: Sequence[tuple[float, str]]  # how thick the dots of a path are, and where they lie


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
        "map.html",
        here="map",
        chart=found,
        drawn=drawn_groups(found),
        group=group,
        forgotten=forgotten,
        listed=_LISTED,
        numbered=_NUMBERED,
        named=_NAMED,
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
