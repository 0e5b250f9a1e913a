"""A hosted server that repeats a recorded conversation over HTTP, as a server in Go would.

A file has one message a line: `{"note": …}` first, then `{"client": …}` with a request's method
and parameters and `{"server": …}` with its result. A request that was not recorded is an error.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Message = dict[str, Any]
_VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")


@dataclass(frozen=True)
class Recording:
    """A conversation, who may have it, and the headers of each request so far."""

    conversation: list[tuple[Message, Message]]
    token: str
    seen: list[dict[str, str]] = field(default_factory=list)

    def answer(self, message: Message) -> Message:
        """Return what was answered to a request; of the opening, only the method counts."""
        params = message.get("params", {})
        given = {name: each for name, each in params.items() if name != "_meta"}
        for request, reply in self.conversation:
            is_opening = request["method"] == "initialize"
            if request["method"] == message["method"] and (
                is_opening or request.get("params", {}) == given
            ):
                return {"result": reply}
        return {"error": {"code": -32601, "message": "Not in the recording"}}


class Handler(BaseHTTPRequestHandler):
    """Answers one request after the other from the recording."""

    protocol_version = "HTTP/1.1"
    recording: Recording

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.recording.seen.append({name.lower(): value for name, value in self.headers.items()})
        if self.headers.get("Authorization") != f"Bearer {self.recording.token}":
            self._say(401, b"unauthorized")
        elif self.headers.get("MCP-Protocol-Version", _VERSIONS[0]) not in _VERSIONS:
            self._say(400, b"Bad Request: Unsupported protocol version")
        elif "id" not in (message := json.loads(body)):
            self._say(202, b"")
        else:
            reply = {"jsonrpc": "2.0", "id": message["id"], **self.recording.answer(message)}
            event = f"event: message\ndata: {json.dumps(reply)}\n\n"
            self._say(200, event.encode(), "text/event-stream")

    def do_GET(self) -> None:
        self._say(405, b"")

    def do_DELETE(self) -> None:
        self._say(405, b"")

    def _say(self, status: int, body: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def recorded(file: Path, *, token: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Serve a recording to those who send the token; yield the URL, and each request's headers."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    asked = [line["client"] for line in lines if "client" in line]
    answered = [line["server"] for line in lines if "server" in line]
    recording = Recording(list(zip(asked, answered, strict=True)), token)
    handler = type("Handler", (Handler,), {"recording": recording})
    with serving_pages(handler) as url:
        yield f"{url}/mcp/", recording.seen


@contextmanager
def serving_pages(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve requests on loopback, and yield the URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
