"""What wrapping refuses, and what becomes of entries that somebody changed since."""

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nacre.adapters.files.config_files import LocalConfigFiles
from nacre.adapters.files.wrap_records import FolderWrapRecords
from nacre.core.errors import ConfigurationError, InvalidInputError
from nacre.firewall.wrap.client_formats import CLIENTS, Machine, managed_files
from nacre.firewall.wrap.client_servers import (
    ClientServer,
    by_file,
    find_servers,
    select_servers,
    shared_names,
)
from nacre.firewall.wrap.command_line import Launcher
from nacre.firewall.wrap.file_edit import servers, wrap_text
from nacre.firewall.wrap.proxied_url import may_hold_secret
from nacre.firewall.wrap.redacted_entry import shown_entry
from nacre.firewall.wrap.wrapper import FileOutcome, Wrapper
from nacre.ports.other_programs.config_files import WrapRecord

BY_NAME = {client.name: client for client in CLIENTS}
LAUNCHER = Launcher(("/opt/nacre",))
FILES = '{"mcpServers": {"files": {"command": "npx", "args": ["server"]}}}'


class World:
    """A home with clients' files, and what wraps their servers."""

    def __init__(self, folder: Path, launcher: Launcher = LAUNCHER) -> None:
        self.home = folder / "home"
        self.state = folder / "state"
        self.machine = Machine("linux", str(self.home), {}, str(folder / "project"))
        managed = [each for client in CLIENTS for each in managed_files(client, self.machine)]
        self.files = LocalConfigFiles(self.state, managed=managed, now=lambda: datetime.now(UTC))
        self.records = FolderWrapRecords(self.state / "entries")
        self.use(launcher)

    def use(self, launcher: Launcher) -> None:
        self.wrapper = Wrapper(
            self.files, self.records, launcher, now=lambda: datetime(2026, 1, 1, tzinfo=UTC)
        )

    def write(self, path: str, text: str) -> Path:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        return file

    def found(self, *names: str, project: bool = False) -> list[ClientServer]:
        found, _ = find_servers(self.files, self.records, self.machine)
        return select_servers(found, names, project=project)

    def wrap(self, *names: str, **options: Any) -> list[FileOutcome]:
        return [self.wrapper.wrap(group, **options) for group in by_file(self.found(*names))]

    def unwrap(self, *names: str, **options: bool) -> list[FileOutcome]:
        return [self.wrapper.unwrap(group, **options) for group in by_file(self.found(*names))]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def told(done: list[FileOutcome]) -> list[tuple[str, str]]:
    return [(each.result, each.note) for one in done for each in one.outcomes]


def refusal(client: str, text: str, path: tuple[str, ...] = ("mcpServers", "s")) -> str:
    with pytest.raises(InvalidInputError) as error:
        wrap_text(text, BY_NAME[client], path, LAUNCHER)
    return str(error.value)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ('{"command": ["a"]}', "its command is not a string; write the program there"),
        ('{"command": ""}', "its command is not a string; write the program there"),
        (
            '{"command": "a", "args": "b"}',
            "its 'args' is not a list of strings; put quotes around each",
        ),
        (
            '{"command": "a", "args": [1]}',
            "its 'args' is not a list of strings; put quotes around each",
        ),
        ('{"command": "a", "url": "http://b"}', "it has both 'command' and 'url'; remove one"),
        ('{"command": "a", "command": "b"}', "'command' is there twice; remove one of them"),
        (
            '{"command": "a", "env": {"A": "1", "\\u0041": "2"}}',
            "'A' is there twice; remove one of them",
        ),
        ('{"env": {}}', "this server is built into the client; there is no command to wrap"),
        ('{"url": "unix:///run/mcp"}', "its 'url' is not an http or https URL"),
        ('{"url": "https://a:b@c"}', "its 'url' holds a name and a password"),
        ('{"type": "ws", "url": "https://a"}', "its 'type' is neither http nor sse"),
        ('{"url": "https://a", "auth": {"CLIENT_ID": "x"}}', "the client signs in to it (OAuth)"),
        ('{"url": "https://a", "headersHelper": "x"}', "the client generates its headers"),
        ('{"url": "https://a", "headers": {"A b": "x"}}', "its 'headers' are not texts by name"),
        ('{"url": "https://a", "headers": {"A": 1}}', "its 'headers' are not texts by name"),
        ('{"url": "https://a", "env": {"NACRE_URL": "x"}}', "its 'env' cannot be added to"),
    ],
)
def test_what_cannot_be_wrapped_is_refused_with_the_reason(entry: str, reason: str) -> None:
    assert refusal("cursor", f'{{"mcpServers": {{"s": {entry}}}}}').startswith(reason)


