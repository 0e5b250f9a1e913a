"""The overview: how much a Being remembers, and what it remembered last."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.faces.console_shell import At, show

routes = APIRouter(prefix="/beings/{being_id}")


@routes.get("/overview")
def overview(request: Request, at: At) -> Response:
    """Show the Being at a glance."""
    return show(request, at, "overview.html", here="overview")
