"""Clients that give a call up: the official one of the older generation, and raw hang-ups."""

import http.client
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from infra.tools import programs
from nacre.being.application import Application
from nacre.core.logs import Log
from nacre.faces.http.laptop_server import asgi_app
from nacre.protocol.context import Context
from nacre.protocol.dispatch.request_state import RequestStates
from nacre.sdk.decorator import tool
from nacre.sdk.tool_server import ToolServer
from tests.end_to_end.conformance.faces import everybody
from tests.faces.http.test_laptop_server import modern_call
from tests.protocol.surface import KEYS, NOW
from tests.scaffolding.asgi_server import served

ROOT = Path(__file__).parents[3]
SECONDS = 60


class Costly:
    """A tool that costs money each time it goes round, until somebody stops it."""

    def __init__(self) -> None:
        self.begun, self.stopped = threading.Event(), threading.Event()
        self.rounds = 0
        self.server = ToolServer("test", "1")

        @tool(blocking=True)
        async def spend(context: Context) -> str:
            while not context.cancelled and self.rounds < 6000:
                self.rounds += 1
                context.progress(self.rounds)
                self.begun.set()
                time.sleep(0.01)
            self.stopped.set()
            return "stopped"

        self.server.register_tool(spend)

    @contextmanager
    def serve(self) -> Iterator[str]:
        app = Application(self.server, RequestStates(lambda: KEYS, lambda: NOW))
        with served(asgi_app(app, admit=everybody, log=Log(stream=StringIO()))) as url:
            yield url

    def is_over(self) -> bool:
        """Wait until it was stopped; whether nothing more was spent afterwards."""
        if not self.stopped.wait(SECONDS):
            return False
        return self.rounds < 6000


@pytest.mark.slow
@pytest.mark.parametrize("way", ["notification", "hang-up"])
def test_the_older_python_client_ends_a_call(way: str) -> None:
    costly = Costly()
    with costly.serve() as url:
        done = subprocess.run(
            [
                programs("client-v1") / "python",
                "-m",
                "tests.end_to_end.clients.v1_cancelling",
                url,
                way,
                "spend",
            ],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert costly.is_over()


def request(accept: str, *, modern: bool) -> tuple[bytes, dict[str, str]]:
    if modern:
        body, headers = modern_call("spend")
        message = json.loads(body)
        message["params"]["_meta"]["progressToken"] = "p"
        return json.dumps(message).encode(), {**headers, "accept": accept}
    params = {"name": "spend", "arguments": {}, "_meta": {"progressToken": "p"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(message).encode(), {"accept": accept}


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("modern", [True, False])
@pytest.mark.parametrize("accept", ["application/json, text/event-stream", "application/json"])
def test_a_connection_that_ends_stops_what_costs_money(
    accept: str, modern: bool, reset: bool
) -> None:
    costly = Costly()
    with costly.serve() as url:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.netloc, timeout=SECONDS)
        body, headers = request(accept, modern=modern)
        connection.request("POST", "/mcp", body, {**headers, "content-type": "application/json"})
        assert costly.begun.wait(SECONDS)
        assert connection.sock is not None
        if reset:
            linger = b"\x01\0\0\0\0\0\0\0"
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        connection.close()

        assert costly.is_over()