@pytest.mark.parametrize(
    ("client", "text", "path", "reason"),
    [
        (
            "cursor",
            '{"mcpServers": {"s": {"command": "a"}, "s": {"command": "b"}}}',
            ("mcpServers", "s"),
            "'s' is there twice",
        ),
        (
            "cursor",
            '{"mcpServers": {"s": {"command": "a"}}, "mcpServers": {}}',
            ("mcpServers", "s"),
            "'mcpServers' is there twice",
        ),
        (
            "continue",
            "mcpServers:\n- &a\n  name: s\n  command: x\n",
            ("mcpServers", "s"),
            "it has an anchor, an alias or a tag",
        ),
        (
            "continue",
            "mcpServers:\n- name: s\n  command: >-\n    a\n    b\n",
            ("mcpServers", "s"),
            "a text in it spans several lines",
        ),
        (
            "continue",
            "mcpServers:\n- {name: s, command: a}\n- {name: s, command: b}\n",
            ("mcpServers", "s"),
            "'s' is there twice",
        ),
        (
            "goose",
            "extensions:\n  s:\n    type: sse\n    uri: https://a\n    headers: {A: $KEY}\n",
            ("extensions", "s"),
            "the client fills in its headers",
        ),
        (
            "codex",
            'mcp_servers.s.command = "a"\n',
            ("mcp_servers", "s"),
            "its keys are written with dots",
        ),
        (
            "codex",
            '[mcp_servers.s]\nurl = "https://a"\n[x]\n[mcp_servers.s.http_headers]\nA = "1"\n',
            ("mcp_servers", "s"),
            "parts of it are after other tables",
        ),
    ],
)
def test_a_file_that_cannot_be_edited_safely_is_refused(
    client: str, text: str, path: tuple[str, ...], reason: str
) -> None:
    assert refusal(client, text, path).startswith(reason)


@pytest.mark.parametrize("name", ["--", "a\nb", "", "nacre", "NACRE", "\x1b[31m"])
def test_a_name_that_no_rule_could_use_is_refused(name: str) -> None:
    text = json.dumps({"mcpServers": {name: {"command": "a"}}})

    assert "give it another" in refusal("cursor", text, ("mcpServers", name))


@pytest.mark.parametrize(
    ("client", "text", "line"),
    [
        ("cursor", '{\n "mcpServers": {,}}', 2),
        ("cursor", '{"a": "x\n"}', 1),
        ("cursor", '{"a": 1} {', 1),
        ("cursor", '{"a": tru}', 1),
        ("cursor", '{"a" 1}', 1),
        ("cursor", "{'a': 1", 1),
        ("cursor", "/* {}", 1),
        ("cursor", "", 1),
        ("cursor", "\n\n[1 2]", 3),
        ("continue", "a: 1\nb: [", 2),
        ("continue", "a: 1\n\tb: 1", 2),
        ("codex", "a = 1\nb == 2\n", 2),
        ("codex", "a = 1\na = 2\n", 2),
    ],
)
def test_a_file_that_its_client_cannot_read_either_is_refused(
    client: str, text: str, line: int
) -> None:
    with pytest.raises(ConfigurationError, match=f"line {line}: "):
        servers(text, BY_NAME[client])


