"""Every client's file: wrapped as its client reads it, and byte for byte as before afterwards."""

import json
import re
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from nacre.firewall.wrap.client_formats import (
    CLIENTS,
    Client,
    Machine,
    managed_files,
    project_files,
    user_files,
)
from nacre.firewall.wrap.command_line import Launcher
from nacre.firewall.wrap.config_tree import value_of
from nacre.firewall.wrap.file_edit import (
    DIALECTS,
    Change,
    entries,
    restored_text,
    servers,
    unwrap_text,
    wrap_text,
)
from nacre.firewall.wrap.proxied_entry import command_line
from tests.firewall.wrap.client_configs import CONFIGS, Config

LAUNCHER = Launcher(("/opt/nacre/bin/nacre",))
BY_NAME = {client.name: client for client in CLIENTS}

VARIANTS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "BOM": lambda text: "\ufeff" + text,
    "no last line end": lambda text: text.rstrip("\n"),
    "blank around": lambda text: "\n\n" + text + "\n \n",
    "tabs": lambda text: re.sub(
        r"^ +", lambda found: "\t" * (len(found[0]) // 2), text, flags=re.MULTILINE
    ),
}

EVERY = [
    pytest.param(config, variant, id=f"{config.client}-{name}")
    for config in CONFIGS
    for name, variant in VARIANTS.items()
    if not (name == "tabs" and config.file.endswith(".yaml"))  # no YAML is indented with tabs
]

ONCE = [pytest.param(each.values[0], each.values[1], id=each.id) for each in EVERY[::3]]


def wrap_all(text: str, client: Client) -> tuple[str, list[tuple[tuple[str, ...], Change]]]:
    """Wrap every server that can be wrapped, one after the other."""
    changes = []
    for server in servers(text, client):
        if not server.is_built_in:
            changes.append((server.path, wrap_text(text, client, server.path, LAUNCHER)))
            text = changes[-1][1].text
    return text, changes


def read(text: str, config: Config) -> Any:
    """Read a file with a parser that is not ours, where there is one for its dialect."""
    text = text.removeprefix("\ufeff")
    if config.file.endswith(".toml"):
        return tomllib.loads(text)
    if config.file.endswith(".yaml"):
        return yaml.safe_load(text)
    try:
        return json.loads(text)
    except ValueError:
        return None


def entries_of(text: str, client: Client) -> dict[str, dict[str, Any]]:
    root = DIALECTS[client.format].parse(text)
    found: dict[str, dict[str, Any]] = {}
    for place in entries(root, client):
        value = value_of(place.node)
        assert isinstance(value, dict)
        found[place.name] = value
    return found


def test_every_client_has_a_file_here() -> None:
    assert {config.client for config in CONFIGS} == set(BY_NAME)


@pytest.mark.requirement("004.wrap.config")
@pytest.mark.parametrize(("config", "variant"), EVERY)
def test_a_wrapped_file_starts_the_proxy_and_an_unwrapped_one_is_as_before(
    config: Config, variant: Callable[[str], str]
) -> None:
    client, text = BY_NAME[config.client], variant(config.text)
    before = entries_of(text, client)

    wrapped, changes = wrap_all(text, client)

    after = entries_of(wrapped, client)
    lines = {name: command_line(after[name], client.shape) for name in config.lines}
    assert lines == {name: [*LAUNCHER.program, *line] for name, line in config.lines.items()}
    for name, environment in config.environment.items():
        entry = after[name][client.shape.env]
        assert isinstance(entry, dict)
        assert {key: entry[key] for key in environment} == environment
    assert after.keys() == before.keys()
    for name in before.keys() - config.lines.keys():
        assert after[name] == before[name]

    for path, change in reversed(changes):
        restored = restored_text(wrapped, client, path, change.old, change.new)
        assert restored is not None, path
        wrapped = restored
    assert wrapped == text


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.client)
def test_servers_are_unwrapped_in_any_order(config: Config) -> None:
    client = BY_NAME[config.client]
    wrapped, changes = wrap_all(config.text, client)

    for path, change in changes:
        restored = restored_text(wrapped, client, path, change.old, change.new)
        assert restored is not None, path
        wrapped = restored

    assert wrapped == config.text


