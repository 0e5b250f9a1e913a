"""Servers of tools in the server's own process: a user's packages and files."""

import json
from pathlib import Path
from typing import Any

from nacre.protocol.principal import READ_ONLY
from tests.gateway_world import MODERN, world

GOOD = '''
from nacre import ToolServer, tool

server = ToolServer("notes", "1")


@server.register_tool
@tool(read_only=True)
async def find(word: str) -> str:
    """Find a note."""
    return f"found {word}"


@server.register_tool
@tool(blocking=True)
async def leak() -> str:
    """Say too much."""
    return "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@server.resource("notes://all")
async def everything() -> str:
    """All notes."""
    return "pearl"


@server.prompt()
async def ask(topic: str) -> str:
    """Ask about a topic."""
    return f"What of {topic}?"


def make() -> ToolServer:
    return server


nothing = 5
'''


def files(folder: Path, *names: str) -> dict[str, Any]:
    (folder / "good.py").write_text(GOOD)
    (folder / "broken.py").write_text("raise RuntimeError('my secret')\n")
    return {"tool_servers": tuple(f"{folder / name}" for name in names)}


def test_everything_of_a_server_is_served(tmp_path: Path) -> None:
    with world(tmp_path / "w", **files(tmp_path, "good.py:make")) as gateway:
        assert gateway.tools() == ["mcp__notes__find", "mcp__notes__leak"]
        found = gateway.call("mcp__notes__find", word="pearl")
        wrong = gateway.call("mcp__notes__find")
        read = gateway.ask("resources/read", {"uri": "notes://all"}, version=MODERN)
        asked = {"name": "mcp__notes__ask", "arguments": {"topic": "tea"}}
        prompt = gateway.ask("prompts/get", asked)
        records = [each for each in gateway.records() if each["outcome"] == "allow"]

    assert found["content"] == [{"type": "text", "text": "found pearl"}]
    assert "argument 'word' is missing" in wrong["content"][0]["text"]
    assert read["result"]["contents"][0]["text"] == "pearl"
    assert prompt["result"]["messages"][0]["content"]["text"] == "What of tea?"
    assert {each["server"] for each in records} == {"notes"}


def test_its_results_are_looked_at_like_any_other_servers(tmp_path: Path) -> None:
    with world(tmp_path / "w", **files(tmp_path, "good.py:server")) as gateway:
        gateway.tools()
        told = gateway.call("mcp__notes__leak")["content"][0]["text"]

    assert told.startswith("[redacted:")


def test_what_cannot_be_loaded_is_named_without_what_it_said(tmp_path: Path) -> None:
    wanted = files(tmp_path, "good.py:server", "good.py:nothing", "broken.py:server", "no.py:x")
    servers = (*wanted["tool_servers"], "no_such_module_of_mine:server", "nonsense")
    with world(tmp_path / "w", tool_servers=servers) as gateway:
        assert len(gateway.tools()) == 2
        missing = gateway.missing()

    assert len(missing) == 5
    assert "my secret" not in json.dumps(missing)
    assert "is no ToolServer, and makes none" in json.dumps(missing)
    assert "must be of the form MODULE:NAME or PATH.py:NAME" in json.dumps(missing)


def test_a_read_only_token_calls_what_a_setting_names(tmp_path: Path) -> None:
    calls = {"name": "mcp__notes__find", "arguments": {"word": "x"}}
    for read_tools, outcome in (((), "error"), (("mcp__notes__f*",), "result")):
        wanted = {**files(tmp_path, "good.py:server"), "read_tools": read_tools}
        with world(tmp_path / f"w{len(read_tools)}", **wanted) as gateway:
            assert outcome in gateway.ask("tools/call", calls, scopes=READ_ONLY)


def test_a_configured_server_of_the_same_name_is_left_out(tmp_path: Path) -> None:
    other = {"notes": {"command": "/no/such/program"}}
    with world(tmp_path / "w", other, **files(tmp_path, "good.py:server")) as gateway:
        assert len(gateway.tools()) == 2
        assert gateway.missing() == {"notes": "there are two servers of this name"}


def test_two_servers_whose_references_begin_alike_are_both_named(tmp_path: Path) -> None:
    folder = tmp_path / ("a" * 90)
    folder.mkdir()
    names = [f"{folder}/{name}.py:server" for name in ("first", "second")]
    with world(tmp_path / "w", tool_servers=tuple(names)) as gateway:
        missing = gateway.missing()

    assert sorted(missing) == sorted(names)
    assert all("is not there" in text for text in missing.values())


def test_a_list_that_lacks_a_server_is_kept_for_a_moment_only(tmp_path: Path) -> None:
    with world(tmp_path / "w", **files(tmp_path, "good.py:make")) as gateway:
        whole = gateway.ask("tools/list", version=MODERN)["result"]["ttlMs"]
    with world(tmp_path / "v", **files(tmp_path, "good.py:make", "broken.py:server")) as gateway:
        gateway.tools()
        for method in ("tools/list", "prompts/list", "resources/list"):
            answer = gateway.ask(method, version=MODERN)["result"]
            assert "nacre/missing" in answer["_meta"]
            assert answer["ttlMs"] == 5000

    assert whole == 300_000


def test_a_large_result_of_a_blocking_tool_is_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / "large.py").write_text(
        f"""{GOOD}

@server.register_tool
@tool(blocking=True)
async def large() -> str:
    return "words " * 100_000 + "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
"""
    )
    with world(tmp_path / "w", tool_servers=(f"{tmp_path}/large.py:server",)) as gateway:
        said = gateway.call("mcp__notes__large")["content"][0]["text"]

    assert said.endswith("words [redacted: github-token]")