# What a parser bears differs from one Python to the next.
@pytest.mark.parametrize(
    ("client", "prefix", "depth"),
    [("cursor", "", 20_000), ("continue", "x: ", 1_000), ("codex", "x = ", 1_000)],
)
@pytest.mark.parametrize("brackets", [("[", "]"), ('{"a":', "}")])
def test_what_is_nested_without_end_is_refused(
    client: str, prefix: str, depth: int, brackets: tuple[str, str]
) -> None:
    begin, end = brackets
    with pytest.raises(ConfigurationError):
        servers(prefix + begin * depth + "1" + end * depth, BY_NAME[client])


def test_more_than_one_yaml_document_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="this is not YAML"):
        servers("a: 1\n---\nb: 2\n", BY_NAME["continue"])


def test_a_server_is_wrapped_wherever_it_is(world: World) -> None:
    texts = {path: world.write(path, FILES) for path in (".cursor/mcp.json", ".lmstudio/mcp.json")}

    assert told(world.wrap("files")) == [("wrapped", ""), ("wrapped", "")]
    assert told(world.wrap("files")) == [("already wrapped", ""), ("already wrapped", "")]
    assert all("/opt/nacre" in file.read_text() for file in texts.values())
    assert told(world.unwrap("files")) == [("unwrapped", ""), ("unwrapped", "")]
    assert all(file.read_text() == FILES for file in texts.values())
    assert list(world.records.all()) == []


def test_nacre_itself_is_left_alone(world: World) -> None:
    text = '{"mcpServers": {"mine": {"command": "/opt/nacre", "args": ["mcp-server"]}}}'
    file = world.write(".cursor/mcp.json", text)

    assert told(world.wrap("mine")) == [("already wrapped", "it is Nacre itself")]
    assert file.read_text() == text


def test_what_a_client_adds_to_a_wrapped_entry_stays(world: World) -> None:
    file = world.write(".cursor/mcp.json", FILES)
    world.wrap("files")
    file.write_text(file.read_text().replace('"args"', '"disabled": true, "args"'))

    assert told(world.unwrap("files")) == [
        ("unwrapped", "its entry was changed since then; the changes stay")
    ]
    assert json.loads(file.read_text()) == {
        "mcpServers": {"files": {"command": "npx", "disabled": True, "args": ["server"]}}
    }


def test_a_file_that_its_client_wrote_anew_is_unwrapped(world: World) -> None:
    url = '{"mcpServers": {"a": {"url": "https://a.example/mcp?k=1", "headers": {"K": "v"}}}}'
    file = world.write(".cursor/mcp.json", url)
    world.wrap("a")
    file.write_text(json.dumps(json.loads(file.read_text()), indent=4, sort_keys=True))

    world.unwrap("a")

    assert json.loads(file.read_text()) == json.loads(url)


def test_what_changes_outside_the_entry_stays(world: World) -> None:
    file = world.write(".cursor/mcp.json", FILES)
    world.wrap("files")
    file.write_text("// mine\n" + file.read_text().replace("}}}", '}, "b": {"command": "c"}}}'))

    assert told(world.unwrap("files")) == [("unwrapped", "")]
    assert file.read_text() == "// mine\n" + FILES.replace("}}}", '}, "b": {"command": "c"}}}')


def test_an_entry_whose_command_is_another_one_now_is_left_alone(world: World) -> None:
    file = world.write(".cursor/mcp.json", FILES)
    world.wrap("files")
    mine = FILES.replace("npx", "mine")
    file.write_text(mine)

    assert told(world.unwrap("files")) == [("not wrapped", "")]
    assert file.read_text() == mine
    assert list(world.records.all()) == []
    assert told(world.wrap("files")) == [("wrapped", "")]
    world.unwrap("files")
    assert file.read_text() == mine


def test_an_entry_that_is_gone_meanwhile_is_told(world: World) -> None:
    file = world.write(".cursor/mcp.json", FILES)
    found = world.found("files")
    file.write_text("{}")

    assert told([world.wrapper.wrap(found)]) == [("refused", "it is no longer there")]
    assert file.read_text() == "{}"


def test_without_the_note_the_command_comes_back(world: World) -> None:
    file = world.write(".cursor/mcp.json", FILES)
    world.wrap("files")
    for each in (world.state / "entries").iterdir():
        each.write_text("damaged")

    assert told(world.unwrap("files")) == [
        (
            "unwrapped",
            "its old entry was not recorded; its command is the one that the proxy started",
        )
    ]
    assert file.read_text() == FILES


