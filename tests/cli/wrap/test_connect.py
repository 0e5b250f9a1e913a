"""`nacre connect` and `nacre disconnect` as somebody types them."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Nacre
from tests.cli.processes import serving


@pytest.fixture
def home() -> Path:
    return Path.home()


def test_all_installed_clients_are_connected_and_left_as_they_were(
    nacre: Nacre, home: Path
) -> None:
    (home / ".claude.json").write_text('{"numStartups": 3}')
    (home / ".codex").mkdir()

    listed = nacre("connect")
    done = nacre("connect", "--all")
    again = nacre("connect", "--json").json()

    assert "not connected" in listed.out
    assert "To log in with Claude Code: claude mcp login nacre." in done.err
    assert "The server must be running: nacre serve" in done.err
    assert {each["client"]: each["state"] for each in again} == {
        "claude-code": "connected",
        "codex": "connected",
    }
    assert nacre("disconnect", "--all").code == 0
    assert (home / ".claude.json").read_text() == '{"numStartups": 3}'
    assert list((home / ".codex").iterdir()) == []


def test_a_client_gets_the_url_of_the_server_that_runs(nacre: Nacre, home: Path) -> None:
    with serving() as server:
        nacre("connect", "claude-code")
        url = server.url

    entry = json.loads((home / ".claude.json").read_text())["mcpServers"]["nacre"]
    assert entry == {"type": "http", "url": url}


def test_a_being_and_a_url_can_be_named(nacre: Nacre, home: Path) -> None:
    being_id = nacre("being", "create", "Ann").out.strip()

    nacre("connect", "cursor", "--being", "Ann")
    nacre("connect", "codex", "--stack", "s", "--url", "https://x.example/mcp")

    assert f"/mcp/{being_id}" in (home / ".cursor" / "mcp.json").read_text()
    assert '"https://x.example/mcp"' in (home / ".codex" / "config.toml").read_text()


def test_another_address_is_told_and_taken_on_request(nacre: Nacre, home: Path) -> None:
    nacre("connect", "cursor")
    file = home / ".cursor" / "mcp.json"
    first = file.read_text()

    with serving():
        kept = nacre("connect", "cursor")
    assert file.read_text() == first
    assert "Cursor keeps its address, http://127.0.0.1:8642/mcp; to change it, run" in kept.err
    moved = nacre("connect", "cursor", "--url", "https://x.example/mcp")

    assert (kept.code, moved.code) == (0, 0)
    assert '"https://x.example/mcp"' in file.read_text()
    assert "To apply this in Cursor" in moved.err
    nacre("disconnect", "cursor")
    assert not file.exists()


def test_a_program_in_a_cache_is_told(
    nacre: Nacre, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "archive-v0" / "x" / "bin" / "nacre"
    script.parent.mkdir(parents=True)
    script.write_text("")
    monkeypatch.setattr(sys, "argv", [str(script)])

    done = nacre("connect", "claude-desktop")

    assert "is in a cache that may be emptied" in done.err
    assert "then connect again" in done.err


def test_only_connecting_needs_the_being_that_is_named(
    nacre: Nacre, home: Path, folder: Path
) -> None:
    (home / ".cursor").mkdir()

    listed = nacre("connect", "--being", "Nobody")
    left = nacre("disconnect", "cursor", "--being", "Nobody")
    refused = nacre("connect", "cursor", "--being", "Nobody", "--dry-run")

    assert "not connected" in listed.out
    assert left.code == 0
    assert (refused.code, "Nobody" in refused.err) == (3, True)
    assert not (home / ".cursor" / "mcp.json").exists()


def test_a_client_without_login_gets_the_command(nacre: Nacre, home: Path, folder: Path) -> None:
    nacre("connect", "claude-desktop")

    file = home / ".config" / "Claude" / "claude_desktop_config.json"
    entry = json.loads(file.read_text())["mcpServers"]["nacre"]
    assert entry["args"][-3:] == ["mcp-server", "--data-dir", str(folder)]


def test_what_is_missing_or_contradicts_is_said(nacre: Nacre) -> None:
    assert "No client is installed" in nacre("connect").err
    assert "--all, not both" in nacre("connect", "cursor", "--all").err
    assert "name the clients, or give --all" in nacre("disconnect").err
    assert "McpUrl" in nacre("connect", "cursor", "--stack", "s").err
    unknown = nacre("connect", "emacs")
    assert unknown.code == 2
    assert "claude-code" in unknown.err


def test_a_rehearsal_says_so(nacre: Nacre, home: Path) -> None:
    done = nacre("connect", "cursor", "--dry-run")

    assert "WOULD BE" in done.out
    assert not (home / ".cursor").exists()
