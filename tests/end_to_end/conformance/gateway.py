"""A small HTTP server that does to a Lambda handler what API Gateway does.

Each request becomes an HTTP API event, with the authorizer's context for a caller that may do
everything. Like an API Gateway domain it serves its own host name only, and like one execution
environment of Lambda it runs one event at a time.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.scaffolding.lambda_events import Event, LambdaContext, Sent, body_of, http_api_event
from tests.scaffolding.server_threads import answering

Handler = Callable[[Event, Any], Event]


@contextmanager
def gateway(handler: Handler) -> Iterator[str]:
    """Serve the handler on loopback and yield its MCP URL."""
    lock = threading.Lock()

    class Front(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if self.headers.get("host") != address:
                self.reply(403, {"content-type": "application/json"}, b'{"message":"Forbidden"}')
                return
            headers: dict[str, str] = {}
            for name, raw in self.headers.items():
                lower, value = name.lower(), raw.strip(" \t")
                headers[lower] = f"{headers[lower]},{value}" if lower in headers else value
            event = http_api_event(Sent(self.command, self.path, headers, body))
            with lock:
                result = handler(event, LambdaContext())
            self.reply(result["statusCode"], result.get("headers", {}), body_of(result))

        do_POST = do_GET = do_DELETE = do_OPTIONS = do_PUT = answer  # noqa: N815

        def reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: the tests look at the answers."""

    class Gateway(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            # Clients hang up when they have what they want.
            if not isinstance(sys.exception(), ConnectionError):
                super().handle_error(request, client_address)

    server = Gateway(("127.0.0.1", 0), Front)
    address = f"127.0.0.1:{server.server_port}"
    with answering(server):
        yield f"http://{address}/mcp"