def test_a_proxy_of_an_older_place_is_renewed_and_unwrapped_to_the_first_byte(
    world: World,
) -> None:
    file = world.write(".cursor/mcp.json", FILES)
    world.use(Launcher(("/old/nacre",), ("--policy", "/p.toml")))
    world.wrap("files")
    world.use(LAUNCHER)

    assert told(world.wrap("files")) == [("renewed", "")]
    args = json.loads(file.read_text())["mcpServers"]["files"]["args"]
    assert args == ["proxy", "--name", "files", "--policy", "/p.toml", "--", "npx", "server"]
    assert told(world.wrap("files")) == [("already wrapped", "")]
    world.use(Launcher(("/opt/nacre",), ("--policy", "/q.toml")))
    assert told(world.wrap("files")) == [("renewed", "")]
    world.unwrap("files")
    assert file.read_text() == FILES


BY_HAND = """{"mcpServers": {
  // mine
  "files": {"command": "/old/nacre", "args": ["proxy", "--name", "x", "--base", "/a",
    "--base", "/b", "--data-dir", "/d", "--", "npx", "server"]}
}}"""


def test_a_proxy_that_was_written_by_hand_keeps_its_name_and_comes_back(world: World) -> None:
    file = world.write(".cursor/mcp.json", BY_HAND)

    for program in ("/opt/nacre", "/other/nacre"):  # the second renews what the first has written
        world.use(Launcher((program,)))
        assert told(world.wrap("files")) == [("renewed", "")]
        (server,) = [each.server for each in world.found("files")]
        assert server.proxy is not None
        assert server.proxy.program == (program,)
        assert server.proxy.inner == ("npx", "server")
        assert server.proxy.options == (
            ("--name", "x"),
            ("--base", "/a"),
            ("--base", "/b"),
            ("--data-dir", "/d"),
        )

    assert told(world.unwrap("files")) == [("unwrapped", "")]
    assert file.read_text() == BY_HAND


def test_a_server_may_have_another_name_in_rules(world: World) -> None:
    file = world.write(".cursor/mcp.json", FILES)
    (group,) = by_file(world.found("files"))

    world.wrapper.wrap(group, name="home-files")

    (server,) = [each.server for each in world.found("files")]
    assert server.proxy is not None
    assert server.proxy.first("--name") == "home-files"
    assert told(world.wrap("files")) == [("already wrapped", "")]
    world.use(Launcher(("/new/nacre",)))
    world.wrap("files")
    (renewed,) = [each.server for each in world.found("files")]
    assert renewed.proxy is not None
    assert renewed.proxy.first("--name") == "home-files"
    world.unwrap("files")
    assert file.read_text() == FILES


def test_different_servers_of_one_name_are_noticed(world: World) -> None:
    other = FILES.replace('"server"', '"other"')
    world.write(".cursor/mcp.json", FILES)
    world.write(".gemini/settings.json", FILES)
    world.write(".config/Claude/claude_desktop_config.json", other)

    def noticed(name: str = "", wanted: list[ClientServer] | None = None) -> dict[str, set[str]]:
        chosen = world.found("files") if wanted is None else wanted
        groups = shared_names(world.found(), chosen, name)
        return {key: {each.client.name for each in group} for key, group in groups.items()}

    cursor, desktop = (
        [each for each in world.found("files") if each.client.name == name]
        for name in ("cursor", "claude-desktop")
    )
    assert noticed() == {"files": {"cursor", "gemini-cli", "claude-desktop"}}
    assert noticed(wanted=cursor) == {}
    world.wrapper.wrap(desktop)
    assert noticed(wanted=cursor) == {"files": {"cursor", "claude-desktop"}}
    assert noticed("mine", cursor) == {}


ALIASED = """x: &e
  A: b
mcpServers:
  - name: one
    command: npx
    env: *e
  - name: two
    command: uvx
    args:
      - s  # kept
  - {name: three, command: node}
"""


