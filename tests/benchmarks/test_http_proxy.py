"""A call through the HTTP reverse proxy, policy and audit on, beside npm's mcp-proxy."""

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import pytest

from infra.local_cloud import free_port
from tests.benchmarks.table import show
from tests.firewall.proxy.programs import NACRE, environment

pytestmark = pytest.mark.benchmark

ADDED_MICROSECONDS = 400.0
OURS_TO_PEER = 1.0
CALLS = 400
ROUNDS = 5
NULL = [sys.executable, str(Path(__file__).with_name("http_null.py"))]
NODE = Path(__file__).parents[2] / ".tools" / "node" / "node_modules" / ".bin"
HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
}
RULES = (
    """
[[rule]]
action = "deny"
tool = "*"
args.path = "/etc/**"
"""
    * 50
    + '[[rule]]\naction = "allow"\ntool = "add"\n'
)


@contextmanager
def running(command: list[str], port: int) -> Iterator[int]:
    process = subprocess.Popen(
        command,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port
    finally:
        process.kill()  # some linger until their connections have gone
        process.wait(10)


class Client:
    """A session over one connection that is kept."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.headers = dict(HEADERS)
        self.id = 0
        opening = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        }
        self.send("initialize", opening)
        self.headers["mcp-protocol-version"] = "2025-11-25"
        self.send("notifications/initialized", {}, is_request=False)
        self.send("tools/list", {})

    def send(self, method: str, params: object, *, is_request: bool = True) -> bytes:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if is_request:
            self.id += 1
            message["id"] = self.id
        self.connection.request("POST", "/mcp", json.dumps(message), self.headers)
        reply = self.connection.getresponse()
        body = reply.read()
        session = reply.headers.get("mcp-session-id")
        if session is not None:
            self.headers["mcp-session-id"] = session
        assert reply.status < 300, body
        assert not is_request or b'"result"' in body, body
        return body

    def microseconds(self) -> float:
        """Return the median of a round of calls."""
        taken: list[float] = []
        for _ in range(CALLS):
            began = time.perf_counter()
            body = self.send("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
            taken.append(time.perf_counter() - began)
            assert b"the sum is 3" in body
        return median(taken) * 1e6


def test_the_reverse_proxy_adds_little(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(RULES)
    null, own, peer = free_port(), free_port(), free_port()
    place = ["--data-dir", str(tmp_path / "data"), "--policy", str(tmp_path / "policy.toml")]
    ours = [*NACRE, "proxy", *place, "--url", f"http://127.0.0.1:{null}/mcp"]
    ours += ["--listen", f"127.0.0.1:{own}"]
    theirs = [str(NODE / "node"), str(NODE / "mcp-proxy"), "--host", "127.0.0.1"]
    theirs += ["--port", str(peer), "--", *NULL, "stdio"]
    with running([*NULL, "http", str(null)], null), running(ours, own):
        clients = {"direct": Client(null), "nacre proxy --listen": Client(own)}
        if (NODE / "mcp-proxy").exists():
            with running(theirs, peer):
                clients["npm mcp-proxy (no policy, stdio behind)"] = Client(peer)
                times = measured(clients)
        else:
            times = measured(clients)

    for client in clients.values():
        client.connection.close()
    direct = times["direct"]
    rows = [(name, f"{t:.0f}", f"{t - direct:.0f}") for name, t in times.items()]
    show("A call over HTTP, us, the best round's median", ("", "median", "added"), rows)
    added = times["nacre proxy --listen"] - direct
    assert added <= ADDED_MICROSECONDS
    for name, taken in times.items():
        if name.startswith("npm"):
            assert added <= OURS_TO_PEER * (taken - direct)


def measured(clients: dict[str, Client]) -> dict[str, float]:
    """Return the best of some rounds of each, which take turns."""
    rounds: dict[str, list[float]] = {name: [] for name in clients}
    for _ in range(ROUNDS + 1):
        for name, client in clients.items():
            rounds[name].append(client.microseconds())
    return {name: min(values[1:]) for name, values in rounds.items()}
