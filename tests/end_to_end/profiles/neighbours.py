"""Two servers of one Being in two profiles, and the holder of a token for one of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.scaffolding.gateway_world import MODERN, World, world

SERVER = '''
from nacre import ToolServer, tool

server = ToolServer("NAME", "1")


@server.register_tool
@tool(read_only=True)
async def find(word: str) -> str:
    """Find an entry of NAME."""
    return f"NAME has {word}"


@server.register_tool
@tool
async def change(word: str) -> str:
    """Change an entry of NAME."""
    return f"NAME changed {word}"


@server.resource("NAME://all")
async def everything() -> str:
    """All of NAME."""
    return "all that NAME has"


@server.resource_template("NAME://entries/{word}")
async def entry(word: str) -> str:
    """One entry of NAME."""
    return f"the {word} that NAME has"


@server.completion("word", template="NAME://entries/{word}")
async def words(typed: str) -> list[str]:
    return ["NAME-pearl"]


@server.prompt()
async def ask(topic: str) -> str:
    """Ask NAME."""
    return f"What has NAME of {topic}?"
'''

BOTH = """
[profile.home]
servers = ["garden"]

[[profile.home.rule]]
action = "allow"
tool = "find"

[[profile.home.rule]]
action = "allow"
tool = "change"

[[profile.home.rule]]
action = "allow"
method = "**"
"""
WORK = """
[profile.work]
servers = ["office", "nacre"]
tools = ["find", "recall"]

[[profile.work.rule]]
action = "allow"
tool = "**"
"""


@contextmanager
def neighbours(
    folder: Path, *servers: str, policy: str = BOTH + WORK, **settings: Any
) -> Iterator[World]:
    """Open a laptop with these servers, for a caller in the profile `home`."""
    folder.mkdir()
    for name in servers:
        (folder / f"{name}.py").write_text(SERVER.replace("NAME", name))
    files = tuple(f"{folder / name}.py:server" for name in servers)
    with world(folder / "w", policy=policy, tool_servers=files, **settings) as gateway:
        yield inside(gateway, "home")


def inside(gateway: World, profile: str, subject: str = "tok_home") -> World:
    """Return the same laptop for a caller in another profile."""
    principal = replace(gateway.principal, subject=subject, profile=profile)
    return replace(gateway, principal=principal)


def probes(server: str) -> list[tuple[str, dict[str, Any]]]:
    """Return a request to each surface that might tell something about a server."""
    tool, one = f"mcp__{server}__find", f"{server}://entries/pearl"
    calls: list[tuple[str, dict[str, Any]]] = [
        (tool, {"word": "pearl"}),
        (f"mcp__{server}__change", {"word": "pearl"}),
        (f"mcp__{server}__nothing", {}),
        ("find_tools", {"query": "find an entry"}),
        ("find_tools", {"server": server}),
        ("describe_tools", {"names": [tool]}),
        ("call_tool", {"name": tool, "arguments": {"word": "pearl"}}),
        ("call_reading_tool", {"name": tool, "arguments": {"word": "pearl"}}),
        ("get_context", {}),
        ("recall", {"message": server}),
        ("show_map", {}),
        ("show_approvals", {}),
    ]
    reads = [
        f"{server}://all",
        one,
        f"mcp://{server}/{server}%3A%2F%2Fall",
        "nacre://notes",
        "nacre://context/snapshot",
        "ui://nacre/approvals",
        f"nacre://results/{'0' * 32}",
    ]
    return [
        ("initialize", {"protocolVersion": "2025-11-25"}),
        ("server/discover", {}),
        ("tools/list", {}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("prompts/list", {}),
        *(("tools/call", {"name": name, "arguments": given}) for name, given in calls),
        *(("resources/read", {"uri": uri}) for uri in reads),
        ("prompts/get", {"name": f"mcp__{server}__ask", "arguments": {"topic": "tea"}}),
        ("prompts/get", {"name": "use-memory", "arguments": {}}),
        _completion({"type": "ref/prompt", "name": f"mcp__{server}__ask"}),
        _completion({"type": "ref/resource", "uri": f"{server}://entries/{{word}}"}),
        ("resources/subscribe", {"uri": f"{server}://all"}),
        ("tasks/get", {"taskId": "00000000-0000-4000-8000-000000000000"}),
    ]


def _completion(ref: dict[str, str]) -> tuple[str, dict[str, Any]]:
    return "completion/complete", {"ref": ref, "argument": {"name": "word", "value": ""}}


VIEWS = {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}}


def answers(gateway: World, server: str, version: str = MODERN) -> list[str]:
    """Return the answers to the probes, with the server's own name made the same for all."""
    return [
        gateway.answer(method, params, version=version, capabilities=VIEWS)
        .decode()
        .replace(server, "SERVER")
        for method, params in probes(server)
    ]