def test_an_entry_after_one_with_an_alias_is_wrapped(world: World) -> None:
    file = world.write(".continue/config.yaml", ALIASED)

    results = dict(zip(("one", "two", "three"), told(world.wrap()), strict=True))

    assert results["one"][0] == "refused"
    assert (results["two"], results["three"]) == (("wrapped", ""), ("wrapped", ""))
    world.unwrap()
    assert file.read_text() == ALIASED


@pytest.mark.parametrize(
    "text",
    [
        "mcpServers:\n  - &a\n    name: one\n    command: npx\n",
        "mcpServers:\n  - name: one\n    command: npx\n    env: &e\n      A: b\n",
        "mcpServers:\n  - name: one\n    command: !!str npx\n",
        "e: &e {A: b}\nmcpServers:\n  - name: one\n    command: npx\n    env: *e\n",
        "e: &e {env: {A: b}}\nmcpServers:\n  - name: one\n    command: npx\n    <<: *e\n",
    ],
)
def test_an_entry_with_an_anchor_an_alias_or_a_tag_is_left_alone(world: World, text: str) -> None:
    file = world.write(".continue/config.yaml", text)

    assert [result for result, _ in told(world.wrap("one"))] == ["refused"]
    assert file.read_text() == text


def test_a_rehearsal_changes_nothing(world: World) -> None:
    file = world.write(".cursor/mcp.json", FILES)

    (done,) = world.wrap("files", rehearse=True)

    assert told([done]) == [("wrapped", "")]
    assert (done.before, file.read_text()) == (FILES, FILES)
    assert "/opt/nacre" in done.after
    assert not world.state.exists()


def test_one_server_that_is_refused_does_not_hold_up_the_others(world: World) -> None:
    text = '{"mcpServers": {"a": {"command": 1}, "b": {"command": "c"}}}'
    file = world.write(".cursor/mcp.json", text)

    (first, second) = told(world.wrap())

    assert first[0] == "refused"
    assert second[0] == "wrapped"
    world.unwrap("b")
    assert file.read_text() == text


def test_a_command_that_dies_before_it_writes_leaves_a_note_that_says_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = world.write(".cursor/mcp.json", FILES)

    def dies(*_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("nacre.adapters.files.config_files._swapped", dies)
        with pytest.raises(KeyboardInterrupt):
            world.wrap("files")

    assert file.read_text() == FILES
    assert len(list(world.records.all())) == 1
    assert told(world.unwrap("files")) == [("not wrapped", "")]
    assert list(world.records.all()) == []


def test_a_file_cannot_be_wrapped_whose_note_cannot_be_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = world.write(".cursor/mcp.json", FILES)
    (world.state / "entries").parent.mkdir()
    (world.state / "entries").write_text("in the way")

    (outcome,) = told(world.wrap("files"))

    assert outcome[0] == "refused"
    assert "what is wrapped cannot be noted" in outcome[1]
    assert file.read_text() == FILES


def test_servers_of_a_project_are_for_those_who_ask(world: World) -> None:
    file = Path(world.machine.project, ".mcp.json")
    file.parent.mkdir()
    file.write_text(FILES)

    assert world.found("files") == []
    (group,) = by_file(world.found("files", project=True))
    world.wrapper.wrap(group)
    elsewhere = replace(world.machine, project="/")
    found, _ = find_servers(world.files, world.records, elsewhere)
    assert [each.file for each in found] == [str(file)]


def test_what_a_client_brings_itself_is_not_among_all(world: World) -> None:
    world.write(".config/goose/config.yaml", "extensions:\n  dev: {type: builtin}\n")

    assert world.found() == []
    assert told(world.wrap("dev")) == [
        ("refused", "this server is built into the client; there is no command to wrap")
    ]


@pytest.mark.parametrize(
    ("entry", "note"),
    [
        (
            '{"url": "https://a.example/mcp"}',
            "if you signed in to it in the client, unwrap it, because the proxy cannot sign in",
        ),
        ('{"url": "https://a.example/mcp", "headers": {"K": "v"}}', ""),
        (
            '{"command": "a", "autoApprove": ["x"]}',
            "'autoApprove' tells the client to ask less for it; the policy still decides",
        ),
        ('{"command": "a", "autoApprove": [], "trust": false}', ""),
    ],
)
def test_what_a_user_should_know_is_told(world: World, entry: str, note: str) -> None:
    world.write(".cursor/mcp.json", f'{{"mcpServers": {{"s": {entry}}}}}')

    assert told(world.wrap("s")) == [("wrapped", note)]


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("https://mcp.example.com/mcp", False),
        ("http://127.0.0.1:8080/v1/organisations/mcp", False),
        ("https://mcp.example.com/mcp?key=1", True),
        ("https://user:pw@mcp.example.com/", True),
        ("https://mcp.example.com/#x", True),
        ("https://mcp.example.com/s/a1B2c3D4e5F6g7H8i9J0/mcp", True),
        ("https://[broken", True),
    ],
)
def test_a_url_with_a_key_in_it_does_not_go_on_a_command_line(url: str, secret: bool) -> None:
    assert may_hold_secret(url) is secret


