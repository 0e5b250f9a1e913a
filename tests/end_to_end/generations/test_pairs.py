"""Clients and servers of both generations behind each form of the proxy, as the SDKs have them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from infra.local_cloud import free_port
from infra.tools import programs
from tests.end_to_end.clients.far_servers import running
from tests.firewall.proxy.programs import NACRE, environment, proxied
from tests.scaffolding.gateway_world import EVERYTHING_GOES
from tests.scaffolding.third_party import Step, tool
from tests.scaffolding.third_party_clients import (
    seen_by_first_generation,
    seen_over_http,
    seen_over_stdio,
)

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
POLICY = f"""
[[rule]]
action = "deny"
tool = "fail"
{EVERYTHING_GOES}
[settings]
pins = "record"
"""
CLIENTS = ("1", "legacy", "auto", "2026-07-28")
SERVERS = ("older", "newer")
FORMS = ("stdio", "--url", "--listen")
SECRET = "AKIA" + "IOSFODNN7EXAMPLE"
STEPS = [
    Step("tools/list"),
    Step("resources/list"),
    Step("resources/templates/list"),
    Step("prompts/list"),
    tool("add", a=1, b=2),
    tool("count", to=2),
    tool("greet"),
    tool("interview"),
    tool("fail"),
    tool("echo", text=SECRET),
    Step("resources/read", {"uri": "note://one"}),
    Step("resources/read", {"uri": "note://two"}),
    Step("prompts/get", {"name": "ask", "arguments": {"topic": "tea"}}),
]


def command_of(server: str, *arguments: str) -> list[str]:
    """Return the command that starts a server of one generation."""
    python = programs("client-v1") / "python" if server == "older" else sys.executable
    return [str(python), str(HERE / f"{server}_server.py"), *arguments]


@contextmanager
def served(server: str, folder: Path) -> Iterator[str]:
    """Serve over HTTP and yield the URL."""
    port = free_port()
    with running(command_of(server, str(port)), port, folder, environment()):
        yield f"http://127.0.0.1:{port}/mcp"


@contextmanager
def listening(url: str, folder: Path) -> Iterator[str]:
    """Put a reverse proxy before a URL, and yield its own."""
    port = free_port()
    options = ["--data-dir", str(folder / "data"), "--policy", str(folder / "policy.toml")]
    command = [*NACRE, "proxy", *options, "--url", url, "--listen", f"127.0.0.1:{port}"]
    with running(command, port, folder, environment()):
        yield f"http://127.0.0.1:{port}/mcp"


def seen_through_program(client: str, command: list[str]) -> list[Any]:
    if client == "1":
        steps = [asdict(step) for step in STEPS]
        return seen_by_first_generation({"command": command, "env": environment(), "steps": steps})
    return seen_over_stdio(command, environment(), STEPS, mode=client)


def seen_at(client: str, url: str) -> list[Any]:
    if client == "1":
        return seen_by_first_generation({"url": url, "steps": [asdict(step) for step in STEPS]})
    return seen_over_http(url, STEPS, mode=client)


def seen(client: str, server: str, form: str, folder: Path) -> list[Any]:
    """Return what a client sees of a server behind a form of the proxy."""
    (folder / "policy.toml").write_text(POLICY)
    if form == "stdio":
        return seen_through_program(client, proxied(command_of(server, "stdio"), folder))
    place = folder / "server"
    place.mkdir()
    with served(server, place) as url:
        if form == "--listen":
            with listening(url, folder) as own:
                return seen_at(client, own)
        options = ["--data-dir", str(folder / "data"), "--policy", str(folder / "policy.toml")]
        return seen_through_program(client, [*NACRE, "proxy", *options, "--url", url])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_uses_every_server(
    client: str, server: str, form: str, tmp_path: Path
) -> None:
    opened, *results = seen(client, server, form, tmp_path)
    by_step = {str(step): each for step, each in zip(STEPS, results, strict=True)}

    def text_of(step: str) -> str:
        content = by_step[f"tools/call {step}"]["result"]["content"]
        return str(content[0]["text"])

    expected = "2026-07-28" if client in ("auto", "2026-07-28") else "2025-11-25"
    assert opened.get("version", opened.get("protocolVersion")) == expected
    tools = {each["name"] for each in by_step["tools/list"]["result"]["tools"]}
    assert {"add", "count", "greet", "interview"} <= tools
    assert "fail" not in tools
    assert by_step["resources/list"]["result"]["resources"][0]["uri"] == "note://one"
    assert by_step["prompts/list"]["result"]["prompts"][0]["name"] == "ask"
    assert text_of("add") == "3"
    assert by_step["tools/call count"]["progress"] == [[1, 2, "step 1"], [2, 2, "step 2"]]
    assert text_of("greet") == "Hello Ann"
    assert text_of("interview") == "Ann, Ann: asked: a poem 1"
    assert text_of("fail").startswith("Blocked by policy")
    assert by_step["tools/call fail"]["result"]["isError"] is True
    assert SECRET not in text_of("echo")
    (contents,) = by_step["resources/read note://one"]["result"]["contents"]
    assert contents["text"] == "the first note"
    assert "Unknown resource" in by_step["resources/read note://two"]["message"]
    (message,) = by_step["prompts/get ask"]["result"]["messages"]
    assert message["content"]["text"] == "What of tea?"
