"""The page that shows how to connect each client."""

from fastapi import APIRouter
from fastapi.responses import Response

from nacre.console.connect.recipes import recipes
from nacre.console.visits import PageVisit
from nacre.web.portal_parts import base_url

routes = APIRouter(prefix="/beings/{being_id}")


@routes.get("/connect")
def connect(at: PageVisit) -> Response:
    """Show the Being's URL and the steps for each client."""
    base = base_url(at.request)
    url = f"{base}/mcp/{at.being_id}"
    is_public = base.startswith("https://")
    stdio = [argument.replace("{being}", at.being_id) for argument in at.parts.stdio]
    return at.show(
        "connect/connect.html",
        here="connect",
        url=url,
        recipes=recipes(url, () if is_public else stdio),
        is_public=is_public,
    )