def test_a_screen_shows_no_key() -> None:
    text = json.dumps(
        {
            "mcpServers": {
                "s": {
                    "command": "npx",
                    "args": ["--api-key", "plainsecret", "--token=sk-a1B2c3D4e5F6g7H8i9", "/tmp"],
                    "env": {"A": "env-secret"},
                    "headers": {"B": "header-secret"},
                    "apiKey": "key-secret",
                    "url": "https://a.example/?k=query-secret",
                }
            }
        },
        indent=2,
    )

    shown = shown_entry(text, BY_NAME["cursor"], ("mcpServers", "s"))

    assert "secret" not in shown
    assert "a1B2c3" not in shown
    assert '"npx"' in shown
    assert '"/tmp"' in shown


def test_what_is_shown_of_a_file_of_one_line_is_one_entry() -> None:
    other = {"url": "https://a.example/?k=query-secret", "headers": {"A": "header-secret"}}
    text = json.dumps({"id": "file-secret", "mcpServers": {"o": other, "s": {"command": "npx"}}})

    shown = shown_entry(text, BY_NAME["cursor"], ("mcpServers", "s"))

    assert shown == '"s": {"command": "npx"}'


def test_a_record_shows_no_key() -> None:
    record = WrapRecord("cursor", "f", ("a",), "old-secret", "new-secret", "before-secret", "now")

    assert "secret" not in repr(record)


@pytest.fixture
def copies(tmp_path: Path) -> Callable[[], World]:
    return lambda: World(tmp_path)


def test_two_commands_at_one_file_both_wrap(copies: Callable[[], World]) -> None:
    world = copies()
    names = [f"s{number}" for number in range(8)]
    text = json.dumps({"mcpServers": {name: {"command": name} for name in names}}, indent=2)
    file = world.write(".cursor/mcp.json", text)
    start = threading.Barrier(len(names))

    def run(name: str) -> None:
        own = copies()
        start.wait()
        own.wrap(name)

    threads = [threading.Thread(target=run, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    wrapped = json.loads(file.read_text())["mcpServers"]
    assert {entry["command"] for entry in wrapped.values()} == {"/opt/nacre"}
    world.unwrap()
    assert file.read_text() == text


def test_on_windows_only_servers_at_a_url_are_wrapped(tmp_path: Path) -> None:
    world = World(tmp_path, Launcher(("C:\\nacre\\nacre.exe",), starts_programs=False))
    both = '{"mcpServers": {"files": {"command": "npx"}, "far": {"url": "https://x.example/mcp"}}}'
    file = world.write(".cursor/mcp.json", both)

    outcomes = world.wrapper.wrap(world.found("files", "far")).outcomes

    results = {outcome.path[-1]: (outcome.result, outcome.note) for outcome in outcomes}
    assert results["far"][0] == "wrapped"
    assert results["files"][0] == "refused"
    assert "on Windows the proxy cannot start a program" in results["files"][1]
    assert json.loads(file.read_text())["mcpServers"]["files"] == {"command": "npx"}
