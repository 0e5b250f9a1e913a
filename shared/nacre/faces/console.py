"""The owner's pages: which there are, and the parts that they work on."""

from collections.abc import Callable

from fastapi import FastAPI

from nacre.console.parts import Console
from nacre.faces.console_overview import routes as overview_routes
from nacre.faces.console_start import routes as start_routes

_ROUTES = (start_routes, overview_routes)


def console(parts: Console) -> Callable[[FastAPI], None]:
    """Return what adds the owner's pages to the portal."""

    def add(app: FastAPI) -> None:
        app.state.console = parts
        for routes in _ROUTES:
            app.include_router(routes)

    return add
