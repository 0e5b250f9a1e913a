"""Somebody's server over HTTP, run for one test."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.scaffolding.third_party import NODE, Step, ThirdParty, everything_over_http, tool

SDK_SERVER = Path(__file__).with_name("sdk_http_server.py")
SDK = ThirdParty(
    "sdk",
    (),
    lambda folder: [
        Step("tools/list"),
        tool("add", a=1, b=2),
        tool("add", a="x"),
        tool("count", to=3),
        tool("greet"),
        tool("fail"),
        Step("resources/list"),
        Step("resources/read", {"uri": "note://one"}),
        Step("prompts/list"),
        Step("prompts/get", {"name": "ask", "arguments": {"topic": "tea"}}),
    ],
)


@contextmanager
def running(
    command: Sequence[str], port: int, folder: Path, variables: Mapping[str, str]
) -> Iterator[None]:
    """Run a server until it answers on its port, and end it and what it has started."""
    log = (folder.parent / f"{folder.name}-{port}.log").open("wb")
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, Path(log.name).read_text()
            time.sleep(0.1)
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.close()


@contextmanager
def serving(server: ThirdParty, transport: str, folder: Path, port: int) -> Iterator[str]:
    """Serve somebody's server over HTTP, and yield its URL."""
    variables = {**server.environment(folder), "PORT": str(port)}
    path = "/sse" if transport == "sse" else "/mcp"
    if server.name == "sdk":
        command = [sys.executable, str(SDK_SERVER), str(port)]
    elif server.name == "everything":
        command = everything_over_http("sse" if transport == "sse" else "streamableHttp")
    else:
        server.prepare(folder)
        bridge = str(NODE / ".bin" / "mcp-proxy")
        if not Path(bridge).exists():
            pytest.skip("mcp-proxy is not installed; make conformance does it")
        options = ["--host", "127.0.0.1", "--port", str(port), "--"]
        command = [str(NODE / ".bin" / "node"), bridge, *options, *server.command(folder)]
    with running(command, port, folder, variables):
        yield f"http://127.0.0.1:{port}{path}"
