"""The web application: sign-in, OAuth for clients, and the owner's pages."""

from collections.abc import Callable, Iterable
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.routing import Match

from nacre import __version__
from nacre.core.errors import (
    ConflictError,
    LeaseHeldError,
    NacreError,
    NotFoundError,
    OAuthError,
    RateLimitedError,
)
from nacre.protocol.http.asgi import AsgiApp, Receive, Scope, Send
from nacre.protocol.http.error_map import explain
from nacre.web.host_check import PortalFence, is_protocol
from nacre.web.oauth.consent_routes import routes as consent_routes
from nacre.web.oauth.routes import oauth_failed
from nacre.web.oauth.routes import routes as oauth_routes
from nacre.web.page_session import SignInNeededError
from nacre.web.portal_parts import Portal
from nacre.web.rendering import page, static_file
from nacre.web.signin.passkey_routes import routes as passkey_routes
from nacre.web.signin.routes import redirect
from nacre.web.signin.routes import routes as sign_in_routes


class LateRoutes:
    """An application that starts with few routes and adds the others when they are needed."""

    def __init__(self, app: FastAPI, adds: Iterable[Callable[[FastAPI], None]]) -> None:
        self._app = app
        self._adds = list(adds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; add the late routes first if no route matches it."""
        if self._adds and scope["type"] == "http" and not self._knows(scope):
            while self._adds:
                self._adds[0](self._app)
                del self._adds[0]  # only then: one that fails is tried again
        await self._app(scope, receive, send)

    def _knows(self, scope: Scope) -> bool:
        return any(route.matches(scope)[0] is Match.FULL for route in self._app.routes)


def portal_app(portal: Portal, *more: Callable[[FastAPI], None], is_late: bool = False) -> AsgiApp:
    """Return the web application, for the portal function and for the laptop server.

    Each of `more` adds routes: now, or with `is_late` before the first request for which the
    portal has no route.
    """
    # No documentation pages: they load scripts from elsewhere and list what is not public.
    app = FastAPI(title="Nacre", version=__version__, openapi_url=None)
    app.state.portal = portal

    @app.get("/healthz")
    async def health() -> dict[str, str]:
        return {"status": "ok", "version": __version__}

    @app.get("/static/{name}")
    async def static(name: str, v: str = "") -> Response:
        return static_file(name, v)

    # `include_router` would read the signature of every function again, at the first request.
    for router in (sign_in_routes, passkey_routes, oauth_routes, consent_routes):
        app.routes.extend(router.routes)
    if not is_late:
        for add in more:
            add(app)
    if not ((is_late and more) or any(getattr(route, "path", None) == "/" for route in app.routes)):

        @app.get("/")
        async def home() -> dict[str, str]:
            return {"name": "Nacre", "version": __version__, "mcp": "/mcp"}

    app.add_exception_handler(SignInNeededError, _to_sign_in)
    app.add_exception_handler(NacreError, _explained)
    app.add_exception_handler(OAuthError, oauth_failed)
    app.add_exception_handler(RequestValidationError, _not_understood)
    app.add_exception_handler(HTTPException, _not_served)
    app.add_exception_handler(Exception, _failed)
    return PortalFence(LateRoutes(app, more) if is_late else app, portal)


def _to_sign_in(request: Request, error: Exception) -> Response:
    assert isinstance(error, SignInNeededError)
    path = f"/sign-in?then={quote(error.then, safe='')}"
    if "hx-request" in request.headers:  # a redirect would end up inside the page
        return Response(status_code=401, headers={"HX-Redirect": path, "Cache-Control": "no-store"})
    return redirect(request, path)


_BUSY = "a patrol or another process is working on this Being; try again in a moment"


def _explained(request: Request, error: Exception) -> Response:
    failure = explain(error, modern=True)
    # A page answers these two with plain HTTP, not with a JSON-RPC error and a status.
    status = 404 if isinstance(error, NotFoundError) else failure.status
    status = 409 if isinstance(error, ConflictError) else status
    text = _BUSY if isinstance(error, LeaseHeldError) else failure.message
    answer = _problem(request, status, text)
    if isinstance(error, RateLimitedError):
        answer.headers["Retry-After"] = str(error.seconds)
    return answer


def _not_understood(request: Request, _error: Exception) -> Response:
    return _problem(request, 400, "the request cannot be understood")


def _not_served(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    texts = {404: "this page does not exist", 405: "this method is not allowed here"}
    answer = _problem(request, error.status_code, texts.get(error.status_code, "not possible"))
    for name, value in (error.headers or {}).items():
        answer.headers[name] = value
    return answer


def _failed(request: Request, _error: Exception) -> Response:
    return _problem(request, 500, "something went wrong; see the server's log")


_WORDS = {429: "temporarily_unavailable", 500: "server_error", 503: "temporarily_unavailable"}


def _problem(request: Request, status: int, text: str) -> Response:
    if is_protocol(request.url.path):
        fields = {"error": _WORDS.get(status, "invalid_request"), "error_description": text}
        return JSONResponse(fields, status, {"Cache-Control": "no-store"})
    if "text/html" not in request.headers.get("accept", ""):
        return JSONResponse({"error": text}, status, {"Cache-Control": "no-store"})
    return page(request, "problem.html", status=status, text=text)
