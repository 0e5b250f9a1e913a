"""The portal as a Lambda function, which a machine of one's own has nothing to run with."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from mangum import Mangum

from nacre.faces.portal import portal_app
from nacre.faces.portal_parts import Portal

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


def portal_handler(portal: Portal, *more: Callable[[FastAPI], None]) -> Handler:
    """Return the handler of the portal function; what `more` adds is loaded when it is needed."""
    # Lambda has no moment at which an application ends.
    adapter: Handler = Mangum(portal_app(portal, *more, is_late=True), lifespan="off")
    return adapter
