"""Clients that are slow on purpose, before a real server with few descriptors."""

import contextlib
import json
import resource
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.conftest import Nacre, folder, nacre
from tests.cli.processes import Server, serving
from tests.end_to_end.attacks.rows import attack
from tests.end_to_end.faults.laptop import Caller, caller
from tests.scaffolding.waiting import until

__all__ = ["folder", "nacre"]

DESCRIPTORS = 1024
STALLED = 200
HALF_OPEN = 1100

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="reads a process in /proc"),
]


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    """Let the server start with 1,024 descriptors, and this process have what its clients need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < HALF_OPEN + 200:
        pytest.skip("this process may not open enough sockets")
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def opened(server: Server) -> int:
    return sum(1 for _ in Path(f"/proc/{server.process.pid}/fd").iterdir())


def memory(server: Server) -> int:
    """Return the most memory that the process has had, in MB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1024


def connect(server: Server, stack: ExitStack) -> socket.socket:
    parts = urlsplit(server.url)
    return stack.enter_context(
        socket.create_connection((parts.hostname or "", parts.port or 0), timeout=60)
    )


def serves(server: Server, ann: Caller) -> None:
    """Whoever has a token is served at once."""
    acknowledged, said = ann.call(server, "get_current_time")
    assert acknowledged, said


@attack("W1")
def test_bodies_of_strangers_that_stall_cost_next_to_nothing(nacre: Nacre) -> None:
    ann = caller(nacre)
    with serving() as server, ExitStack() as stack:
        serves(server, ann)
        before = memory(server)
        head = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4194304\r\n\r\n"
        for _ in range(STALLED):
            stranger = connect(server, stack)
            with contextlib.suppress(OSError):  # the server may have closed already
                stranger.sendall(head + b" " * 4_000_000)
            assert stranger.recv(12) == b"HTTP/1.1 401"
        serves(server, ann)

        assert memory(server) - before < 60


@attack("W2")
@pytest.mark.parametrize("connections", ["768", "5000"], ids=["counted", "no descriptor left"])
def test_more_half_open_heads_than_descriptors_keep_nobody_out(
    nacre: Nacre, monkeypatch: pytest.MonkeyPatch, few_descriptors: None, connections: str
) -> None:
    monkeypatch.setenv("NACRE_HTTP_CONNECTIONS", connections)
    ann = caller(nacre)
    with ExitStack() as stack:
        server = stack.enter_context(serving())
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, HALF_OPEN + 1000), hard))
        for _ in range(HALF_OPEN):
            with contextlib.suppress(OSError):
                connect(server, stack).sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        serves(server, ann)

        until(lambda: opened(server) < 100)  # once the time for a head is over
        serves(server, ann)
        code, _, err = server.stop(signal.SIGTERM)

    lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    assert code == 0
    assert len(lines) < 20
    assert any(line.get("said") == "a client was too slow: a head" for line in lines)
