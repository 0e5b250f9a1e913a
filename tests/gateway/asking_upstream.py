"""A server of the older generation over HTTP that asks while its call runs."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, Queue
from typing import Any

from tests.scaffolding.server_threads import answering

FORM = {
    "message": "May I pay 20 euros?",
    "requestedSchema": {"type": "object", "properties": {"code": {"type": "string"}}},
}
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("pay", "twice", "quick")]
_QUESTIONS = {"pay": 1, "twice": 2, "quick": 0}


class AskingUpstream:
    """What it was asked to do, and the answers that it was given."""

    def __init__(self) -> None:  # noqa: C901 - a server that reads many kinds of messages
        self.calls: list[str] = []
        self.answers: list[Any] = []
        self._arrived: Queue[Any] = Queue()
        self.patience = 60.0
        self.tools: list[dict[str, Any]] = list(TOOLS)
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                match body.get("method"):
                    case "initialize":
                        self.reply(
                            body["id"],
                            {
                                "protocolVersion": "2025-11-25",
                                "capabilities": {"tools": {}},
                                "serverInfo": {"name": "shop", "version": "1"},
                            },
                        )
                    case "tools/list":
                        self.reply(body["id"], {"tools": upstream.tools})
                    case "tools/call":
                        self.work(body["id"], body["params"]["name"])
                    case None:
                        upstream._arrived.put(body.get("result"))
                        self.taken()
                    case _ if "id" in body:
                        error = {"code": -32601, "message": "no such method"}
                        self.send(json.dumps({"jsonrpc": "2.0", "id": body["id"], "error": error}))
                    case _:
                        self.taken()

            def work(self, id_: Any, tool: str) -> None:
                upstream.calls.append(tool)
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                for number in range(_QUESTIONS[tool]):
                    asked = {"id": f"q{number}", "method": "elicitation/create", "params": FORM}
                    self.event(asked)
                    try:
                        upstream.answers.append(upstream._arrived.get(timeout=upstream.patience))
                    except Empty:
                        upstream.answers.append(None)
                text = json.dumps(upstream.answers)
                self.event({"id": id_, "result": {"content": [{"type": "text", "text": text}]}})
                self.close_connection = True

            def event(self, message: dict[str, Any]) -> None:
                data = json.dumps({"jsonrpc": "2.0", **message})
                self.wfile.write(f"event: message\ndata: {data}\n\n".encode())
                self.wfile.flush()

            def reply(self, id_: Any, result: dict[str, Any]) -> None:
                self.send(json.dumps({"jsonrpc": "2.0", "id": id_, "result": result}))

            def send(self, text: str) -> None:
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def taken(self) -> None:
                self.send_response(202)
                self.send_header("content-length", "0")
                self.end_headers()

            def do_GET(self) -> None:
                self.send_error(405)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/mcp"


@contextmanager
def asking_upstream() -> Iterator[AskingUpstream]:
    """Run one on loopback."""
    upstream = AskingUpstream()
    with answering(upstream.server):
        yield upstream
