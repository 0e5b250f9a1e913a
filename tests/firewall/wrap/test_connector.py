"""Nacre in the files of clients: put in, found, taken out, and what is refused."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nacre.adapters.files.config_files import LocalConfigFiles
from nacre.adapters.files.wrap_records import FolderWrapRecords
from nacre.firewall.wrap.client_formats import CLIENTS, Machine, managed_files
from nacre.firewall.wrap.connector import Connection, Connector

BY_NAME = {client.name: client for client in CLIENTS}
URL = "http://127.0.0.1:8642/mcp"


class Desk:
    """A home with files of clients."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.folder = folder
        self.connector = self.connector_to(URL, "/opt/nacre")

    def connector_to(self, url: str, program: str) -> Connector:
        machine = Machine("linux", str(self.home), {}, str(self.folder / "project"))
        managed = [each for client in CLIENTS for each in managed_files(client, machine)]
        state = self.folder / "state"
        return Connector(
            LocalConfigFiles(state, managed=managed, now=lambda: datetime.now(UTC)),
            FolderWrapRecords(state / "connections"),
            machine,
            url=url,
            command=[program, "mcp-server", "--data-dir", "/data"],
            now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        )

    def write(self, path: str, text: str) -> Path:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        return file

    def connect(self, name: str, *, rehearse: bool = False, moves: bool = False) -> Connection:
        return self.connector.connect(BY_NAME[name], rehearse=rehearse, moves=moves)

    def move(self, *, url: str = URL, program: str = "/opt/nacre") -> None:
        """Let this Nacre have another address from here on."""
        self.connector = self.connector_to(url, program)

    def disconnect(self, name: str, *, rehearse: bool = False) -> Connection:
        return self.connector.disconnect(BY_NAME[name], rehearse=rehearse)

    def state(self, name: str) -> str:
        return self.connector.state(BY_NAME[name]).state

    def files(self) -> set[str]:
        return {str(file.relative_to(self.home)) for file in self.home.rglob("*") if file.is_file()}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize("name", BY_NAME)
def test_every_client_is_connected_once_and_its_new_file_goes_again(desk: Desk, name: str) -> None:
    assert desk.state(name) == "not installed"

    assert desk.connect(name).state == "connected"
    assert desk.state(name) == "connected"
    assert desk.connect(name).state == "already connected"
    assert len(desk.files()) == 1
    assert desk.disconnect(name, rehearse=True).state == "disconnected"
    assert len(desk.files()) == 1
    assert desk.disconnect(name).state == "disconnected"
    assert desk.files() == set()
    assert desk.disconnect(name).state in ("not connected", "not installed")


def test_a_client_is_installed_if_its_folder_is_there(desk: Desk) -> None:
    (desk.home / ".cursor").mkdir()

    assert desk.state("cursor") == "not connected"
    assert desk.state("claude-code") == "not installed"  # the home folder says nothing


def test_the_folder_of_claude_code_is_not_that_of_claude_desktop(desk: Desk) -> None:
    (desk.home / ".claude").mkdir()

    assert desk.state("claude-code") == "not connected"
    assert desk.state("claude-desktop") == "not installed"


@pytest.mark.parametrize(
    ("name", "folder", "file"),
    [
        ("vscode", ".config/VSCodium/User", "mcp.json"),
        ("vscode", ".vscode-server/data/User", "mcp.json"),
        ("zed", ".config/zed", "settings.json"),
        (
            "cline",
            ".config/Cursor/User/globalStorage/saoudrizwan.claude-dev/settings",
            "cline_mcp_settings.json",
        ),
    ],
)
def test_the_variant_that_is_installed_gets_the_entry(
    desk: Desk, name: str, folder: str, file: str
) -> None:
    (desk.home / folder).mkdir(parents=True)

    assert desk.connect(name).state == "connected"

    assert desk.files() == {f"{folder}/{file}"}
    assert desk.state(name) == "connected"


@pytest.mark.parametrize("name", ["claude-code", "cursor"])
def test_a_link_to_nowhere_is_named(desk: Desk, name: str) -> None:
    link = desk.home / (".claude.json" if name == "claude-code" else ".cursor/mcp.json")
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(desk.home / "dotfiles" / "mcp.json")

    refused = desk.connect(name)

    assert refused.state == "refused"
    assert "it is a link to a file that is not there" in refused.note


def test_a_file_that_the_client_no_longer_reads_gets_no_entry(desk: Desk) -> None:
    former = desk.write(".claude/claude_desktop_config.json", "{}")

    desk.connect("claude-desktop")

    assert former.read_text() == "{}"
    assert "nacre" in (desk.home / ".config/Claude/claude_desktop_config.json").read_text()


