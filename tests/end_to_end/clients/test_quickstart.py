"""The story of the Quickstart page with the real Claude Code, up to a stack in a fake AWS."""

import asyncio
import json
import re
import time
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from nacre.cli.commands import run_commands
from tests.benchmarks.table import show
from tests.cli.processes import finish, serving, start
from tests.cli.worlds import stack_world
from tests.end_to_end.clients.test_claude_plugin import Claude, claude

pytestmark = pytest.mark.slow
__all__ = ["claude"]  # the fixture

PROMPT = "Where do I live, and what do I grow?"
PAST = {
    "type": "user",
    "sessionId": "5f1c",
    "parentUuid": None,
    "uuid": "u-1",
    "timestamp": "2026-10-20T17:38:01Z",
    "cwd": "/home/mia/garden",
    "message": {"role": "user", "content": "I live in Bern and grow roses."},
}


class Steps:
    """The steps of the story, with the seconds that each one took; shown with `-s`."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str]] = []
        self._since = time.perf_counter()

    def done(self, name: str) -> None:
        """Note the time since the step before."""
        now = time.perf_counter()
        self.rows.append((name, f"{now - self._since:.1f}"))
        self._since = now


def run(*arguments: str) -> str:
    code, out, err = finish(start(*arguments))
    assert code == 0, err
    return out


def corrected(claude: Claude, text: str) -> None:
    """Correct the recalled memory, as a model does that is told that it is wrong."""
    server = StdioServerParameters(
        command=str(claude.home / "bin" / "nacre"), args=["mcp-server"], env=claude.environment
    )

    async def correct() -> None:
        async with Client(server) as client:
            recalled = await client.call_tool("recall", {"user_message": PROMPT})
            [node_id] = re.findall(r"\[node (\S+)\]", recalled.content[0].text)  # type: ignore[union-attr]
            correction = {"target": "memories", "action": "update", "key": node_id}
            answer = await client.call_tool("update_memory", {**correction, "content": text})
            assert not answer.is_error

    asyncio.run(correct())


def test_from_the_first_connection_to_a_stack(
    claude: Claude,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HOME", str(claude.home))
    past, file = tmp_path / "session.jsonl", tmp_path / "pearl.nacre"
    past.write_text(json.dumps(PAST) + "\n")
    steps = Steps()
    with serving() as server:
        steps.done("first start, to the URL")
        run("connect", "claude-code", "--hooks", "--url", server.url)
        run("capture", "allow")
        steps.done("connect, allow capturing")
        assert re.search(r"nacre: \S+/mcp \(HTTP\) - ! Needs auth", claude.run("mcp", "list"))

        steps.done("Claude Code lists its servers")
        run("import", str(past), "--learn")
        assert "1 new memory" in run("patrol", "run")
        steps.done("import, patrol")
        before = claude.transcript(claude.say(PROMPT)["session_id"])
        steps.done("ask Claude Code")
        corrected(claude, "I live in Thun and grow roses")
        steps.done("correct")
        after = claude.transcript(claude.say(PROMPT)["session_id"])
        steps.done("ask Claude Code again")
        run("export", str(file))

    # The context at the session's start; on a slow machine the recall at the prompt is left out.
    assert "user: I live in Bern and grow roses" in before
    assert "user: I live in Thun and grow roses" in after
    assert "I live in Bern" not in after
    with stack_world(monkeypatch) as stack:
        code = run_commands(["import", str(file), "--create", "pearl", *stack.options])
        told = capfd.readouterr()
        assert code == 0, told.err
        assert "Its state now equals that of the export." in told.out + told.err
    steps.done("export, and import into a stack")
    show("Quickstart", ("step", "seconds"), steps.rows)
