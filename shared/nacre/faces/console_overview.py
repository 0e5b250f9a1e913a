"""The overview: how much a Being remembers, and what it remembered last."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.console.glance import glance
from nacre.faces.console_shell import At, console_of, show

routes = APIRouter(prefix="/beings/{being_id}")


@routes.get("/overview")
def overview(request: Request, at: At) -> Response:
    """Show the Being at a glance."""
    parts = console_of(request)
    seen = glance(parts.table(), parts.mind(), at.being_id)
    return show(request, at, "overview.html", here="overview", seen=seen)
