"""A server over HTTP, of the newest generation, in a thread; it does odd things on demand."""

import json
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from typing import Any

from tests.scaffolding.server_threads import answering

TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "huge", "html")]


class Upstream:
    """What it was sent, and what it wants; `token` is asked of everybody."""

    def __init__(self) -> None:  # noqa: C901 - a server with two ways in
        self.token: str | None = None
        self.status = 200
        self.calls = 0
        self.connections = self.ended = 0
        self.answers: Queue[bytes | None] = Queue()
        self.closes = False
        self.encoding: str | None = None
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                upstream.connections += 1
                super().setup()

            def do_GET(self) -> None:
                """Serve the older kind of stream: messages come by POST, answers here."""
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                self.wfile.write(b"event: endpoint\ndata: /stream\n\n")
                while (answer := upstream.answers.get()) is not None:
                    self.wfile.write(b"event: message\ndata: " + answer + b"\n\n")

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if self.path not in ("/mcp", "/stream"):
                    self.reply(404, b"not here", "text/plain")
                elif upstream.status != 200:
                    self.reply(upstream.status, b"no", "text/plain")
                elif upstream.token and self.headers["authorization"] != upstream.token:
                    self.reply(401, b"who are you?", "text/plain")
                else:
                    upstream.calls += body["method"] == "tools/call"
                    status, answer, kind = upstream.answer(body)
                    if self.path == "/stream":
                        upstream.answers.put(answer)
                        status, answer = 202, b""
                    self.reply(status, answer, kind)

            def reply(self, status: int, body: bytes, kind: str = "application/json") -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                if upstream.encoding:
                    self.send_header("content-encoding", upstream.encoding)
                self.end_headers()
                self.wfile.write(body)
                self.close_connection = upstream.closes  # without saying so beforehand

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            def shutdown_request(self, request: Any) -> None:
                super().shutdown_request(request)
                upstream.ended += 1  # now the other side has been told

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/mcp"

    def wait_until_nobody_is_connected(self) -> None:
        """Return when the server's side of every connection has ended."""
        while self.ended < self.connections:
            time.sleep(0.001)

    def answer(self, asked: dict[str, Any]) -> tuple[int, bytes, str]:
        cached = {"ttlMs": 0, "cacheScope": "private"}
        match asked["method"]:
            case "server/discover":
                found: dict[str, Any] = {
                    "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}},
                    **cached,
                }
            case "tools/list":
                found = {"tools": TOOLS, **cached}
            case _ if asked["params"]["name"] == "html":
                return 200, b"<html>", "text/html"
            case _:
                size = 50_000_000 if asked["params"]["name"] == "huge" else 2
                found = {"content": [{"type": "text", "text": "h" * size}]}
        whole = {"jsonrpc": "2.0", "id": asked["id"], "result": {"resultType": "complete", **found}}
        return 200, json.dumps(whole).encode(), "application/json"


@contextmanager
def http_upstream(tls: ssl.SSLContext | None = None) -> Iterator[Upstream]:
    """Run one on loopback, over TLS if settings for it are given."""
    upstream = Upstream()
    if tls is not None:
        listener = upstream.server.socket
        upstream.server.socket = tls.wrap_socket(listener, server_side=True)
        upstream.url = upstream.url.replace("http:", "https:")
    with answering(upstream.server):
        try:
            yield upstream
        finally:
            upstream.answers.put(None)