@pytest.mark.parametrize(("config", "variant"), EVERY)
def test_only_the_entry_changes(config: Config, variant: Callable[[str], str]) -> None:
    client, text = BY_NAME[config.client], variant(config.text)
    for server in servers(text, client):
        if server.is_built_in:
            continue
        change = wrap_text(text, client, server.path, LAUNCHER)
        before, after = text.split(change.old), change.text.split(change.new)

        assert any(
            change.old.join(before[: cut + 1]) == change.new.join(after[: cut + 1])
            and change.old.join(before[cut + 1 :]) == change.new.join(after[cut + 1 :])
            for cut in range(min(len(before), len(after)) - 1)
        ), server.path


@pytest.mark.parametrize(("config", "variant"), ONCE)
def test_another_parser_reads_the_same_but_for_the_servers(
    config: Config, variant: Callable[[str], str]
) -> None:
    client, text = BY_NAME[config.client], variant(config.text)
    before = read(text, config)
    if before is None:
        return  # comments: only this project's reader takes them
    wrapped, _ = wrap_all(text, client)

    after = read(wrapped, config)

    def cut(value: Any) -> Any:
        """Leave out the servers, wherever a container may be."""
        if not isinstance(value, dict):
            return value
        ends = {container[-1] for container in client.containers}
        return {key: "cut" if key in ends else cut(each) for key, each in value.items()}

    assert cut(after) == cut(before)
    assert after != before
    for name, entry in entries_of(wrapped, client).items():
        theirs = [each for each in dicts_in(after) if each.get("args") == entry.get("args")]
        assert any(texts_of(entry) == texts_of(each) for each in theirs), name


