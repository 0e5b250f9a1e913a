"""`nacre connect --hooks` adds hooks to clients, and `nacre disconnect` leaves no byte of them."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nacre.cli.hooks.hook_input import CLIENTS, EVENTS
from nacre.firewall.wrap.hooks.formats import HOOK_FILES
from tests.cli.conftest import Nacre

FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini-cli": ".gemini/settings.json",
    "cursor": ".cursor/hooks.json",
}


@pytest.fixture
def home() -> Path:
    return Path.home()


def snapshot(home: Path) -> dict[str, bytes]:
    """Return every file of clients below the home folder."""
    return {
        str(file.relative_to(home)): file.read_bytes()
        for file in home.rglob("*")
        if file.is_file() and "data" not in file.relative_to(home).parts
    }


def commands(file: Path) -> dict[str, str]:
    """Return the command of each event, the last of it."""
    hooks: dict[str, Any] = json.loads(file.read_text())["hooks"]
    entries = {name: groups[-1] for name, groups in hooks.items() if groups}
    return {
        name: entry["command"] if "command" in entry else entry["hooks"][0]["command"]
        for name, entry in entries.items()
    }


def test_every_client_with_hooks_is_known_to_the_hook() -> None:
    assert set(HOOK_FILES) == set(CLIENTS)
    for files in HOOK_FILES.values():
        for file in files:
            assert set(file.events.values()) <= set(EVENTS)


@pytest.mark.parametrize("client", FILES)
@pytest.mark.parametrize(
    "before",
    [
        None,
        '{"theme": "dark"}',
        '{\n\t"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}], "stop": []},'
        '\n\t"é": [1,\n 2]}\n\n',
    ],
)
def test_files_are_restored_byte_for_byte(
    nacre: Nacre, home: Path, client: str, before: str | None
) -> None:
    file = home / FILES[client]
    if before is not None:
        file.parent.mkdir(parents=True)
        file.write_text(before)
    earlier = snapshot(home)

    done = nacre("connect", client, "--hooks")
    assert done.code == 0, done.err
    lines = commands(file)
    again = nacre("connect", client, "--hooks", "--json").json()

    assert {entry["state"] for entry in again} == {"already connected"}
    if before is not None:
        assert "mine" not in before or "mine" in file.read_text()
    events = {shlex.split(line, comments=True)[-3] for line in lines.values() if "nacre" in line}
    assert events <= set(EVENTS)
    assert len(events) >= 4
    assert nacre("disconnect", client).code == 0
    assert snapshot(home) == earlier


@pytest.mark.parametrize("client", FILES)
def test_marks_and_line_ends_of_windows_stay(nacre: Nacre, home: Path, client: str) -> None:
    file = home / FILES[client]
    file.parent.mkdir(parents=True)
    file.write_bytes(b'\xef\xbb\xbf{\r\n  "theme": "dark"\r\n}\r\n')
    earlier = snapshot(home)

    assert nacre("connect", client, "--hooks").code == 0

    content = file.read_bytes()
    assert content.startswith(b"\xef\xbb\xbf{\r\n")
    assert content.count(b"\n") == content.count(b"\r\n") > 3
    assert nacre("disconnect", client).code == 0
    assert snapshot(home) == earlier


@pytest.mark.parametrize("client", [*FILES, "opencode", "openclaw"])
@pytest.mark.parametrize("is_rewritten", [False, True])
def test_hooks_of_a_program_that_has_moved_are_replaced(
    nacre: Nacre, home: Path, client: str, is_rewritten: bool, tmp_path: Path
) -> None:
    file = home / FILES.get(client, "none")
    if client in FILES:
        file.parent.mkdir(parents=True)
        file.write_text('{"theme": "dark"}')
    earlier = snapshot(home)
    nacre("connect", client, "--hooks", "--data-dir", str(tmp_path / "data-1"))
    if is_rewritten and client in FILES:
        file.write_text(json.dumps({**json.loads(file.read_text()), "theme": "light"}))

    nacre("connect", client, "--hooks", "--data-dir", str(tmp_path / "data-2"))

    texts = "".join(text.decode() for name, text in snapshot(home).items() if "hook" in str(text))
    assert "data-2" in texts
    assert f"NACRE_HOME={tmp_path / 'data-1'}" not in texts
    nacre("disconnect", client, "--data-dir", str(tmp_path / "data-2"))
    assert "nacre-hook" not in str(snapshot(home))
    if client not in FILES:
        assert not any("hooks/nacre" in name or "nacre.js" in name for name in snapshot(home))
    elif client != "gemini-cli":
        assert json.loads(file.read_text())["theme"] == ("light" if is_rewritten else "dark")
    assert earlier.keys() <= snapshot(home).keys()


def test_beside_the_plugin_nothing_is_added_twice(nacre: Nacre, home: Path) -> None:
    settings = home / FILES["claude-code"]
    settings.parent.mkdir()
    settings.write_text('{"enabledPlugins": {"nacre@nacre": true}}')
    earlier = snapshot(home)

    done = nacre("connect", "claude-code", "--hooks")
    doctor = nacre("doctor").out
    left = nacre("disconnect", "claude-code")

    assert done.code == 0
    assert "by its plugin" in done.out
    assert "by its plugin" in nacre("connect").out
    assert snapshot(home) == earlier
    assert "ok    client Claude Code: " in doctor
    assert "enables its plugin, which starts nacre" in doctor
    assert "Claude Code still has the plugin: claude plugin uninstall nacre" in left.err
    nacre("connect", "claude-code", "--hooks", "--url", "https://x.example/mcp")
    assert "https://x.example/mcp" in (home / ".claude.json").read_text()
    assert settings.read_bytes() == earlier[FILES["claude-code"]]
    settings.write_text('{"enabledPlugins": {"nacre@nacre": false}}')
    assert nacre("connect", "claude-code", "--hooks").code == 0
    assert "nacre-hook" in settings.read_text()


@pytest.mark.parametrize("client", ["claude-code", "cursor", "opencode"])
def test_doctor_knows_whether_hooks_can_start(nacre: Nacre, home: Path, client: str) -> None:
    nacre("connect", client, "--hooks")
    title = {"claude-code": "Claude Code", "cursor": "Cursor", "opencode": "opencode"}[client]
    fine = nacre("doctor").out
    for name, content in snapshot(home).items():
        if b"hook" in content:
            text = content.decode().replace(sys.executable, "/gone/python")
            (home / name).write_text(text)
    broken = nacre("doctor")

    assert f"ok    hooks of {title}: " in fine
    assert f"warn  hooks of {title}: " in broken.out
    assert f"nacre connect {client} --hooks" in broken.out + broken.err


def test_the_command_runs_in_an_empty_environment(nacre: Nacre, home: Path) -> None:
    nacre("connect", "claude-code", "--hooks")
    command = commands(home / FILES["claude-code"])["SessionStart"]

    done = subprocess.run(
        ["/bin/sh", "-c", command],
        input="{}",
        env={"PYTHONPATH": str(Path(__file__).parents[3] / "shared"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "nacre capture allow" in done.stdout


def test_a_file_that_its_client_has_rewritten_loses_only_the_hooks(
    nacre: Nacre, home: Path
) -> None:
    file = home / FILES["gemini-cli"]
    file.parent.mkdir()
    file.write_text('{"hooks": {"AfterAgent": [{"hooks": [{"command": "mine"}]}]}}')
    nacre("connect", "gemini-cli", "--hooks")
    tree = json.loads(file.read_text())
    file.write_text(json.dumps({**tree, "ui": {"theme": "x"}}))

    nacre("disconnect", "gemini-cli")

    remaining = json.loads(file.read_text())
    remaining.pop("mcpServers", None)
    assert remaining == {
        "hooks": {"AfterAgent": [{"hooks": [{"command": "mine"}]}]},
        "ui": {"theme": "x"},
    }


def test_files_with_comments_or_of_others_are_left_alone(nacre: Nacre, home: Path) -> None:
    settings = home / FILES["gemini-cli"]
    settings.parent.mkdir()
    settings.write_text('{ // mine\n "ui": {} }')
    plugin = home / ".config" / "opencode" / "plugins" / "nacre.js"
    plugin.parent.mkdir(parents=True)
    plugin.write_text("// somebody else's")

    for client, file in (("gemini-cli", settings), ("opencode", plugin)):
        before = file.read_text()
        done = nacre("connect", client, "--hooks")
        assert done.code != 0
        nacre("disconnect", client)
        if client == "opencode":
            assert file.read_text() == before
    assert "// mine" in settings.read_text()


def test_programs_of_opencode_and_openclaw_are_written_and_deleted(
    nacre: Nacre, home: Path
) -> None:
    (home / ".openclaw").mkdir()
    earlier = snapshot(home)

    nacre("connect", "opencode", "--hooks")
    claw = nacre("connect", "openclaw", "--hooks")

    plugin = (home / ".config" / "opencode" / "plugins" / "nacre.js").read_text()
    handler = (home / ".openclaw" / "hooks" / "nacre" / "handler.js").read_text()
    for text in (plugin, handler):
        (line,) = [line for line in text.splitlines() if line.startswith("const COMMAND")]
        assert "NACRE_HOME=" in json.loads(line.partition("= ")[2])[1]
    assert "openclaw hooks enable nacre" in claw.err
    nacre("disconnect", "opencode", "openclaw")
    assert snapshot(home) == earlier


def test_a_rehearsal_writes_nothing_and_others_get_instructions(nacre: Nacre, home: Path) -> None:
    (home / ".cursor").mkdir()
    earlier = snapshot(home)
    nacre("connect", "cursor", "--hooks", "--dry-run")
    assert snapshot(home) == earlier

    zed = nacre("connect", "zed", "--hooks")

    assert zed.code == 0
    assert "Zed has no hooks. Put this into its instructions" in zed.err
    assert "call recall with my message" in zed.err