@pytest.mark.parametrize(
    "before", [None, '{"mcpServers": {"a": {"url": "https://a.example/"}}}\r\n']
)
def test_an_entry_of_ours_gets_the_address_that_is_asked_for(
    desk: Desk, before: str | None
) -> None:
    if before is not None:
        desk.write(".cursor/mcp.json", before)
    desk.connect("cursor")
    desk.move(url=f"{URL}/work")

    kept = desk.connect("cursor")
    rehearsed = desk.connect("cursor", moves=True, rehearse=True)
    file = desk.home / ".cursor/mcp.json"
    assert (kept.state, kept.note, rehearsed.state) == ("already connected", URL, "connected")
    assert "/work" not in file.read_text()
    moved = desk.connect("cursor", moves=True)

    assert moved.state == "connected"
    assert file.read_text().count(URL) == file.read_text().count(f"{URL}/work") == 1
    assert desk.connect("cursor", moves=True).state == "already connected"
    desk.disconnect("cursor")
    assert desk.files() == (set() if before is None else {".cursor/mcp.json"})
    assert before is None or file.read_bytes() == before.encode()


@pytest.mark.parametrize("name", ["claude-desktop", "continue", "goose", "zed"])
def test_a_program_that_has_moved_is_found_again_unasked(desk: Desk, name: str) -> None:
    desk.connect(name)
    desk.move(program="/usr/bin/nacre")

    assert desk.connect(name).state == "connected"
    [file] = desk.files()
    text = (desk.home / file).read_text()
    assert "/usr/bin/nacre" in text
    assert "/opt" not in text
    desk.disconnect(name)
    assert desk.files() == set()


def test_an_entry_of_somebody_else_is_not_moved(desk: Desk) -> None:
    text = '{"mcpServers": {"nacre": {"url": "https://x.example/mcp"}}}'
    file = desk.write(".cursor/mcp.json", text)

    refused = desk.connect("cursor", moves=True)

    assert refused.state == "refused"
    assert "it has Nacre at https://x.example/mcp; run 'nacre disconnect cursor'" in refused.note
    assert file.read_text() == text


def test_a_rehearsal_writes_nothing(desk: Desk) -> None:
    file = desk.write(".claude.json", '{"a": 1}')

    assert desk.connect("claude-code", rehearse=True).state == "connected"
    assert file.read_text() == '{"a": 1}'
    assert desk.connect("cursor", rehearse=True).state == "connected"
    assert desk.files() == {".claude.json"}

    desk.connect("claude-code")
    connected = file.read_text()
    assert desk.disconnect("claude-code", rehearse=True).state == "disconnected"
    assert file.read_text() == connected


def test_a_file_keeps_its_mode_and_a_link_stays_a_link(desk: Desk) -> None:
    file = desk.write("dotfiles/claude.json", "{}")
    file.chmod(0o640)
    (desk.home / ".claude.json").symlink_to(file)

    desk.connect("claude-code")

    assert (desk.home / ".claude.json").is_symlink()
    assert file.stat().st_mode & 0o777 == 0o640
    assert "nacre" in file.read_text()


def test_a_file_that_gained_other_settings_is_not_deleted(desk: Desk) -> None:
    desk.connect("cursor")
    file = desk.home / ".cursor" / "mcp.json"
    file.write_text(file.read_text().replace('"mcpServers"', '"x": 1, "mcpServers"'))

    assert desk.disconnect("cursor").state == "disconnected"
    assert '"x": 1' in file.read_text()
    assert "nacre" not in file.read_text()


def test_an_entry_of_one_project_is_not_one_for_all(desk: Desk) -> None:
    servers = {"nacre": {"url": URL}}
    desk.write(".claude.json", json.dumps({"projects": {"/p": {"mcpServers": servers}}}))

    assert desk.state("claude-code") == "in a project"
    assert desk.connect("claude-code").state == "connected"
    assert desk.state("claude-code") == "connected"
    assert desk.disconnect("claude-code").state == "disconnected"
    assert desk.state("claude-code") == "in a project"


def test_an_entry_that_somebody_wrote_by_hand_counts(desk: Desk) -> None:
    desk.write(".cursor/mcp.json", '{"mcpServers": {"nacre": {"url": "https://x.example/mcp"}}}')

    assert desk.connect("cursor").state == "already connected"
    assert desk.disconnect("cursor").state == "disconnected"


def test_a_broken_file_is_refused_and_stays(desk: Desk) -> None:
    file = desk.write(".codex/config.toml", "model = \n")

    refused = desk.connect("codex")

    assert refused.state == "refused"
    assert "line 1" in refused.note
    assert file.read_text() == "model = \n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(desk: Desk) -> None:
    (desk.home / ".cursor").mkdir(mode=0o500)

    assert "cannot be read or written" in desk.connect("cursor").note


def test_a_hard_link_is_refused(desk: Desk) -> None:
    file = desk.write(".claude.json", "{}")
    (desk.home / "copy.json").hardlink_to(file)

    refused = desk.connect("claude-code")

    assert refused.state == "refused"
    assert "hard link" in refused.note
    assert file.read_text() == "{}"
