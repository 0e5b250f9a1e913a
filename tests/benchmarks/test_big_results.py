"""How long one server's 9 MB hold up the calls of others, behind one gateway."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.benchmarks.processes import served_by
from tests.benchmarks.table import show

pytestmark = pytest.mark.benchmark

ROOT = Path(__file__).parents[2]
MOST_MS = 50.0
LONGEST_MS = 100.0
ROUNDS = 1
OVER = {"": None, "HTTP": "/json", "HTTP with events": "/events"}
SERVE = """
import sys
from pathlib import Path

from nacre.adapters.mcp import large_answers as upstream_large
from nacre.firewall.entry import mounted_content as mounted
from tests.scaffolding.gateway_world import EVERYTHING_GOES, world

SMALL = {"command": sys.executable, "args": ["tests/benchmarks/big_server.py"]}
BIG = {"url": sys.argv[4]} if sys.argv[4] else SMALL
if sys.argv[2] == "inline":
    mounted.is_large = lambda value: False
    upstream_large.LARGE_RESULT_BYTES = 1 << 60
policy = EVERYTHING_GOES + sys.argv[3]
with world(Path(sys.argv[1]), {"big": BIG, "small": SMALL}, policy=policy) as gateway:
    gateway.tools()
    with gateway.over_http() as url:
        print(url, flush=True)
        sys.stdin.read()
"""
SCANNED = '[injection]\nsources = ["result", "sampling", "definition", "elicitation"]\n'


@contextmanager
def big_server() -> Iterator[str]:
    """Run the big server over HTTP, and yield its address."""
    line = [sys.executable, "tests/benchmarks/big_server.py", "http"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.kill()


class Caller:
    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)
        self._connection = HTTPConnection(str(self._parts.hostname), self._parts.port)

    def call(self, tool: str, **arguments: Any) -> int:
        params = {"name": tool, "arguments": arguments}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2025-11-25",
        }
        self._connection.request("POST", self._parts.path, body, headers)
        return len(self._connection.getresponse().read())

    def close(self) -> None:
        self._connection.close()


def delays(url: str, shape: str) -> tuple[list[float], float]:
    """Return how long each small call took while big ones ran, and how long those took."""
    took: list[float] = []
    done = threading.Event()

    def small() -> None:
        caller = Caller(url)
        caller.call("mcp__small__echo")
        while not done.is_set():
            began = time.perf_counter()
            caller.call("mcp__small__echo")
            took.append((time.perf_counter() - began) * 1000)
            time.sleep(0.002)
        caller.close()

    callers = [threading.Thread(target=small) for _ in range(2)]
    big = Caller(url)
    assert big.call("mcp__big__big", shape=shape) > 8_000_000
    for each in callers:
        each.start()
    began = time.perf_counter()
    for _ in range(ROUNDS):
        big.call("mcp__big__big", shape=shape)
    whole = (time.perf_counter() - began) / ROUNDS
    done.set()
    big.close()
    for each in callers:
        each.join()
    return sorted(took), whole


# In the server itself, a scan for instructions would take minutes.
CASES = (
    ("text", "", "inline", ""),
    ("items", "", "inline", ""),
    ("rows", "", "inline", ""),
    *((shape, "", "helper", over) for shape in ("text", "items", "rows") for over in OVER),
    ("text", SCANNED, "helper", ""),
)


def test_a_big_result_of_one_server_holds_up_no_other(tmp_path: Path) -> None:
    rows, late = [], {}
    with big_server() as address:
        for number, (shape, policy, way, over) in enumerate(CASES):
            path = OVER[over]
            url = "" if path is None else address + path
            with served_by(SERVE, str(tmp_path / str(number)), way, policy, url) as (_, served):
                took, whole = delays(served, shape)
            p99 = took[int(len(took) * 0.99)]
            checks = "and instructions" if policy else "secrets"
            figures = (f"{p99:.0f}", f"{took[-1]:.0f}", f"{whole:.2f}")
            rows.append((shape, over or "stdio", checks, way, *figures))
            if way == "helper" and (p99 > MOST_MS or took[-1] > LONGEST_MS):
                late[shape, over, checks] = (p99, took[-1])

    header = ("9 MB of", "over", "checks", "screened", "others' p99 ms", "longest ms", "itself s")
    show("Calls of other servers beside a 9 MB result", header, rows)
    assert late == {}
