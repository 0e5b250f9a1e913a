"""The plugin in the real Claude Code, with a stand-in for the model."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nacre import __version__
from nacre.cli.hooks.hook_input import EVENTS
from tests.cli.processes import finish, serving, start
from tests.end_to_end.conformance.suite import NODE
from tests.scaffolding.third_party import ROOT

PLUGIN = ROOT / "plugins" / "claude-code"
_SECONDS = 120
TOO_SLOW = ("it took too long and was ended", "the server did not answer in time")


def test_the_manifests_name_each_event_and_this_version() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    marketplace = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]

    assert manifest["version"] == __version__
    assert [entry["name"] for entry in marketplace["plugins"]] == [manifest["name"]]
    commands = [group["hooks"][0]["command"] for groups in hooks.values() for group in groups]
    assert len(commands) == len(EVENTS)
    for event, command in zip(EVENTS, commands, strict=True):
        assert f"then nacre hook {event}; " in command


class Claude:
    """Claude Code in a home of its own."""

    def __init__(self, home: Path, model: str) -> None:
        self.home = home
        self.program = NODE / ".bin" / "claude"
        bin_ = home / "bin"
        bin_.mkdir()
        command = bin_ / "nacre"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nacre.cli "$@"\n')
        command.chmod(0o755)
        self.environment = {
            "HOME": str(home),
            "PATH": os.pathsep.join((str(bin_), str(NODE / ".bin"), os.environ["PATH"])),
            "PYTHONPATH": str(ROOT / "shared"),
            "NACRE_HOME": os.environ["NACRE_HOME"],
            "ANTHROPIC_BASE_URL": model,
            "ANTHROPIC_API_KEY": "no-key",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [self.program, *arguments],
            env=self.environment,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def say(self, text: str, *options: str) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(
            self.run("-p", text, "--output-format", "json", *options).splitlines()[-1]
        )
        return answer

    def transcript(self, session: str) -> str:
        (file,) = self.home.glob(f".claude/projects/*/{session}.jsonl")
        return file.read_text()


def failures(log: Path) -> list[str]:
    """Return what hooks noted, but for those that a busy machine did not let end in time."""
    notes = log.read_text().splitlines() if log.exists() else []
    return [note for note in notes if not note.endswith(TOO_SLOW)]


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Claude]:
    for name in [name for name in os.environ if name.startswith(("NACRE_", "AWS_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NACRE_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("NODE_PATH", str(NODE))
    home = tmp_path / "home"
    home.mkdir()
    model = subprocess.Popen(
        [NODE / ".bin" / "node", Path(__file__).with_name("claude_model.cjs")],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert model.stdout is not None
        claude = Claude(home, model.stdout.readline().strip())
        try:
            claude.run("--version")
        except OSError as error:
            pytest.skip(f"NOT RUN: claude does not run on this platform ({error})")
        yield claude
    finally:
        model.kill()
        model.communicate()


@pytest.mark.slow
def test_it_is_valid_and_installs_from_the_repository(claude: Claude) -> None:
    assert "Validation passed" in claude.run("plugin", "validate", "--strict", str(ROOT))
    claude.run("plugin", "marketplace", "add", str(ROOT))
    claude.run("plugin", "install", "nacre")

    details = claude.run("plugin", "details", "nacre")

    assert "Skills (1)  memory" in details
    assert f"Hooks ({len(EVENTS)})" in details
    assert "MCP servers (1)  nacre" in details


@pytest.mark.slow
def test_sessions_are_remembered_and_forks_kept_once(claude: Claude, tmp_path: Path) -> None:
    claude.run("plugin", "marketplace", "add", str(ROOT))
    claude.run("plugin", "install", "nacre")
    claude.say("hello")  # neither a server nor consent
    with serving():
        code, _, err = finish(start("capture", "allow"))
        assert code == 0, err
        first = claude.say("My boat Juno lies in Kiel since May.")["session_id"]
        fork = claude.say("The boat is blue.", "--resume", first, "--fork-session")["session_id"]
        claude.say("Its sails are red.", "--resume", first)
        file = tmp_path / "export.nacre"
        assert finish(start("export", str(file)))[0] == 0

    assert first != fork
    records = map(json.loads, file.read_text().splitlines())
    messages = [entry["value"] for entry in records if entry["type"] == "message"]
    assert sorted((entry["role"], entry["content"]) for entry in messages) == sorted(
        [
            ("user", "My boat Juno lies in Kiel since May."),
            ("user", "The boat is blue."),
            ("user", "Its sails are red."),
            *[("assistant", "Good to know about the boat.")] * 3,
        ]
    )
    assert {entry["project"] for entry in messages} == {str(claude.home)}
    assert "nacre-context" in claude.transcript(first)  # the hook's context reached the session
    assert failures(tmp_path / "data" / "hooks.log") == []
