"""Other people's MCP servers, what to ask each of them, and how two runs are compared.

`make conformance` installs those from npm; those from PyPI are installed on first use.
Only the standard library is imported, so that other Pythons can read this file.
"""

import base64
import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
NODE = ROOT / ".tools" / "node" / "node_modules"


@dataclass(frozen=True)
class Step:
    """One request of a conversation."""

    method: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        named = self.params.get("name") or self.params.get("uri") or ""
        return f"{self.method} {named}".strip()


@dataclass(frozen=True)
class ThirdParty:
    """A server over stdio: how it is started in a folder, and what it is asked there."""

    name: str
    program: tuple[str, ...]
    steps: Callable[[Path], Sequence[Step]]
    prepare: Callable[[Path], None] = lambda folder: None
    arguments: Callable[[Path], Sequence[str]] = lambda folder: ()
    variables: Callable[[Path], Mapping[str, str]] = lambda folder: {}
    timed: bool = False  # its answers say what time it is

    def command(self, folder: Path) -> list[str]:
        """Return the command line; skips the test where the server cannot be had."""
        return [*_program(self.program), *self.arguments(folder)]

    def environment(self, folder: Path) -> dict[str, str]:
        """Return the whole environment to start it in."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return {**kept, "LANG": "C.UTF-8", **self.variables(folder)}


def everything_over_http(kind: str) -> list[str]:
    """Return the command of `everything` over HTTP at $PORT; `streamableHttp` or `sse`."""
    return [*_program(("npm", "mcp-server-everything")), kind]


def tool(name: str, **arguments: Any) -> Step:
    """Return the call of a tool."""
    return Step("tools/call", {"name": name, "arguments": arguments})


# What is asked of each.


def _everything(folder: Path) -> list[Step]:
    del folder
    return [
        Step("tools/list"),
        Step("resources/list"),
        Step("resources/templates/list"),
        Step("prompts/list"),
        Step("ping"),
        tool("echo", message='one\n"two" \u00e9\u2028 \U0001f600 \\u0000'),
        tool("echo", message="x" * 100_000),
        tool("echo"),
        tool("echo", message=5),
        tool("get-sum", a=2, b=0.5),
        tool("get-sum", a=9007199254740993, b=-1e21),
        tool("get-annotated-message", messageType="error", includeImage=True),
        tool("get-env"),
        tool("get-resource-links", count=2),
        tool("get-resource-reference", resourceType="Text", resourceId=1),
        tool("get-structured-content", location="Chicago"),
        tool("get-tiny-image"),
        tool("trigger-long-running-operation", duration=0.2, steps=2),
        tool("trigger-sampling-request", prompt="Say something", maxTokens=10),
        tool("trigger-elicitation-request"),
        tool("get-roots-list"),
        tool("no-such-tool"),
        Step("resources/read", {"uri": "demo://resource/static/document/architecture.md"}),
        Step("resources/read", {"uri": "demo://resource/dynamic/text/1"}),
        Step("resources/read", {"uri": "demo://resource/dynamic/blob/2"}),
        Step("resources/read", {"uri": "demo://no/such"}),
        Step("prompts/get", {"name": "simple-prompt"}),
        Step("prompts/get", {"name": "args-prompt", "arguments": {"city": "Oslo"}}),
        Step("prompts/get", {"name": "args-prompt"}),
        Step(
            "prompts/get",
            {
                "name": "resource-prompt",
                "arguments": {"resourceType": "Text", "resourceId": "1"},
            },
        ),
        Step(
            "completion/complete",
            {
                "ref": {"type": "ref/prompt", "name": "completable-prompt"},
                "argument": {"name": "department", "value": "E"},
            },
        ),
    ]


def _files(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "a.txt").write_text("first\nsecond\nthird\n")
    (folder / "deep" / "b.md").write_text("# Title\n")
    (folder / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00")


def _filesystem(folder: Path) -> list[Step]:
    here = str(folder)
    edit = [{"oldText": "second", "newText": "zweite"}]
    return [
        Step("tools/list"),
        tool("list_allowed_directories"),
        tool("read_text_file", path=f"{here}/a.txt"),
        tool("read_text_file", path=f"{here}/a.txt", head=1),
        tool("read_text_file", path=f"{here}/../outside.txt"),
        tool("read_text_file", path=f"{here}/none.txt"),
        tool("read_text_file"),
        tool("read_media_file", path=f"{here}/dot.png"),
        tool("read_multiple_files", paths=[f"{here}/a.txt", f"{here}/none.txt"]),
        tool("write_file", path=f"{here}/new.txt", content="written \u00e9\n"),
        tool("edit_file", path=f"{here}/a.txt", edits=edit, dryRun=True),
        tool("edit_file", path=f"{here}/a.txt", edits=edit),
        tool("read_text_file", path=f"{here}/a.txt"),
        tool("create_directory", path=f"{here}/deep/er"),
        tool("list_directory", path=here),
        tool("directory_tree", path=here),
        tool("move_file", source=f"{here}/new.txt", destination=f"{here}/deep/moved.txt"),
        tool("search_files", path=here, pattern="**/*.txt"),
        tool("no_such_tool"),
        Step("resources/list"),
    ]


def _memory(folder: Path) -> list[Step]:
    del folder
    ann = {"name": "Ann", "entityType": "person", "observations": ["likes tea"]}
    oslo = {"name": "Oslo", "entityType": "city", "observations": []}
    lives = {"from": "Ann", "to": "Oslo", "relationType": "lives in"}
    return [
        Step("tools/list"),
        Step("resources/list"),
        tool("create_entities", entities=[ann, oslo]),
        tool("create_relations", relations=[lives]),
        tool("add_observations", observations=[{"entityName": "Ann", "contents": ["sails"]}]),
        tool("add_observations", observations=[{"entityName": "Bob", "contents": ["x"]}]),
        tool("read_graph"),
        tool("search_nodes", query="tea"),
        tool("open_nodes", names=["Oslo"]),
        Step("resources/read", {"uri": "memory://knowledge-graph"}),
        tool("delete_relations", relations=[lives]),
        tool("delete_entities", entityNames=["Ann"]),
        tool("read_graph"),
        tool("create_entities", entities="wrong"),
        Step("prompts/list"),
    ]


# The same commits in every run.
_GIT = {
    "GIT_AUTHOR_DATE": "2026-01-02T03:04:05",
    "GIT_COMMITTER_DATE": "2026-01-02T03:04:05",
    "TZ": "UTC",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}
_REPOSITORY = (
    "init -q -b main",
    "config user.name Ann",
    "config user.email ann@example.com",
    "add a.txt",
    "commit -q -m Begin",
)


def prepare_repository(folder: Path) -> dict[str, str]:
    """Make a repository with one commit and a change; return the variables for git there."""
    (folder / "a.txt").write_text("first\n")
    for line in _REPOSITORY:
        subprocess.run(["git", *line.split()], cwd=folder, env={**os.environ, **_GIT}, check=True)
    (folder / "a.txt").write_text("first\nsecond\n")
    return _GIT


def _repository(folder: Path) -> None:
    prepare_repository(folder)


def _git(folder: Path) -> list[Step]:
    here = str(folder)
    return [
        Step("tools/list"),
        tool("git_status", repo_path=here),
        tool("git_diff_unstaged", repo_path=here),
        tool("git_add", repo_path=here, files=["a.txt"]),
        tool("git_diff_staged", repo_path=here),
        tool("git_commit", repo_path=here, message="Add a line\n\nwith a body"),
        tool("git_log", repo_path=here, max_count=2),
        tool("git_show", repo_path=here, revision="HEAD"),
        tool("git_create_branch", repo_path=here, branch_name="side"),
        tool("git_checkout", repo_path=here, branch_name="side"),
        tool("git_branch", repo_path=here, branch_type="local"),
        tool("git_diff", repo_path=here, target="HEAD~1"),
        tool("git_reset", repo_path=here),
        tool("git_status", repo_path=f"{here}/none"),
        tool("git_status"),
        tool("no_such_tool"),
        Step("prompts/list"),
        Step("resources/list"),
    ]


def _time(folder: Path) -> list[Step]:
    del folder
    oslo, tokyo = "Europe/Oslo", "Asia/Tokyo"
    return [
        Step("tools/list"),
        tool("get_current_time", timezone=oslo),
        tool("convert_time", source_timezone=oslo, time="16:30", target_timezone=tokyo),
        tool("convert_time", source_timezone=oslo, time="25:99", target_timezone=tokyo),
        tool("get_current_time", timezone="No/Where"),
        tool("get_current_time"),
        Step("prompts/list"),
    ]


SERVERS: Mapping[str, ThirdParty] = {
    server.name: server
    for server in (
        ThirdParty("everything", ("npm", "mcp-server-everything"), _everything, timed=True),
        ThirdParty(
            "filesystem",
            ("npm", "mcp-server-filesystem"),
            _filesystem,
            prepare=_files,
            arguments=lambda folder: [str(folder)],
        ),
        ThirdParty(
            "memory",
            ("npm", "mcp-server-memory"),
            _memory,
            variables=lambda folder: {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
        ),
        ThirdParty(
            "git",
            ("third-party", "mcp-server-git"),
            _git,
            prepare=_repository,
            variables=lambda folder: _GIT,
        ),
        ThirdParty("time", ("third-party", "mcp-server-time"), _time, timed=True),
    )
}


# How two runs are compared.


def differences(
    server: ThirdParty,
    steps: Sequence[Step],
    direct: tuple[Path, Sequence[Any]],
    proxied: tuple[Path, Sequence[Any]],
) -> list[str]:
    """Return what a client saw otherwise: one line for each step; each run has its own folder.

    A client of both generations takes the newer one behind a proxy, which translates for an older
    server. Then what is only of that generation does not count, nor does the last progress: this
    client drops what arrives together with the result.
    """
    assert len(direct[1]) == len(proxied[1]) == len(steps)
    versions = [run[1][0].get("version") for run in (direct, proxied)]
    is_translated = versions[1] == _NEWER and versions[0] != _NEWER
    found: list[str] = []
    for step, left, right in zip(steps, direct[1], proxied[1], strict=True):
        if is_translated and step.method == "ping":  # which that generation does not have
            continue
        if is_translated and isinstance(left, dict) and "progress" in left:
            left, right = _without_late_progress(left, right)
        before, after = (
            _plain(_of_both(seen) if is_translated else seen, folder, timed=server.timed)
            for seen, folder in ((left, direct[0]), (right, proxied[0]))
        )
        if before != after:
            found.append(f"{step}:\n  direct  {before[:2000]}\n  proxied {after[:2000]}")
    return found


def _without_late_progress(left: Any, right: Any) -> tuple[Any, Any]:
    """Return what was seen of a call, its progress cut to what both runs had."""
    if not isinstance(right, dict) or "progress" not in right:
        return left, right
    both = min(len(left["progress"]), len(right["progress"]))
    if max(len(left["progress"]), len(right["progress"])) > both + 1:
        return left, right
    return (
        {**left, "progress": left["progress"][:both]},
        {**right, "progress": right["progress"][:both]},
    )


_NEWER = "2026-07-28"
_OF_ONE = frozenset(("ttlMs", "cacheScope", "io.modelcontextprotocol/serverInfo"))


def _of_both(seen: Any) -> Any:
    """Return what a client saw without what only one generation has."""
    if isinstance(seen, list):
        return [_of_both(each) for each in seen]
    if not isinstance(seen, dict):
        return seen
    gone = _OF_ONE
    if "capabilities" in seen and "instructions" in seen:  # what it saw first
        gone = gone | {"version"}
        seen = {**seen, "capabilities": {**seen["capabilities"], "tasks": None}}
    members = {name: _of_both(value) for name, value in seen.items() if name not in gone}
    return {name: value for name, value in members.items() if (name, value) != ("_meta", {})}


_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:\d\d)?|\d{1,2}:\d\d:\d\d [AP]M")

_BLOB = re.compile(r'"blob": "([^"]*)"')


def _plain(seen: Any, folder: Path, *, timed: bool) -> str:
    text = json.dumps(seen, sort_keys=True).replace(str(folder), "FOLDER")
    return _MOMENT.sub("MOMENT", _BLOB.sub(_unpacked, text)) if timed else text


def _unpacked(found: re.Match[str]) -> str:
    return f'"blob": "{base64.b64decode(found[1])!r}"'


def _program(program: tuple[str, ...]) -> list[str]:
    import pytest

    kind, name = program
    if kind == "npm":
        if not (NODE / ".bin" / name).exists():
            pytest.skip(f"{name} is not installed; make conformance does it")
        return [str(NODE / ".bin" / "node"), str(NODE / ".bin" / name)]
    from infra.tools import programs

    try:
        return [str(programs(kind) / name)]
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"{name} cannot be installed here: {error}")
