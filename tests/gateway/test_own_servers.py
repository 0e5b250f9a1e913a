"""Servers of tools in the server's own process: a user's packages and files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from nacre import ToolServer, tool
from nacre.adapters.tool_servers import GROUP, announced
from nacre.protocol.principal import READ_ONLY
from tests.scaffolding.gateway_world import MODERN, world

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
    assert "is not a ToolServer and does not make one" in json.dumps(missing)
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
    assert all("was not found" in text for text in missing.values())


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


MIXED = '''
from __future__ import annotations

from nacre import Tool, ToolServer, tool

server = ToolServer("mixed", "1")


@server.register_tool
@tool
async def good(word: str) -> str:
    """Say a word."""
    return word


@server.register_tool
@tool
def not_async(word: str) -> str:
    return word


@server.register_tool
@tool(read_only=True)
async def unknown_type(word: Nowhere) -> str:
    return "x"


@server.register_tool
@tool
async def without_names(*words: str) -> str:
    return "x"


@server.register_tool
@tool(input_schema={"type": "array"})
async def wrong_schema() -> str:
    return "x"


@server.register_tool
@tool(no_such_option=1)
async def wrong_option() -> str:
    return "x"


@server.register_tool
@tool(meta={"a": {1}})
async def not_json() -> str:
    return "x"


@server.register_tool
async def undecorated(word: str) -> str:
    return word


@tool
def closed_later(word: str) -> str:
    return word


server.register_tool(closed_later.closed())


@server.prompt()
async def good_prompt(topic: str) -> str:
    return topic


@server.prompt()
def sync_prompt(topic: str) -> str:
    return topic


@server.resource("mixed://good")
async def good_resource() -> str:
    return "pearl"


@server.resource("mixed://wrong")
async def wrong_resource(word: str) -> str:
    return word


@server.resource_template("mixed://{day}")
async def wrong_template(night: str) -> str:
    return night


@server.register_tool
@tool(input_schema={"type": "object", "properties": {"a": {"type": "no such type"}}})
async def uncompiled(a: str) -> str:
    return "x"
'''
_LEFT_OUT = {
    "tool 'not-async'",
    "tool 'unknown-type'",
    "tool 'without-names'",
    "tool 'wrong-schema'",
    "tool 'wrong-option'",
    "tool 'not-json'",
    "tool 'undecorated'",
    "tool 'closed-later'",
    "prompt 'sync-prompt'",
    "resource 'mixed://wrong'",
    "resource template 'mixed://{day}'",
}


def test_a_wrong_definition_costs_itself_and_not_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mixed.py").write_text(MIXED)
    with world(tmp_path / "w", tool_servers=(f"{tmp_path}/mixed.py:server",)) as gateway:
        listed = gateway.tools()
        prompts = gateway.ask("prompts/list")["result"]["prompts"]
        resources = gateway.ask("resources/list")["result"]["resources"]
        answer = gateway.call("mcp__mixed__good", word="pearl")
        uncompiled = gateway.ask("tools/call", {"name": "mcp__mixed__uncompiled", "arguments": {}})
        missing = gateway.missing()
    log = capsys.readouterr().err

    assert listed == ["mcp__mixed__good", "mcp__mixed__uncompiled"]
    assert "mcp__mixed__good-prompt" in [each["name"] for each in prompts]
    assert "mixed://good" in [each["uri"] for each in resources]
    assert answer["content"][0]["text"] == "pearl"
    assert "pearl" not in json.dumps(uncompiled)
    for definition in _LEFT_OUT:
        assert definition in missing["mixed"]
        assert f"mixed: the {definition} is left out" in log
    assert "not_async must be an async function" in log
    assert "must be an async function" not in missing["mixed"]


BREAKS_AT_IMPORT = {
    "syntax": "def :\n",
    "import": "import no_such_module_of_mine\n",
    "name": "undefined\n",
    "exit": "import sys\nsys.exit(3)\n",
    "decorator": "from nacre import tool\n@tool(read_only=undefined)\nasync def f(): ...\n",
    "recursion": "def f(): f()\nf()\n",
    "encoding": "x = '\ud800'\n",
}


@pytest.mark.parametrize("name", BREAKS_AT_IMPORT)
def test_a_file_that_breaks_at_import_costs_that_file_only(tmp_path: Path, name: str) -> None:
    wanted = files(tmp_path, "good.py:server")
    broken = tmp_path / "breaks.py"
    broken.write_bytes(BREAKS_AT_IMPORT[name].encode("utf-8", "surrogatepass"))
    servers = (f"{broken}:server", *wanted["tool_servers"])
    with world(tmp_path / "w", tool_servers=servers) as gateway:
        assert len(gateway.tools()) == 2
        assert list(gateway.missing()) == [f"{broken}:server"]


def test_a_wrong_definition_is_still_an_error_where_nothing_is_loaded() -> None:
    server = ToolServer("s", "1")
    with pytest.raises(TypeError, match="must be an async function"):
        tool(cast("Any", print))
    with pytest.raises(TypeError, match="decorate it with @tool"):
        server.register_tool(cast("Any", print))


def test_a_wrong_definition_of_a_package_stays_named_when_a_file_is_loaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mixed_package_of_mine.py").write_text(MIXED)
    monkeypatch.syspath_prepend(tmp_path)
    wanted = files(tmp_path, "good.py:server")
    servers = ("mixed_package_of_mine:server", *wanted["tool_servers"])
    with world(tmp_path / "w", tool_servers=servers) as gateway:
        gateway.tools()
    (tmp_path / "good.py").write_text(f"{GOOD}\n# changed\n")
    with world(tmp_path / "v", tool_servers=servers) as gateway:
        assert "tool 'not-async'" in gateway.missing()["mixed"]


def test_a_folder_that_cannot_be_read_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, open_one = tmp_path / "closed", tmp_path / "open"
    info = open_one / "c-1.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text(f"[{GROUP}]\nx = y:z\n")
    closed.mkdir()
    iterdir = Path.iterdir

    def refusing(folder: Path) -> Iterator[Path]:
        if folder == closed:
            raise PermissionError(13, "Permission denied")
        return iter(list(iterdir(folder)))

    monkeypatch.setattr(Path, "iterdir", refusing)

    assert list(announced([str(closed), str(open_one)])) == ["y:z"]


READER = """
from pathlib import Path

