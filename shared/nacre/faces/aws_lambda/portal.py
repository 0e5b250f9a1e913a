"""The portal as a Lambda function."""

from collections.abc import Callable
from hmac import compare_digest
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
    front_secret: str = "",
) -> Handler:
    """Return the handler of the portal function, over the parts of a stack."""
    portal = stack_portal(open_authority, public_url, log)
    pages = portal_handler(portal, memory_pages(memory), control_pages(control))
    return behind_front(pages, front_secret) if front_secret else pages


def behind_front(handle: Handler, secret: str) -> Handler:
    """Return a handler that takes a caller's address from the front of a stack.

    The front sends the secret with it, because the API can be called directly too.
    """

    def handle_named(event: dict[str, Any], context: Any) -> dict[str, Any]:
        headers = event.get("headers") or {}
        viewer = headers.get("x-nacre-viewer", "")
        if viewer and compare_digest(headers.get("x-nacre-front", "").encode(), secret.encode()):
            request = event["requestContext"]
            http = {**request["http"], "sourceIp": viewer}
            event = {**event, "requestContext": {**request, "http": http}}
        return handle(event, context)

    return handle_named


def portal_handler(portal: Portal, *more: Callable[[FastAPI], None]) -> Handler:
    """Return the handler of the portal function; pages of `more` are loaded when needed."""
    # Lambda has no moment at which an application ends.
    adapter: Handler = Mangum(portal_app(portal, *more, is_late=True), lifespan="off")
    return adapter
