"""An ASGI application that is created at its first request."""

import asyncio
from collections.abc import Callable

from nacre.protocol.http.asgi import AsgiApp, Receive, Scope, Send


class LateApp:
    """Creates the application in a thread at the first request, without blocking others."""

    def __init__(self, make: Callable[[], AsgiApp]) -> None:
        self._make = make
        self._making: asyncio.Task[AsgiApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer when the application is ready."""
        if self._making is None or (self._making.done() and self._making.exception() is not None):
            self._making = asyncio.create_task(asyncio.to_thread(self._make))
        app = await asyncio.shield(self._making)
        await app(scope, receive, send)
