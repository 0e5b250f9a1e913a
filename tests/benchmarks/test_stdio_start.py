"""From starting `nacre mcp-server` to its first list of tools, beside npm's server-memory."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.benchmarks.table import show

pytestmark = pytest.mark.benchmark

ROUNDS = 15
OURS_TO_PEER = 0.6
NODE_MODULES = Path(__file__).parents[2] / ".tools" / "node" / "node_modules"
PEER = NODE_MODULES / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js"


def milliseconds_to_tools(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Return how long a fresh process takes until it has listed its tools."""
    started = time.perf_counter()
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def send(method: str, params: dict[str, Any], request_id: int | None) -> None:
            message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
            if request_id is not None:
                message["id"] = request_id
            assert process.stdin is not None
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()

        client = {"name": "bench", "version": "1"}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        send("initialize", hello, 1)
        assert "result" in json.loads(process.stdout.readline())
        send("notifications/initialized", {}, None)
        send("tools/list", {}, 2)
        assert json.loads(process.stdout.readline())["result"]["tools"]
        elapsed = time.perf_counter() - started
        process.stdin.close()
        process.wait(30)
    return elapsed * 1000


@pytest.mark.skipif(not PEER.exists(), reason="make conformance installs the peer")
def test_it_lists_its_tools_in_three_fifths_of_the_peers_time(tmp_path: Path) -> None:
    node = (NODE_MODULES / ".bin" / "node").resolve()
    ours = {"PATH": "/usr/bin:/bin", "NACRE_HOME": str(tmp_path / "home")}
    theirs = {"PATH": "/usr/bin:/bin", "MEMORY_FILE_PATH": str(tmp_path / "memory.json")}
    ways = {
        "python -c pass": ([sys.executable, "-c", "pass"], ours),
        "nacre mcp-server": ([str(Path(sys.executable).with_name("nacre")), "mcp-server"], ours),
        "npm server-memory": ([str(node), str(PEER)], theirs),
    }
    samples: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS + 1):  # the first round makes the data folder and warms the caches
        for name, (command, environment) in ways.items():
            if name == "python -c pass":
                started = time.perf_counter()
                subprocess.run(command, env=environment, check=True)
                samples[name].append((time.perf_counter() - started) * 1000)
            else:
                samples[name].append(milliseconds_to_tools(command, environment))
    times = {name: median(values[1:]) for name, values in samples.items()}

    peer = times["npm server-memory"]
    rows = [(name, f"{t:.0f}", f"{t / peer:.2f}x") for name, t in times.items()]
    show("From start to tools/list over stdio", ("way", "ms", "to the peer"), rows)
    assert times["nacre mcp-server"] <= OURS_TO_PEER * peer
