"""`nacre wrap` and `nacre unwrap` as somebody types them."""

import json
import os
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nacre.access.tokens.token_format import mint
from nacre.core.token_prefixes import API
from nacre.firewall.wrap.client_servers import find_servers
from nacre.firewall.wrap.config_tree import value_of
from nacre.firewall.wrap.json_tree import Json
from nacre.wiring.features.wrap import open_wrapping
from tests.cli.conftest import Nacre

SECRET = "Bearer s3cr3t-0123456789abcdef"
TEXT = """{
  // mine
  "mcpServers": {
    "files": {"command": "npx", "args": ["server", "/home"]},
    "remote": {"url": "https://a.example/mcp", "headers": {"Authorization": "SECRET"}},
  },
}
""".replace("SECRET", SECRET)


def entry_of(file: Path, name: str) -> Any:
    content: Any = value_of(Json().parse(file.read_text()))
    return content["mcpServers"][name]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of one who is in a folder of his own."""
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "home"


@pytest.fixture
def cursor(home: Path) -> Path:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text(TEXT)
    return file


def test_a_server_that_could_not_be_wrapped_needs_no_other_name(nacre: Nacre, cursor: Path) -> None:
    cursor.write_text('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}')

    result = nacre("wrap", "--all")

    assert "'a' is there twice" in result.err
    assert "different servers" not in result.err


def test_only_keys_of_the_client_are_written_into_its_file(nacre: Nacre, cursor: Path) -> None:
    line = '["proxy", "--name", "far", "--url", "https://a.example/mcp", "--bearer-env", "T"]'
    before = f'{{"mcpServers": {{"far": {{"command": "nacre", "args": {line}}}}}}}'
    cursor.write_text(before)

    nacre("wrap", "far")
    entry = json.loads(cursor.read_text())["mcpServers"]["far"]
    assert set(entry) == {"command", "args"}
    assert entry["args"][-2:] == ["--bearer-env", "T"]
    nacre("unwrap", "far")
    assert cursor.read_text() == before


def test_different_servers_of_one_name_are_told_apart_with_a_name(
    nacre: Nacre, cursor: Path, home: Path
) -> None:
    desktop = home / ".claude" / "claude_desktop_config.json"
    desktop.parent.mkdir(parents=True)
    desktop.write_text('{"mcpServers": {"files": {"command": "other"}}}')

    warned = nacre("wrap", "files")
    refused = nacre("wrap", "files", "--name", "both")
    nacre("unwrap", "files")
    assert desktop.read_text() == '{"mcpServers": {"files": {"command": "other"}}}'
    alone = nacre("wrap", "files", "--client", "cursor")
    named = nacre("wrap", "files", "--client", "claude-desktop", "--name", "desktop-files")

    assert "different servers have the name 'files' in rules and pins" in warned.err
    assert "--name OTHER" in warned.err
    assert (refused.code, "not for 2" in refused.err) == (2, True)
    assert "different servers" not in alone.err + named.err
    assert "desktop-files" in entry_of(desktop, "files")["args"]


@pytest.mark.requirement("004.wrap.config")
def test_a_server_is_wrapped_shown_and_unwrapped(nacre: Nacre, cursor: Path, folder: Path) -> None:
    wrapped = nacre("wrap", "files")

    assert (wrapped.code, wrapped.out.splitlines()) == (
        0,
        ["SERVER  CLIENT  IS       FILE", f"files   Cursor  wrapped  {cursor}"],
    )
    assert wrapped.err.splitlines() == [
        "To apply this in Cursor: switch the server off and on in its settings, or restart it.",
        "Rules: none yet, so you are asked about each call; run 'nacre policy init --from-servers'",
    ]
    text = cursor.read_text()
    line = [sys.executable, "-P", "-m", "nacre.cli", "proxy", "--name", "files", "--data-dir"]
    entry = (
        f'"command": "{line[0]}", "args": {json.dumps([*line[1:], str(folder), "--", "npx"])[:-1]}'
    )
    assert text == TEXT.replace('"command": "npx", "args": ["server"', f'{entry}, "server"')

    assert "already wrapped" in nacre("wrap", "files").out
    status = nacre("wrap", "status").out
    assert [line.split()[:3] for line in status.splitlines()[1:]] == [
        ["files", "Cursor", "wrapped"],
        ["remote", "Cursor", "not"],
    ]
    unwrapped = nacre("unwrap", "files")
    assert (unwrapped.code, unwrapped.out.split()[6]) == (0, "unwrapped")
    assert cursor.read_text() == TEXT


def test_all_servers_go_and_come_back_together(nacre: Nacre, cursor: Path, home: Path) -> None:
    goose = home / ".config" / "goose" / "config.yaml"
    goose.parent.mkdir(parents=True)
    goose.write_text("extensions:\n  developer: {type: builtin}\n  s:\n    cmd: x # y\n")
    before = goose.read_bytes()

    wrapped = nacre("wrap", "--all", "--json").json()

    assert [(each["server"], each["client"], each["result"]) for each in wrapped] == [
        ("files", "cursor", "wrapped"),
        ("remote", "cursor", "wrapped"),
        ("s", "goose", "wrapped"),
    ]
    assert nacre("unwrap", "--all").code == 0
    assert (cursor.read_text(), goose.read_bytes()) == (TEXT, before)
    assert "No server is wrapped." in nacre("unwrap", "--all").err


def test_a_header_is_on_no_command_line_and_no_screen(
    nacre: Nacre, cursor: Path, folder: Path
) -> None:
    outcomes = [
        nacre("wrap", "--all", "--dry-run"),
        nacre("wrap", "--all"),
        nacre("wrap", "status", "--json"),
        nacre("unwrap", "--all", "--dry-run"),
    ]

    assert [each.code for each in outcomes] == [0, 0, 0, 0]
    assert not any("s3cr3t" in each.out + each.err for each in outcomes)
    wrapped = entry_of(cursor, "remote")
    assert wrapped["env"] == {"NACRE_HEADER_1": SECRET}
    assert "s3cr3t" not in json.dumps(wrapped["args"])
    kept = [each for each in (folder / "wrap").rglob("*") if each.is_file()]
    assert {each.stat().st_mode & 0o077 for each in kept} == {0}


def test_a_rehearsal_shows_what_would_change(nacre: Nacre, cursor: Path) -> None:
    outcome = nacre("wrap", "files", "--dry-run")

    assert outcome.code == 0
    assert '-    "files": {"command": "npx", "args": ["server", "/home"]}' in outcome.out
    assert f'+    "files": {{"command": "{sys.executable}"' in outcome.out
    assert "WOULD BE" in outcome.out
    assert cursor.read_text() == TEXT


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["wrap"], 2, "name the servers, or give --all"),
        (["wrap", "files", "--all"], 2, "name the servers, or give --all"),
        (["unwrap"], 2, "name the servers, or give --all"),
        (["wrap", "other"], 3, "no client has a server 'other'"),
        (["wrap", "files", "--client", "zed"], 3, "no client has a server 'files'"),
        (["wrap", "files", "--client", "emacs"], 2, "'emacs' is not one of"),
        (
            ["--stack", "s", "wrap", "files"],
            2,
            "works on this machine only hint: leave out --stack",
        ),
        (["wrap", "shared"], 3, "which a project shares"),
        (["wrap", "files", "--policy", "none.toml"], 2, "none.toml"),
    ],
)
def test_what_cannot_be_done_is_told(
    nacre: Nacre, cursor: Path, arguments: list[str], code: int, told: str
) -> None:
    Path(".mcp.json").write_text('{"mcpServers": {"shared": {"command": "x"}}}')

    refused = nacre(*arguments)

    assert refused.code == code
    assert told in " ".join(refused.err.split())
    assert cursor.read_text() == TEXT


def test_a_project_s_server_is_wrapped_on_request_and_found_again_from_elsewhere(
    nacre: Nacre, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Path(".mcp.json").absolute()
    file.write_text(before := '{"mcpServers": {"shared": {"command": "x"}}}')

    assert nacre("wrap", "shared", "--project").code == 0
    monkeypatch.chdir(tmp_path)
    assert "wrapped" in nacre("wrap", "status").out
    assert nacre("unwrap", "--all").code == 0

    assert file.read_text() == before


def test_a_file_that_cannot_be_read_does_not_hold_up_the_others(
    nacre: Nacre, cursor: Path, home: Path
) -> None:
    broken = home / ".lmstudio" / "mcp.json"
    broken.parent.mkdir()
    broken.write_text('{"mcpServers": {\n}')

    outcome = nacre("wrap", "--all")

    assert outcome.code == 1
    assert outcome.out.count("wrapped") == 2
    assert f"LM Studio: {broken}: line 2: a ',' or '}}' is missing" in outcome.err


def test_a_proxy_whose_program_is_gone_is_told_and_renewed(nacre: Nacre, cursor: Path) -> None:
    nacre("wrap", "files")
    cursor.write_text(cursor.read_text().replace(sys.executable, "/gone/python"))

    status = nacre("wrap", "status")

    assert status.code == 1
    assert "wrapped, nacre missing" in status.out
    assert "run 'nacre wrap --all'" in status.err
    assert "renewed" in nacre("wrap", "files").out
    nacre("unwrap", "files")
    assert entry_of(cursor, "files")["command"] == "npx"


def test_doctor_looks_at_wrapped_servers(
    nacre: Nacre, cursor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npx = tmp_path / "bin" / "npx"  # a machine without Node.js has none
    npx.parent.mkdir()
    npx.write_text("#!/bin/sh\n")
    npx.chmod(0o755)
    monkeypatch.setenv("PATH", str(npx.parent), prepend=os.pathsep)
    assert "wrapped servers" not in nacre("doctor").out
    nacre("wrap", "--all")
    assert "ok    wrapped servers: 2 servers can be started" in nacre("doctor").out
    cursor.write_text(cursor.read_text().replace(sys.executable, "/gone/python", 1))

    broken = nacre("doctor")

    assert broken.code == 1
    assert "fail  wrapped servers: files of Cursor starts a nacre that is missing" in broken.out


def test_rules_of_one_s_own_go_into_the_command_line(
    nacre: Nacre, cursor: Path, tmp_path: Path
) -> None:
    rules = tmp_path / "project" / "rules.toml"
    rules.write_text('[[rule]]\naction = "deny"\ntool = "*"\n')

    outcome = nacre("wrap", "files", "--policy", "rules.toml")

    assert outcome.code == 0
    assert f'"--policy", "{rules}", "--", "npx"' in cursor.read_text()
    assert f"Rules: {rules}" in outcome.err


def test_what_a_client_does_not_hand_on_is_written_down(
    nacre: Nacre, cursor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NACRE_HOME")
    nacre("wrap", "files")
    assert entry_of(cursor, "files")["args"][:7] == [
        *("-P", "-m", "nacre.cli", "proxy", "--name", "files", "--")
    ]
    nacre("unwrap", "files")
    rules = tmp_path / "config" / "nacre" / "policy.toml"
    rules.parent.mkdir(parents=True)
    rules.write_text('[[rule]]\naction = "deny"\ntool = "*"\n')
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    nacre("wrap", "files")

    place = ["--data-dir", str(tmp_path / "share" / "nacre"), "--policy", str(rules)]
    assert entry_of(cursor, "files")["args"][6:10] == place


def test_without_a_client_nothing_is_wrapped(nacre: Nacre, home: Path) -> None:
    assert nacre("wrap", "--all").code == 0
    assert nacre("wrap", "status").err == "No client has a server.\n"


def test_declared_bases_stand_in_the_entry_and_are_kept(
    nacre: Nacre, cursor: Path, folder: Path
) -> None:
    assert nacre("wrap", "files").code == 0
    assert "--base" not in entry_of(cursor, "files")["args"]

    declared = nacre("wrap", "files", "--base", "/srv/a", "--base", "/srv/b")
    assert declared.code == 0
    assert "renewed" in declared.out
    args = entry_of(cursor, "files")["args"]
    assert args[args.index("--base") : args.index("--")] == ["--base", "/srv/a", "--base", "/srv/b"]

    again = nacre("wrap", "files")
    assert "already wrapped" in again.out
    assert entry_of(cursor, "files")["args"] == args
    assert nacre("unwrap", "files").code == 0
    assert cursor.read_text() == TEXT
    assert folder.exists()


def test_declared_bases_are_joined_by_those_that_the_arguments_show(
    nacre: Nacre, cursor: Path
) -> None:
    line = '"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv"]'
    cursor.write_text('{"mcpServers": {"notes": {' + line + "}}}")
    wrapped = nacre("wrap", "notes", "--base", "/srv/projects")
    args = entry_of(cursor, "notes")["args"]
    bases = ["--base", "/srv/projects", "--base", "/srv"]
    assert args[args.index("--base") : args.index("--")] == bases
    assert "its arguments say that relative paths begin at /srv as well" in wrapped.err

    assert "already wrapped" in nacre("wrap", "notes", "--base", "/srv/projects").out
    same = nacre("wrap", "notes", "--base", "/srv")
    assert "renewed" in same.out
    assert "as well" not in same.err


def test_bases_are_not_declared_for_every_server_at_once(nacre: Nacre, cursor: Path) -> None:
    refused = nacre("wrap", "--all", "--base", "/srv/a")
    assert refused.code == 2
    assert cursor.read_text() == TEXT


def test_a_folder_that_may_be_the_base_is_proposed(nacre: Nacre, cursor: Path) -> None:
    line = '"command": "uv", "args": ["--directory", "/srv/notes", "run", "server"]'
    cursor.write_text('{"mcpServers": {"notes": {' + line + "}}}")
    wrapped = nacre("wrap", "notes")
    assert "nacre wrap notes --base /srv/notes" in wrapped.err
    assert "--base" not in entry_of(cursor, "notes")["args"]


BEING = "0f3dbe60-2a39-4d5f-9a8c-6a0e8f1c2d3e"
OWN = f"http://127.0.0.1:8642/mcp/{BEING}"
TOKEN = mint(API, Random(1))


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("nacre", {"url": OWN, "headers": {"Authorization": f"Bearer {TOKEN}"}}),
        ("nacre", {"url": OWN}),
        ("memory", {"url": f"http://localhost:8642/mcp?being_id={BEING}"}),
        ("nacre", {"url": "http://127.0.0.1:8642/mcp"}),
        ("nacre", {"url": f"https://memory.example/mcp/{BEING}"}),
        ("pearl", {"url": "https://x.example/prod/mcp", "headers": {"Authorization": TOKEN}}),
        ("nacre", {"command": "npx", "args": ["mcp-remote", OWN]}),
        ("nacre", {"command": "/opt/bin/nacre", "args": ["mcp-server"]}),
    ],
)
def test_wrapping_all_leaves_nacre_itself_alone(
    nacre: Nacre, cursor: Path, name: str, entry: dict[str, Any]
) -> None:
    cursor.write_text(json.dumps({"mcpServers": {"files": {"command": "npx"}, name: entry}}))

    wrapped = nacre("wrap", "--all")

    assert wrapped.code == 0, wrapped.err
    assert f"{name} (Cursor): it is Nacre itself" in wrapped.err
    assert entry_of(cursor, name) == entry
    assert "proxy" in entry_of(cursor, "files")["args"]


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("nacre", {"command": "npx", "args": ["other"]}),
        ("nacre", {"url": "https://other.example/mcp"}),
        ("nacre", {"url": "http://[broken/mcp"}),
    ],
)
def test_another_server_of_nacre_s_name_is_refused(
    nacre: Nacre, cursor: Path, name: str, entry: dict[str, Any]
) -> None:
    cursor.write_text(json.dumps({"mcpServers": {name: entry}}))

    refused = nacre("wrap", "--all")

    assert refused.code == 1
    assert "give it another name" in refused.err
    assert entry_of(cursor, name) == entry


def test_a_foreign_server_whose_url_looks_like_nacre_s_is_wrapped(
    nacre: Nacre, cursor: Path
) -> None:
    cursor.write_text(json.dumps({"mcpServers": {"x": {"url": f"https://x.example/mcp/{BEING}"}}}))

    assert nacre("wrap", "--all").code == 0
    assert "proxy" in entry_of(cursor, "x")["args"]


def test_on_windows_a_server_that_a_command_starts_is_left_alone(
    cursor: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = open_wrapping(str(folder), ["/opt/nacre"])
    entries, _ = find_servers(here.files, here.records, here.machine)
    monkeypatch.setattr("sys.platform", "win32")

    outcomes = open_wrapping(str(folder), ["/opt/nacre"]).wrapper.wrap(entries).outcomes

    results = {outcome.path[-1]: outcome.result for outcome in outcomes}
    assert results == {"files": "refused", "remote": "wrapped"}
    assert '"files": {"command": "npx", "args": ["server", "/home"]}' in cursor.read_text()


def test_a_server_is_wrapped_confined_with_the_variables_of_its_entry(
    nacre: Nacre, cursor: Path
) -> None:
    entry = '{"command": "node", "args": ["server.js"], "env": {"TOKEN": "x", "MODE": "y"}}'
    cursor.write_text(f'{{"mcpServers": {{"files": {entry}}}}}')

    wrapped = nacre("wrap", "files", "--confine", "--base", "none")
    args = entry_of(cursor, "files")["args"]
    renewed = nacre("wrap", "files", "--policy", str(cursor.parent / "rules.toml"))
    before = nacre("wrap", "files", "--confine")
    kept = entry_of(cursor, "files")["args"]
    nacre("unwrap", "files")

    assert wrapped.code == 0
    at = args.index("--confine")
    assert args[at:] == ["--confine", "--", "node", "server.js"]
    assert [args[i + 1] for i, word in enumerate(args) if word == "--env"] == ["TOKEN", "MODE"]
    assert renewed.code == 2  # there are no such rules
    assert "already wrapped" in before.out
    assert kept == args
    assert cursor.read_text() == f'{{"mcpServers": {{"files": {entry}}}}}'


def test_a_confined_server_stays_confined_when_it_is_renewed(nacre: Nacre, cursor: Path) -> None:
    nacre("wrap", "files", "--confine")

    renewed = nacre("wrap", "files", "--base", "none")

    assert "renewed" in renewed.out
    assert entry_of(cursor, "files")["args"].count("--confine") == 1


@pytest.mark.parametrize("name", ["PYTHONPATH", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES"])
def test_no_variable_of_a_confined_server_acts_on_the_proxy(
    name: str, nacre: Nacre, cursor: Path
) -> None:
    entry = f'{{"command": "node", "args": [], "env": {{"MODE": "y", "{name}": "/home/me/lib"}}}}'
    cursor.write_text(f'{{"mcpServers": {{"files": {entry}}}}}')
    before = cursor.read_text()

    refused = nacre("wrap", "files", "--confine")

    assert refused.code == 1
    assert f"'{name}' would also act on the proxy" in refused.out + refused.err
    assert cursor.read_text() == before
    assert nacre("wrap", "files").code == 0


def test_an_entry_of_an_earlier_release_is_recognised(nacre: Nacre, cursor: Path) -> None:
    nacre("wrap", "files")
    cursor.write_text(cursor.read_text().replace('"-P", ', ""))

    renewed = nacre("wrap", "files")
    again = entry_of(cursor, "files")["args"]
    nacre("unwrap", "files")

    assert (renewed.code, again[:3]) == (0, ["-P", "-m", "nacre.cli"])
    assert entry_of(cursor, "files")["args"] == ["server", "/home"]


def test_servers_that_cannot_be_confined_are_refused(nacre: Nacre, cursor: Path) -> None:
    cursor.write_text(TEXT.replace('"npx"', '"docker"'))
    before = cursor.read_text()

    refused = nacre("wrap", "--all", "--confine")

    assert refused.code == 1
    assert "docker cannot be confined: its daemon" in refused.out + refused.err
    assert "not a URL" in refused.out + refused.err
    assert cursor.read_text() == before
