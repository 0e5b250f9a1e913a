"""The address on this machine to which the browser comes back from a login."""

import hmac
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from nacre.core.errors import LoginError, NacreError

_PORT = 8767  # so that the client of the last login fits; if it is taken, any other one
_PATH = "/callback"
_PAGE = """<!doctype html><meta charset="utf-8"><title>Nacre</title><h1>{title}</h1><p>{text}</p>"""
_DONE = "You are logged in", "You can close this page."
_FAILED = "The login failed", "The terminal says why. You can close this page."
_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "connection": "close",
}


class LoginListener:
    """Listens on loopback until the browser has come back."""

    def __init__(self) -> None:
        self._server = _server()
        self._outcome: list[NacreError | None] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.server_close()

    @property
    def redirect_uri(self) -> str:
        """The address to register for the browser's way back."""
        return f"http://127.0.0.1:{self._server.server_port}{_PATH}"

    def wait(self, state: str, finish: Callable[[dict[str, str]], None], *, seconds: float) -> None:
        """Wait for the browser's answer and finish the login; raises its error.

        Requests with another state are not answers: any page may send the browser here.
        """
        self._server.answer = lambda query: self._answer(query, state, finish)
        deadline = time.monotonic() + seconds
        while not self._outcome:
            self._server.timeout = deadline - time.monotonic()
            if self._server.timeout <= 0:
                raise LoginError("nobody came back from the browser in time; begin again")
            self._server.handle_request()
        [error] = self._outcome
        if error is not None:
            raise error

    def _answer(
        self, query: dict[str, str], state: str, finish: Callable[[dict[str, str]], None]
    ) -> bool | None:
        """Return whether the login succeeded, None for a request that is no answer."""
        if not hmac.compare_digest(query.get("state", "").encode(), state.encode()):
            return None
        try:
            finish(query)
        except NacreError as error:
            self._outcome.append(error)
            return False
        self._outcome.append(None)
        return True


class _Server(HTTPServer):
    answer: Callable[[dict[str, str]], bool | None]
    allow_reuse_address = True


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 5.0  # a connection that sends nothing must not keep the browser out

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        try:
            query = dict(parse_qsl(parts.query, max_num_fields=20))
        except ValueError:
            query = {}
        is_done = self.server.answer(query) if parts.path == _PATH else None
        if is_done is None:
            self._reply(404, "Nothing is here", "This is not the answer of a login.")
        else:
            title, text = _DONE if is_done else _FAILED
            self._reply(200 if is_done else 400, title, text)

    def _reply(self, status: int, title: str, text: str) -> None:
        body = _PAGE.format(title=title, text=text).encode()
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing: the address holds the code."""


def _server() -> _Server:
    for port in (_PORT, 0):
        try:
            return _Server(("127.0.0.1", port), _Handler)
        except OSError:
            if port == 0:
                raise
    raise AssertionError