from nacre import ToolServer, tool

server = ToolServer("mine", "1")


@server.register_tool
@tool
async def read(path: str) -> str:
    return Path(path).read_text()

"""
DENIED = """
[[rule]]
action = "deny"
tool = "*"
args."*" = "{folder}/secret/**"
[[rule]]
action = "allow"
tool = "**"
"""
ALLOWED = """
[[rule]]
action = "allow"
tool = "read"
server = "mine"
args.path = "{folder}/public/**"
"""


@pytest.mark.parametrize("policy", [DENIED, ALLOWED])
def test_links_are_followed_for_an_own_server(policy: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(READER)
    for name in ("public", "secret"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "text").write_text(f"the {name} text")
    (tmp_path / "public" / "link").symlink_to("../secret")
    rules = f"[settings]\nwait_seconds = 0\n{policy.format(folder=tmp_path)}"
    servers = (f"{tmp_path}/mine.py:server",)
    with world(tmp_path / "w", policy=rules, tool_servers=servers) as gateway:

        def read(path: str) -> str:
            return json.dumps(gateway.call("mcp__mine__read", path=path))

        assert "the public text" in read(f"{tmp_path}/public/text")
        for path in ("public/link/text", "secret/text", "public/../secret/text"):
            assert "Blocked by policy" in read(f"{tmp_path}/{path}")
        # The tool itself decides where a relative path begins, so nobody allows it unasked.
        assert "Approval needed" in read("text")
