"""A server that writes each call that it gets to a file, byte for byte, and answers `done`.

Run as `recording_upstream.py FILE` over stdio, or with `http` on a port of 127.0.0.1, which it
prints.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PLAIN = {
    "name": "t",
    "inputSchema": {"type": "object", "properties": {"folder": {"type": "string"}}},
}
OPENED: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "recording", "version": "1"},
}


def answered(raw: bytes, file: Path) -> bytes:
    """Return the answer to a message; b"" if it wants none."""
    message = json.loads(raw)
    if "id" not in message:
        return b""
    result: dict[str, Any] = {}
    match message["method"]:
        case "initialize":
            result = OPENED
        case "tools/list":
            result = {"tools": [PLAIN]}
        case "tools/call":
            with file.open("ab") as lines:
                lines.write(raw.strip() + b"\n")
            result = {"content": [{"type": "text", "text": "done"}]}
        case _:
            pass
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()


class Handler(BaseHTTPRequestHandler):
    """The same over HTTP."""

    protocol_version = "HTTP/1.1"
    wbufsize = 65536

    def do_POST(self) -> None:
        """Answer one message."""
        raw = self.rfile.read(int(self.headers["content-length"]))
        body = answered(raw, Path(sys.argv[1]))
        self.send_response(200 if body else 202)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def recording(file: Path, over: str) -> Iterator[dict[str, Any]]:
    """Yield the configuration of a recording server."""
    command = [sys.executable, __file__, str(file)]
    if over == "stdio":
        yield {"command": command[0], "args": command[1:]}
        return
    with subprocess.Popen([*command, "http"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield {"url": f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"}
        finally:
            process.kill()


if __name__ == "__main__":
    if "http" in sys.argv:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print(server.server_port, flush=True)
        server.serve_forever()
    for line in sys.stdin.buffer:
        if answer := answered(line, Path(sys.argv[1])):
            sys.stdout.buffer.write(answer + b"\n")
            sys.stdout.buffer.flush()
