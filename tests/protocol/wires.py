"""One conversation over each face: what a client says, and what the server says to it.

A wire takes one message of the client and yields the server's messages that belong to it: for a
request its notifications, questions and response, for anything else nothing.
"""

import http.client
import json
import os
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from io import StringIO
from typing import Any, Protocol
from urllib.parse import urlsplit

from nacre.being.application import Application
from nacre.core.logs import Log
from nacre.faces.aws_lambda.mcp_http import mcp_handler
from nacre.faces.http.laptop_server import asgi_app
from nacre.faces.stdio.stdio_server import serve_stdio
from nacre.protocol.principal import FULL, Principal
from tests.scaffolding.asgi_server import served
from tests.scaffolding.lambda_events import BEING, EVENT_SHAPES, Event, LambdaContext, Sent, body_of

Message = dict[str, Any]
_CALLER = Principal("tok_1", BEING, FULL)
_VERSION = "io.modelcontextprotocol/protocolVersion"
_SECONDS = 60


class Wire(Protocol):
    """A connection of one client."""

    def say(self, message: Message) -> Iterator[Message]:
        """Send a message of the client; yield what the server says to it."""
        ...


class _Headers:
    """The headers of each message: a legacy client repeats the version it agreed on."""

    def __init__(self) -> None:
        self._agreed: str | None = None

    def of(self, message: Message) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        params = message.get("params", {})
        version = params.get("_meta", {}).get(_VERSION)
        if version is None:
            return headers | ({"MCP-Protocol-Version": self._agreed} if self._agreed else {})
        headers |= {"MCP-Protocol-Version": version, "Mcp-Method": message["method"]}
        if message["method"] in ("tools/call", "prompts/get"):
            headers["Mcp-Name"] = params["name"]
        elif message["method"] == "resources/read":
            headers["Mcp-Name"] = params["uri"]
        elif message["method"].startswith("tasks/"):
            headers["Mcp-Name"] = params["taskId"]
        return headers

    def learn(self, message: Message) -> Message:
        result = message.get("result")
        if isinstance(result, dict) and "protocolVersion" in result:
            self._agreed = result["protocolVersion"]
        return message


class HttpWire:
    """The laptop server on a socket; answers are read while they stream."""

    def __init__(self, url: str) -> None:
        self._where = urlsplit(url)
        self._headers = _Headers()

    def say(self, message: Message) -> Iterator[Message]:
        """Send one POST; the response is read as the caller asks for more."""
        connection = http.client.HTTPConnection(self._where.netloc, timeout=_SECONDS)
        connection.request("POST", self._where.path, json.dumps(message), self._headers.of(message))
        return self._read(connection)

    def _read(self, connection: http.client.HTTPConnection) -> Iterator[Message]:
        response = connection.getresponse()
        if response.getheader("content-type") == "text/event-stream":
            for line in response:
                if line.startswith(b"data:"):
                    yield self._headers.learn(json.loads(line.removeprefix(b"data:")))
        elif body := response.read():
            yield self._headers.learn(json.loads(body))
        connection.close()


class LambdaWire:
    """The MCP function, called in process with the events of one kind of front."""

    def __init__(
        self, handler: Callable[[Event, Any], Event], event_of: Callable[[Sent], Event]
    ) -> None:
        self._handler = handler
        self._event_of = event_of
        self._headers = _Headers()

    def say(self, message: Message) -> Iterator[Message]:
        """Call the handler; everything is there when it returns."""
        sent = Sent(headers=self._headers.of(message), body=json.dumps(message).encode())
        result = self._handler(self._event_of(sent), LambdaContext())
        body = body_of(result)
        if result["headers"].get("content-type") == "text/event-stream":
            lines = [line for line in body.splitlines() if line.startswith(b"data:")]
            bodies = [line.removeprefix(b"data:") for line in lines]
        else:
            bodies = [body] if body else []
        return iter([self._headers.learn(json.loads(one)) for one in bodies])


class StdioWire:
    """The stdio server between two pipes."""

    def __init__(self, to_server: Any, lines: "queue.Queue[bytes]") -> None:
        self._to_server = to_server
        self._lines = lines

    def say(self, message: Message) -> Iterator[Message]:
        """Write a line; the answers are read as the caller asks for more."""
        self._to_server.write(json.dumps(message).encode() + b"\n")
        self._to_server.flush()
        return self._read(message["id"]) if "method" in message and "id" in message else iter(())

    def _read(self, request_id: object) -> Iterator[Message]:
        while True:
            message: Message = json.loads(self._lines.get(timeout=_SECONDS))
            yield message
            if message.get("id") == request_id and "method" not in message:
                return


def _log() -> Log:
    return Log(stream=StringIO())


@contextmanager
def http_wire(app: Application) -> Iterator[Wire]:
    """Serve the application by the laptop face."""
    with served(asgi_app(app, admit=lambda *_: _CALLER, log=_log())) as url:
        yield HttpWire(url)


@contextmanager
def stdio_wire(app: Application) -> Iterator[Wire]:
    """Serve the application by the stdio face."""
    (server_in, client_out), (client_in, server_out) = os.pipe(), os.pipe()
    lines: queue.Queue[bytes] = queue.Queue()
    with (
        os.fdopen(server_in, "rb") as stdin,
        os.fdopen(server_out, "wb") as stdout,
        os.fdopen(client_in, "rb") as answers,
        os.fdopen(client_out, "wb") as to_server,
    ):

        def serve() -> None:
            serve_stdio(app, principal=_CALLER, stdin=stdin, stdout=stdout, log=_log())
            stdout.close()

        def read() -> None:
            for line in answers:
                lines.put(line)

        threads = [threading.Thread(target=serve), threading.Thread(target=read)]
        for thread in threads:
            thread.start()
        yield StdioWire(to_server, lines)
        to_server.close()
        for thread in threads:
            thread.join(_SECONDS)


def _lambda_wire(shape: str) -> Callable[[Application], AbstractContextManager[Wire]]:
    @contextmanager
    def wire(app: Application) -> Iterator[Wire]:
        yield LambdaWire(mcp_handler(app, log=_log()), EVENT_SHAPES[shape])

    return wire


WIRES: dict[str, Callable[[Application], AbstractContextManager[Wire]]] = {
    "http": http_wire,
    "stdio": stdio_wire,
    **{shape: _lambda_wire(shape) for shape in EVENT_SHAPES},
}
