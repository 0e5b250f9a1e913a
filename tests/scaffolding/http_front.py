"""An HTTP server in front of another one: what comes in goes on, unless somebody interferes."""

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.scaffolding.server_threads import answering

PATIENCE_SECONDS = 60
_OWN = {"connection", "content-length", "keep-alive", "transfer-encoding"}  # of each connection


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, with its headers as they were sent."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    def header(self, name: str) -> str:
        """Return a header by its name in lower case, empty where there is none."""
        return next((v for n, v in self.headers.items() if n.lower() == name), "")


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer; with `sent`, so many bytes of the body go out before the line is dropped."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    reason: str = ""
    sent: int | None = None
    pause: float = 0.0  # before each byte of the body
    over: threading.Event = field(default_factory=threading.Event)  # ends the pauses early


Answer = Callable[[Asked], Answered | None]
"""Answers a request; None drops the line without a word."""


def passed_on(asked: Asked, address: str, **changed: str) -> Answered:
    """Ask another server the same, under other headers where some are given."""
    with closing(HTTPConnection(address, timeout=PATIENCE_SECONDS)) as connection:
        headers = {**asked.headers, **changed}
        connection.request(asked.method, asked.path, asked.body, headers)
        response = connection.getresponse()
        body = response.read()
    kept = tuple((n, v) for n, v in response.getheaders() if n.lower() not in _OWN)
    return Answered(response.status, kept, body, response.reason)


@contextmanager
def front(answer: Answer, port: int = 0) -> Iterator[str]:
    """Serve on a port of loopback until the block ends, and give its address."""
    server = _Server(("127.0.0.1", port), _Handler)
    server.answer = answer
    with answering(server):
        yield f"127.0.0.1:{server.server_port}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    answer: Answer

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients are killed, and servers behind go away."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _take(self) -> None:
        assert "transfer-encoding" not in self.headers, "a body of unknown length"
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {n: v for n, v in self.headers.items() if n.lower() not in _OWN}
        answered = self.server.answer(Asked(self.command, self.path, headers, body))
        if answered is None:
            self._hang_up()
            return
        with suppress(ConnectionError):  # a client that has ended meanwhile
            self._give(answered)

    def _give(self, answered: Answered) -> None:
        self.send_response_only(answered.status, answered.reason or None)
        for name, value in answered.headers:
            self.send_header(name, value)
        self.send_header("content-length", str(len(answered.body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        body = answered.body[: answered.sent]
        step = 1 if answered.pause else max(1, len(body))
        for at in range(0, len(body), step):
            if answered.pause:
                answered.over.wait(answered.pause)
            self.wfile.write(body[at : at + step])
        if answered.sent is not None:
            self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    do_GET = do_HEAD = do_POST = do_PUT = _take  # noqa: N815 - the library's names
    do_PATCH = do_DELETE = do_OPTIONS = _take  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Say nothing: the tests look at the answers."""
