"""How long one client's large call holds up the calls of others: gateway and proxies."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.benchmarks.table import show
from tests.benchmarks.test_big_results import MOST_MS, ROOT, big_server

pytestmark = pytest.mark.benchmark

RULES = """
[[rule]]
action = "allow"
tool = "mcp__big__echo"
[[rule]]
action = "allow"
tool = "**"
[[rule]]
action = "allow"
method = "**"
"""
_ID = re.compile(rb'"id": (\d+)')
NO_KEYS = '[[rule]]\naction = "deny"\ntool = "**"\nargs."*" = "**/.ssh/**"\n'
HEAD = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
SERVED = """
import sys
from pathlib import Path

from nacre.faces.http import laptop_server
from nacre.firewall.enforce import large_results
from tests.scaffolding.gateway_world import world

if sys.argv[2] == "inline":
    laptop_server._is_long_to_read = lambda body: False
    large_results.is_large = lambda value: False
SMALL = {"command": sys.executable, "args": ["tests/benchmarks/big_server.py"]}
servers = {"big": SMALL, "small": SMALL}
own = {"tool_servers": ("tests.benchmarks.own_counter:server",)}
with world(Path(sys.argv[1]), servers, policy=sys.argv[3], **own) as gateway:
    gateway.tools()
    with gateway.over_http() as url:
        print(url, flush=True)
        sys.stdin.read()
"""
INLINE = """
import sys
from nacre.firewall.enforce import guard
from nacre.cli.main import main

if sys.argv.pop(1) == "inline":
    guard.LARGE_RESULT_BYTES = 1 << 60
sys.exit(main(sys.argv[1:]))
"""


def arguments(shape: str, size: int) -> dict[str, Any]:
    """Return arguments of about so many bytes as JSON."""
    match shape:
        case "numbers":
            return {"values": [number % 1000 for number in range(size // 5)]}
        case "texts":
            return {"values": [f"text {number % 100000:05}" for number in range(size // 14)]}
        case "rows":
            rows = [{"id": n, "name": "an ordinary name", "on": True} for n in range(size // 56)]
            return {"rows": rows}
        case _:
            return {
                "text": "A line of an ordinary log, with a number in it: 4711.\n" * (size // 55)
            }


def body(id_: int, name: str, values: dict[str, Any]) -> bytes:
    params = {"name": name, "arguments": values}
    message = {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}
    return json.dumps(message).encode()


class OverHttp:
    """Callers of a URL, each with a connection."""

    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)
        self._own = threading.local()
        self._connections: list[HTTPConnection] = []

    def call(self, message: bytes) -> None:
        if not hasattr(self._own, "connection"):
            self._own.connection = HTTPConnection(str(self._parts.hostname), self._parts.port)
            self._connections.append(self._own.connection)
        headers = {**HEAD, "mcp-protocol-version": "2025-11-25"}
        self._own.connection.request("POST", self._parts.path, message, headers)
        response = self._own.connection.getresponse()
        answer = response.read()
        assert b"result" in answer, answer[:300]

    def close(self) -> None:
        for connection in self._connections:
            connection.close()


class OverStdio:
    """Calls through one pair of pipes; several wait at a time."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._lock = threading.Lock()
        self._waiting: dict[int, threading.Event] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def call(self, message: bytes) -> None:
        id_ = int(_ID.search(message)[1])  # type: ignore[index]  # it has one
        done = self._waiting[id_] = threading.Event()
        assert self._process.stdin is not None
        with self._lock:
            self._process.stdin.write(message + b"\n")
            self._process.stdin.flush()
        assert done.wait(120)

    def close(self) -> None:
        """End nothing: the process ends with its input."""

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._waiting[json.loads(line)["id"]].set()


@contextmanager
def started(*command: str) -> Iterator["subprocess.Popen[bytes]"]:
    env = {"PYTHONPATH": f"{ROOT}/shared:{ROOT}", "PATH": os.defpath, "HOME": os.devnull}
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=env,
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        process.kill()


@contextmanager
def gateway(folder: Path, way: str, rules: str) -> Iterator[OverHttp]:
    with started(sys.executable, "-c", SERVED, str(folder), way, rules) as process:
        assert process.stdout is not None
        yield OverHttp(process.stdout.readline().decode().strip())


