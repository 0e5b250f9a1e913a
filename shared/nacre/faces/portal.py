"""What is web: signing in, OAuth for clients, and the owner's pages."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from mangum import Mangum
from starlette.exceptions import HTTPException

from nacre import __version__
from nacre.access.addresses import base_of
from nacre.errors import (
    ConflictError,
    ForbiddenError,
    NacreError,
    NotFoundError,
    OAuthError,
    RateLimitedError,
)
from nacre.faces.asgi import AsgiApp, Receive, Scope, Send, write
from nacre.faces.consent_routes import routes as consent_routes
from nacre.faces.error_map import explain
from nacre.faces.logs import where
from nacre.faces.oauth_routes import WELL_KNOWN, oauth_failed
from nacre.faces.oauth_routes import routes as oauth_routes
from nacre.faces.portal_parts import Portal
from nacre.faces.rendering import page, static_file
from nacre.faces.sign_in_routes import redirect
from nacre.faces.sign_in_routes import routes as sign_in_routes
from nacre.faces.signing_in import SignInNeededError
from nacre.protocol.fences import hostname
from nacre.protocol.http_messages import HttpReply

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


def portal_app(portal: Portal, *more: Callable[[FastAPI], None]) -> AsgiApp:
    """Return the web application, for the portal function and for the laptop server.

    Each of `more` adds routes of its own.
    """
    # No documentation pages: they load scripts from elsewhere and list what is not public.
    app = FastAPI(title="Nacre", version=__version__, openapi_url=None)
    app.state.portal = portal

    @app.get("/healthz")
    async def health() -> dict[str, str]:
        return {"status": "ok", "version": __version__}

    @app.get("/static/{name}")
    async def static(name: str) -> Response:
        return static_file(name)

    for own in (sign_in_routes, oauth_routes, consent_routes):
        app.include_router(own)
    for add in more:
        add(app)
    if not any(getattr(route, "path", None) == "/" for route in app.routes):

        @app.get("/")
        async def home() -> dict[str, str]:
            return {"name": "Nacre", "version": __version__, "mcp": "/mcp"}

    app.add_exception_handler(SignInNeededError, _to_sign_in)
    app.add_exception_handler(NacreError, _explained)
    app.add_exception_handler(OAuthError, oauth_failed)
    app.add_exception_handler(RequestValidationError, _not_understood)
    app.add_exception_handler(HTTPException, _not_served)
    app.add_exception_handler(Exception, _failed)
    return _Fenced(app, portal)


class _Fenced:
    """Lets requests pass that use a name of this server, and allowed pages read the answers."""

    def __init__(self, app: FastAPI, portal: Portal) -> None:
        self._app = app
        self._portal = portal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {n.decode("latin-1"): v.decode("latin-1") for n, v in scope["headers"]}
        refused = self._refusal(scope["method"], scope["path"], headers)
        if refused is not None:
            await write(send, refused)
            return
        cors = self._portal.fences.cors_headers(headers) if _is_protocol(scope["path"]) else ()
        more = [(name.encode(), value.encode("latin-1")) for name, value in cors]

        async def send_on(message: Any) -> None:
            if message["type"] == "http.response.start" and more:
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        try:
            await self._app(scope, receive, send_on)
        except Exception as error:  # noqa: BLE001 - the edge: the answer was sent already
            self._portal.log.write("error", "portal", error=where(error))

    def _refusal(self, method: str, path: str, headers: Mapping[str, str]) -> HttpReply | None:
        """Return the answer to a request that goes no further."""
        portal, fences, host = self._portal, self._portal.fences, headers.get("host", "")
        foreign = fences.hosts is not None and hostname(host) not in fences.hosts
        if foreign or base_of(host, public_url=portal.public_url, scheme=portal.scheme) is None:
            return _plain(421, "this host name is not served here; allow it with --host")
        if not _is_protocol(path):
            return None  # forms have a fence of their own
        try:
            fences.check(headers)
        except ForbiddenError as error:
            return _plain(403, str(error))
        if method == "OPTIONS" and headers.get("origin") in fences.cors:
            return HttpReply(204, fences.cors_headers(headers))
        return None


def _is_protocol(path: str) -> bool:
    """Whether programs speak here, and no owner's session counts."""
    return path in ("/token", "/register", "/revoke") or path.startswith(f"{WELL_KNOWN}/")


def _plain(status: int, text: str) -> HttpReply:
    headers = (("content-type", "text/plain; charset=utf-8"), ("cache-control", "no-store"))
    return HttpReply(status, headers, f"{text}\n".encode())


def _to_sign_in(request: Request, error: Exception) -> Response:
    assert isinstance(error, SignInNeededError)
    path = f"/sign-in?then={quote(error.then, safe='')}"
    if "hx-request" in request.headers:  # a redirect would end up inside the page
        return Response(status_code=401, headers={"HX-Redirect": path, "Cache-Control": "no-store"})
    return redirect(request, path)


def _explained(request: Request, error: Exception) -> Response:
    failure = explain(error, modern=True)
    # For a page these two are plain HTTP, and no JSON-RPC error with a status beside it.
    status = 404 if isinstance(error, NotFoundError) else failure.status
    status = 409 if isinstance(error, ConflictError) else status
    answer = _problem(request, status, failure.message)
    if isinstance(error, RateLimitedError):
        answer.headers["Retry-After"] = str(error.seconds)
    return answer


def _not_understood(request: Request, _error: Exception) -> Response:
    return _problem(request, 400, "the request cannot be understood")


def _not_served(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    texts = {404: "there is nothing here", 405: "this cannot be done here that way"}
    answer = _problem(request, error.status_code, texts.get(error.status_code, "not possible"))
    for name, value in (error.headers or {}).items():
        answer.headers[name] = value
    return answer


def _failed(request: Request, _error: Exception) -> Response:
    return _problem(request, 500, "something went wrong here; the server's log says where")


_WORDS = {429: "temporarily_unavailable", 500: "server_error", 503: "temporarily_unavailable"}


def _problem(request: Request, status: int, text: str) -> Response:
    if _is_protocol(request.url.path):
        told = {"error": _WORDS.get(status, "invalid_request"), "error_description": text}
        return JSONResponse(told, status, {"Cache-Control": "no-store"})
    if "text/html" not in request.headers.get("accept", ""):
        return JSONResponse({"error": text}, status, {"Cache-Control": "no-store"})
    return page(request, "problem.html", status=status, text=text)


def portal_handler(portal: Portal, *more: Callable[[FastAPI], None]) -> Handler:
    """Return the handler of the portal function."""
    # Lambda has no moment at which an application ends.
    adapter: Handler = Mangum(portal_app(portal, *more), lifespan="off")
    return adapter
