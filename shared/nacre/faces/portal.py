"""What is web and needs no token: what this is, and whether it is alive."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from mangum import Mangum

from nacre import __version__

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


def portal_app() -> FastAPI:
    """Return the web application, for the portal function and for the laptop server."""
    # No documentation pages: they load scripts from elsewhere and list what is not public.
    app = FastAPI(title="Nacre", version=__version__, openapi_url=None)

    @app.get("/")
    async def home() -> dict[str, str]:
        return {"name": "Nacre", "version": __version__, "mcp": "/mcp"}

    @app.get("/healthz")
    async def health() -> dict[str, str]:
        return {"status": "ok", "version": __version__}

    return app


def portal_handler() -> Handler:
    """Return the handler of the portal function."""
    # Lambda has no moment at which an application ends.
    adapter: Handler = Mangum(portal_app(), lifespan="off")
    return adapter
