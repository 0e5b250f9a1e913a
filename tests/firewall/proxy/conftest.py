"""A proxy before a server of bad manners, as a process of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.firewall.proxy.programs import ROOT, environment, proxied

ALLOW = '[[rule]]\naction = "allow"\ntool = "**"\n[[rule]]\naction = "allow"\nmethod = "**"\n'
SECONDS = 30  # what is broken hangs; what works takes a fraction of one


def _heeding() -> None:
    """Let signals count, also where the tests themselves run deaf to them, as under nohup."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Proxy:
    """The client's end of a conversation through a proxy."""

    def __init__(self, command: list[str], folder: Path, **pipes: Any) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(),
            preexec_fn=_heeding,
            **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **pipes},
        )

    def write(self, raw: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def send(self, id_: Any, method: str = "ping", params: Any = None) -> None:
        message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params or {}}
        self.write(json.dumps(message).encode() + b"\n")

    def call(self, id_: Any, **arguments: Any) -> None:
        self.send(id_, "tools/call", {"name": "work", "arguments": arguments})

    def line(self) -> bytes:
        assert self.process.stdout is not None
        line: bytes = self.process.stdout.readline()
        return line

    def message(self) -> Any:
        return json.loads(self.line())

    def asked(self, id_: Any, method: str = "ping", params: Any = None) -> Any:
        self.send(id_, method, params)
        return self.message()

    def rest(self) -> list[Any]:
        """Close the input and return what is still said."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.said()

    def said(self) -> list[Any]:
        """Return what is said until the end."""
        assert self.process.stdout is not None
        return [json.loads(line) for line in self.process.stdout.read().splitlines()]

    def code(self) -> int:
        return self.process.wait(SECONDS)


Start = Callable[..., Proxy]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a proxy before `odd_server.py MODE`."""
    opened: list[Proxy] = []

    def begin(mode: str, *arguments: str, policy: str = ALLOW, **pipes: Any) -> Proxy:
        (tmp_path / "policy.toml").write_text(policy)
        server = [
            sys.executable,
            "-I",
            "-S",
            str(ROOT / "tests" / "firewall" / "proxy" / "odd_server.py"),
        ]
        command = proxied([*server, mode, *arguments], tmp_path, "--name", "odd")
        opened.append(Proxy(command, tmp_path, **pipes))
        return opened[-1]

    yield begin
    for proxy in opened:
        if proxy.process.poll() is None:
            proxy.process.kill()
        proxy.process.wait(SECONDS)
        for pipe in (proxy.process.stdin, proxy.process.stdout, proxy.process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def is_running(pid: int) -> bool:
    """Tell whether a process runs; one that ended and that nobody asked about does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def ended(pid: int) -> bool:
    """Wait until a process has ended; False when it does not."""
    handle = os.pidfd_open(pid) if is_running(pid) else None
    if handle is None:
        return True
    import select

    try:
        return bool(select.select([handle], [], [], SECONDS)[0])
    finally:
        os.close(handle)


__all__ = ["ALLOW", "Proxy", "Start", "ended", "is_running"]
