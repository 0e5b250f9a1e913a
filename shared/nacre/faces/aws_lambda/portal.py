"""The portal as a Lambda function."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from mangum import Mangum

from nacre.access.authority import Authority
from nacre.console.parts import Console, Control, control_pages, memory_pages
from nacre.core.logs import Log
from nacre.web.portal import portal_app
from nacre.web.portal_parts import Portal, stack_portal

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


def stack_handler(
    open_authority: Callable[[], Authority],
    public_url: str,
    log: Log,
    memory: Console,
    control: Control,
) -> Handler:
    """Return the handler of the portal function, over the parts of a stack."""
    portal = stack_portal(open_authority, public_url, log)
    return portal_handler(portal, memory_pages(memory), control_pages(control))


def portal_handler(portal: Portal, *more: Callable[[FastAPI], None]) -> Handler:
    """Return the handler of the portal function; what `more` adds is loaded when it is needed."""
    # Lambda has no moment at which an application ends.
    adapter: Handler = Mangum(portal_app(portal, *more, is_late=True), lifespan="off")
    return adapter
