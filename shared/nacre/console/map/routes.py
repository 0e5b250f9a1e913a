"""The page of the map, where similar memories lie close together."""

from fastapi import APIRouter
from fastapi.responses import Response

from nacre.console.map.captions import captions
from nacre.console.map.chart import chart
from nacre.console.map.picture import drawn_clusters
from nacre.console.visits import PageVisit, checked_id
from nacre.core.errors import NotFoundError

routes = APIRouter(prefix="/beings/{being_id}")

_LISTED = 24  # clusters in the list beside the map; the others are folded


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
