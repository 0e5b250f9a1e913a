"""Routes that an application gets when somebody first asks for one of them."""

from collections.abc import Callable, Iterable

from fastapi import FastAPI
from starlette.routing import Match

from nacre.faces.asgi import Receive, Scope, Send


class LateRoutes:
    """An application that starts with few routes, and adds the others before it needs them."""

    def __init__(self, app: FastAPI, adds: Iterable[Callable[[FastAPI], None]]) -> None:
        self._app = app
        self._adds = list(adds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with what there is; what is not there may be among the late ones."""
        if self._adds and scope["type"] == "http" and not self._knows(scope):
            while self._adds:
                self._adds[0](self._app)
                del self._adds[0]  # only then: one that fails is tried again
        await self._app(scope, receive, send)

    def _knows(self, scope: Scope) -> bool:
        return any(route.matches(scope)[0] is Match.FULL for route in self._app.routes)
