"""Checks in front of the portal: the host name, and web origins that may read answers."""

from collections.abc import Mapping
from typing import Any

from nacre.core.errors import ForbiddenError
from nacre.core.logs import where
from nacre.protocol.http.allowed_origins import hostname
from nacre.protocol.http.asgi import AsgiApp, Receive, Scope, Send, head_of, refuse
from nacre.protocol.http.http_messages import HttpReply
from nacre.protocol.http.server_address import base_of
from nacre.web.oauth.routes import WELL_KNOWN
from nacre.web.portal_parts import Portal


class PortalFence:
    """Refuses requests for other host names, and lets allowed web origins read answers."""

    def __init__(self, app: AsgiApp, portal: Portal) -> None:
        self._app = app
        self._portal = portal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {n.decode("latin-1"): v.decode("latin-1") for n, v in scope["headers"]}
        refused = self._refusal(scope["method"], scope["path"], headers)
        if refused is not None:
            await refuse(head_of(scope), receive, send, refused)
            return
        cors = self._portal.fences.cors_headers(headers) if is_protocol(scope["path"]) else ()
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
        """Return the reply that refuses a request, or None."""
        portal, fences, host = self._portal, self._portal.fences, headers.get("host", "")
        foreign = fences.hosts is not None and hostname(host) not in fences.hosts
        if foreign or base_of(host, public_url=portal.public_url, scheme=portal.scheme) is None:
            return _plain(421, "this host name is not served here; allow it with --host")
        if not is_protocol(path):
            return None  # the pages check forms themselves
        try:
            fences.check(headers)
        except ForbiddenError as error:
            return _plain(403, str(error))
        if method == "OPTIONS" and headers.get("origin") in fences.cors:
            return HttpReply(204, fences.cors_headers(headers))
        return None


def is_protocol(path: str) -> bool:
    """Tell whether a path is for programs, where the owner's session is ignored."""
    return path in ("/token", "/register", "/revoke") or path.startswith(f"{WELL_KNOWN}/")


def _plain(status: int, text: str) -> HttpReply:
    headers = (("content-type", "text/plain; charset=utf-8"), ("cache-control", "no-store"))
    return HttpReply(status, headers, f"{text}\n".encode())