def proxied(folder: Path, way: str, rules: str, *more: str) -> tuple[str, ...]:
    folder.mkdir(exist_ok=True)
    (folder / "policy.toml").write_text(rules)
    options = ("--policy", str(folder / "policy.toml"), "--data-dir", str(folder / "data"))
    return (sys.executable, "-c", INLINE, way, "proxy", *options, "--name", "big", *more)


@contextmanager
def stdio_proxy(folder: Path, way: str, rules: str) -> Iterator[OverStdio]:
    command = (sys.executable, "tests/benchmarks/big_server.py")
    with started(*proxied(folder, way, rules, "--", *command)) as process:
        yield OverStdio(process)


@contextmanager
def http_proxy(folder: Path, way: str, rules: str) -> Iterator[OverHttp]:
    with big_server() as address, ExitStack() as stack:
        more = ("--url", f"{address}/json", "--listen", "127.0.0.1:0")
        process = stack.enter_context(started(*proxied(folder, way, rules, *more)))
        assert process.stdout is not None
        yield OverHttp(process.stdout.readline().decode().strip())


def delays(caller: OverHttp | OverStdio, tools: tuple[str, str], values: dict[str, Any]) -> Any:
    """Return how long each small call took while a large one ran, and how long that took."""
    big, small = tools
    took: list[float] = []
    done = threading.Event()
    if big in BY_CALL_TOOL:
        values, big = {"name": BY_CALL_TOOL[big], "arguments": values}, "call_tool"
    large = body(3, big, values)
    caller.call(body(1, small, {}))
    caller.call(body(2, big, {**values, "shape": "small"}))

    ids = count(10)

    def others() -> None:
        while not done.is_set():
            began = time.perf_counter()
            caller.call(body(next(ids), small, {}))
            took.append((time.perf_counter() - began) * 1000)
            time.sleep(0.002)

    threads = [threading.Thread(target=others) for _ in range(2)]
    for each in threads:
        each.start()
    began = time.perf_counter()
    caller.call(large)
    whole = time.perf_counter() - began
    done.set()
    for each in threads:
        each.join()
    caller.close()
    return sorted(took), whole


WAYS = ("inline", "helper")
BY_CALL_TOOL = {"through call_tool": "mcp__big__echo"}
FACES: dict[str, tuple[Callable[..., Any], int, tuple[str, str]]] = {
    "gateway": (gateway, 9_000_000, ("mcp__big__echo", "mcp__small__echo")),
    "call_tool": (gateway, 9_000_000, ("through call_tool", "mcp__small__echo")),
    "serve": (gateway, 9_000_000, ("recall", "mcp__small__echo")),
    "own tools": (gateway, 9_000_000, ("mcp__mine__count", "mcp__small__echo")),
    "proxy, stdio": (stdio_proxy, 9_000_000, ("echo", "echo")),
    "proxy, HTTP": (http_proxy, 9_000_000, ("echo", "echo")),
}


# Where rules read every value as a path, the server itself would take minutes.
CASES = (
    *((shape, way, "") for shape in ("text", "numbers", "texts", "rows") for way in WAYS),
    ("rows", "helper", NO_KEYS),
)


@pytest.mark.parametrize("face", FACES)
def test_a_large_call_holds_up_no_other(face: str, tmp_path: Path) -> None:
    rows, late = [], {}
    opened, size, tools = FACES[face]
    for number, (shape, way, rule) in enumerate(CASES):
        with opened(tmp_path / str(number), way, rule + RULES) as caller:
            took, whole = delays(caller, tools, arguments(shape, size))
        p99 = took[int(len(took) * 0.99)]
        rules = "paths" if rule else "all"
        rows.append((shape, rules, way, f"{p99:.0f}", f"{took[-1]:.0f}", f"{whole:.2f}"))
        if way == "helper" and p99 > MOST_MS:
            late[shape, rules] = p99

    header = (
        f"{size // 1_000_000} MB of",
        "rules",
        "read",
        "others' p99 ms",
        "longest ms",
        "itself s",
    )
    show(f"Calls beside a large call: {face}", header, rows)
    assert late == {}
