"""A server with two tools: `big` returns 9 MB in one of some shapes, `echo` a word.

Over stdio; with `http`, on a port of 127.0.0.1 that it prints.
"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SIZE = 9_000_000
LINE = "A line of an ordinary log, with a number in it: 4711.\n"
ROWS = [
    {"id": number, "name": f"row {number}", "note": "an ordinary note"} for number in range(150_000)
]
SHAPES: dict[str, dict[str, Any]] = {
    "text": {"content": [{"type": "text", "text": LINE * (SIZE // len(LINE))}]},
    "items": {
        "content": [{"type": "text", "text": LINE * 20} for _ in range(SIZE // len(LINE) // 20)]
    },
    "rows": {"content": [], "structuredContent": {"rows": ROWS}},
}
SPELLED = {name: json.dumps(result) for name, result in SHAPES.items()}
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("big", "echo")]
OPENED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "big", "version": "1"},
}


def received(raw: bytes) -> dict[str, Any]:
    """Return a message; of a large call what the answer needs, because parsing takes long."""
    if len(raw) < 1_000_000:
        return dict(json.loads(raw))
    id_ = re.search(rb'"id": ?(\d+)', raw[:200])
    assert id_ is not None
    return {"id": int(id_[1]), "method": "tools/call", "params": {"name": "echo"}}


def answered(message: dict[str, Any]) -> bytes:
    """Return the answer to a request."""
    match message["method"]:
        case "initialize":
            result = json.dumps(OPENED)
        case "tools/list":
            result = json.dumps({"tools": TOOLS})
        case "tools/call" if message["params"]["name"] == "big":
            result = SPELLED[message["params"]["arguments"]["shape"]]
        case "tools/call":
            result = json.dumps({"content": [{"type": "text", "text": "hi"}]})
        case _:
            result = "{}"
    spelled_id = json.dumps(message["id"])
    return f'{{"jsonrpc":"2.0","id":{spelled_id},"result":{result}}}'.encode()


class Handler(BaseHTTPRequestHandler):
    """The same over HTTP: at `/events` as streams of events, else as JSON."""

    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # else an answer's body waits for the other side to have taken its head

    def do_POST(self) -> None:
        """Answer one message."""
        message = received(self.rfile.read(int(self.headers["content-length"])))
        body = answered(message) if "id" in message else b""
        kind = "application/json"
        if body and self.path == "/events":
            body, kind = b"event: message\ndata: " + body + b"\n\n", "text/event-stream"
        self.send_response(200 if body else 202)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    if "http" in sys.argv:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print(server.server_port, flush=True)
        server.serve_forever()
    for line in sys.stdin.buffer:
        asked = received(line)
        if "id" in asked:
            sys.stdout.buffer.write(answered(asked) + b"\n")
            sys.stdout.buffer.flush()
