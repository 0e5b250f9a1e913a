"""The overview: how much a Being remembers, and what it remembered last."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.console.frame import At, console_of, show
from nacre.console.overview.summary import glance

routes = APIRouter(prefix="/beings/{being_id}")


@routes.get("/overview")
def overview(request: Request, at: At) -> Response:
    """Show the Being at a glance."""
    parts = console_of(request)
    seen = glance(parts.table(), parts.mind(), at.being_id)
    return show(request, at, "overview/overview.html", here="overview", seen=seen)
