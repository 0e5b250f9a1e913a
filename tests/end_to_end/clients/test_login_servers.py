"""Logins to servers of other people's SDKs, whose authorization servers let everybody in."""

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from infra.tools import programs
from nacre.gateway.login.logins import LoginServer
from tests.gateway.login.following import answer_of
from tests.scaffolding.gateway_world import world
from tests.scaffolding.third_party import NODE

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
EXAMPLES = NODE / "@modelcontextprotocol" / "sdk" / "dist" / "esm" / "examples" / "server"
BACK = "http://127.0.0.1:8765/callback"
Command = tuple[list[str], dict[str, str], str]


def fastmcp(port: int) -> Command:
    command = [programs("client-fastmcp") / "python", HERE / "fastmcp_login_server.py", port]
    return [str(part) for part in command], {}, f"http://127.0.0.1:{port}/mcp"


def typescript(port: int) -> Command:
    command = [NODE / ".bin" / "node", EXAMPLES / "simpleStreamableHttp.js", "--oauth"]
    ports = {"MCP_PORT": str(port), "MCP_AUTH_PORT": str(free_port())}
    return [str(part) for part in command], ports, f"http://localhost:{port}/mcp"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running(command: Command, port: int) -> Iterator[None]:
    """Run a server until the block ends, once it accepts connections."""
    arguments, variables, _ = command
    process = subprocess.Popen(
        arguments,
        env={**os.environ, **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while process.poll() is None:
            try:
                socket.create_connection(("localhost", port), timeout=1).close()
            except OSError:
                time.sleep(0.1)
            else:
                break
        yield
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("sdk", [fastmcp, typescript])
def test_a_server_of_another_sdk_is_logged_in_to_and_used(
    sdk: Callable[[int], Command], tmp_path: Path
) -> None:
    port = free_port()
    command = sdk(port)
    url = command[2]
    with running(command, port), world(tmp_path / "w", {"web": {"url": url}}) as gateway:
        logins, server = gateway.laptop.logins, LoginServer("web", url)
        begun = logins.begin("me", server, BACK)
        logins.finish("me", answer_of(begun.url, BACK))

        assert "mcp__web__greet" in gateway.tools()
        greeting = gateway.call("mcp__web__greet", name="Ann")["content"][0]["text"]
        assert greeting == "Hello, Ann!"
        login = logins.store.load("me", "web", url)
        assert login is not None
        if login.tokens.refresh is not None:  # the example of TypeScript gives none
            assert logins.renewed("me", server, login.tokens.access) != login.tokens.access
            assert gateway.call("mcp__web__greet", name="Ben")["content"][0]["text"].endswith(
                "Ben!"
            )