def dicts_in(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [each for item in value for each in dicts_in(item)]
    if not isinstance(value, dict):
        return []
    return [value, *(each for member in value.values() for each in dicts_in(member))]


def texts_of(value: Any) -> Any:
    """Return a value with its texts alone."""
    if isinstance(value, list):
        return [texts_of(each) for each in value]
    if isinstance(value, dict):
        return {key: texts_of(each) for key, each in value.items()}
    return value if isinstance(value, str) else None


@pytest.mark.parametrize(("config", "variant"), ONCE)
def test_without_its_note_a_server_gets_its_command_back(
    config: Config, variant: Callable[[str], str]
) -> None:
    client, text = BY_NAME[config.client], variant(config.text)
    before = entries_of(text, client)
    wrapped, changes = wrap_all(text, client)

    for path, _ in changes:
        wrapped = unwrap_text(wrapped, client, path, None).text

    after = entries_of(wrapped, client)
    for name, line in config.lines.items():
        if "--" in line:
            assert command_line(after[name], client.shape) == line[line.index("--") + 1 :]
        else:
            urls = {key: value for key, value in before[name].items() if key in client.shape.urls}
            assert urls.items() <= after[name].items()
            # Headers that the proxy has no use for are in the note alone.
            headers = before[name].get(client.shape.headers[0], {})
            assert after[name].get(client.shape.headers[0], {}).items() <= headers.items()


@pytest.mark.parametrize(("config", "variant"), ONCE)
def test_with_its_note_a_changed_entry_is_as_before_but_for_the_change(
    config: Config, variant: Callable[[str], str]
) -> None:
    client, text = BY_NAME[config.client], variant(config.text)
    before = entries_of(text, client)
    wrapped, changes = wrap_all(text, client)

    for path, change in changes:
        wrapped = unwrap_text(wrapped, client, path, change.before).text

    after = entries_of(wrapped, client)
    for name, entry in after.items():
        # A list of arguments that was not there may be an empty one now.
        assert {**entry, "args": entry.get("args", [])} == {
            **before[name],
            "args": before[name].get("args", []),
        }


def machine(platform: str, **environment: str) -> Machine:
    home = r"C:\Users\ann" if platform == "win32" else "/home/ann"
    return Machine(platform, home, environment, "/site" if platform != "win32" else r"D:\site")


WINDOWS = {
    "APPDATA": r"C:\Users\ann\AppData\Roaming",
    "ProgramFiles": r"C:\Program Files",
    "ProgramData": r"C:\ProgramData",
}
CLINE = "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"


@pytest.mark.parametrize(
    ("client", "linux", "macos", "windows"),
    [
        (
            "claude-desktop",
            "/home/ann/.config/Claude/claude_desktop_config.json",
            "/home/ann/Library/Application Support/Claude/claude_desktop_config.json",
            r"C:\Users\ann\AppData\Roaming\Claude\claude_desktop_config.json",
        ),
        *(
            (name, f"/home/ann/{path}", f"/home/ann/{path}", rf"C:\Users\ann\{path}")
            for name, path in {
                "claude-code": ".claude.json",
                "cursor": ".cursor/mcp.json",
                "copilot-cli": ".copilot/mcp-config.json",
                "windsurf": ".codeium/windsurf/mcp_config.json",
                "continue": ".continue/config.yaml",
                "codex": ".codex/config.toml",
                "gemini-cli": ".gemini/settings.json",
                "openclaw": ".openclaw/openclaw.json",
                "opencode": ".config/opencode/opencode.jsonc",
                "kiro": ".kiro/settings/mcp.json",
                "lm-studio": ".lmstudio/mcp.json",
                "amp": ".config/amp/settings.json",
            }.items()
        ),
        (
            "vscode",
            "/home/ann/.config/Code/User/mcp.json",
            "/home/ann/Library/Application Support/Code/User/mcp.json",
            r"C:\Users\ann\AppData\Roaming\Code\User\mcp.json",
        ),
        (
            "vscode",
            "/home/ann/.config/Code - Insiders/User/profiles/*/mcp.json",
            "/home/ann/Library/Application Support/Code - Insiders/User/profiles/*/mcp.json",
            r"C:\Users\ann\AppData\Roaming\Code - Insiders\User\profiles\*\mcp.json",
        ),
        (
            "cline",
            f"/home/ann/.config/Code/User/{CLINE}",
            f"/home/ann/Library/Application Support/Code/User/{CLINE}",
            rf"C:\Users\ann\AppData\Roaming\Code\User\{CLINE}",
        ),
        (
            "zed",
            "/home/ann/.config/zed/settings.json",
            "/home/ann/.config/zed/settings.json",
            r"C:\Users\ann\AppData\Roaming\Zed\settings.json",
        ),
        (
            "goose",
            "/home/ann/.config/goose/config.yaml",
            "/home/ann/.config/goose/config.yaml",
            r"C:\Users\ann\AppData\Roaming\Block\goose\config\config.yaml",
        ),
    ],
)
def test_a_client_is_looked_for_where_it_keeps_its_file(
    client: str, linux: str, macos: str, windows: str
) -> None:
    assert linux in user_files(BY_NAME[client], machine("linux"))
    assert macos in user_files(BY_NAME[client], machine("darwin"))
    found = user_files(BY_NAME[client], machine("win32", **WINDOWS))
    assert windows.replace("/", "\\") in found


@pytest.mark.parametrize(
    ("client", "environment", "expected"),
    [
        ("claude-code", {"CLAUDE_CONFIG_DIR": "/cc"}, ["/cc/.claude.json"]),
        ("codex", {"CODEX_HOME": "/cx"}, ["/cx/config.toml", "/cx/*.config.toml"]),
        ("amp", {"XDG_CONFIG_HOME": "/x"}, ["/x/amp/settings.json", "/x/amp/settings.jsonc"]),
        ("goose", {"XDG_CONFIG_HOME": "relative"}, ["/home/ann/.config/goose/config.yaml"]),
        (
            "openclaw",
            {"OPENCLAW_CONFIG_PATH": "/oc.json"},
            ["/home/ann/.openclaw/openclaw.json", "/oc.json"],
        ),
        ("openclaw", {"OPENCLAW_STATE_DIR": "/oc"}, ["/oc/openclaw.json"]),
    ],
)
def test_a_variable_moves_a_client_s_file(
    client: str, environment: dict[str, str], expected: list[str]
) -> None:
    assert user_files(BY_NAME[client], machine("linux", **environment)) == expected


def test_no_file_of_an_administrator_is_a_user_s() -> None:
    for platform in ("linux", "darwin", "win32"):
        here = machine(platform)
        for client in CLIENTS:
            managed = managed_files(client, here)
            assert not set(managed) & {*user_files(client, here), *project_files(client, here)}
    codex = managed_files(BY_NAME["codex"], machine("win32", **WINDOWS))
    assert codex == [r"C:\ProgramData\OpenAI\Codex\*.toml"]
    assert managed_files(BY_NAME["claude-code"], machine("darwin")) == [
        "/Library/Application Support/ClaudeCode/managed-mcp.json"
    ]


def test_a_project_s_files_are_in_its_folder() -> None:
    assert project_files(BY_NAME["vscode"], machine("win32")) == [r"D:\site\.vscode\mcp.json"]
    assert project_files(BY_NAME["claude-code"], machine("linux")) == ["/site/.mcp.json"]
