"""An entry that is added to a file of a client, and removed from it again."""

import json
import tomllib

import pytest
import yaml

from nacre.core.errors import ConfigurationError
from nacre.firewall.wrap.added_entry import with_entry, without_entry
from nacre.firewall.wrap.client_formats import CLIENTS, Client
from nacre.firewall.wrap.file_edit import servers
from nacre.firewall.wrap.own_entry import own_entry
from tests.firewall.wrap.client_configs import CONFIGS, Config

URL = "http://127.0.0.1:8642/mcp"
COMMAND = ("/opt/my tools/nacre", "mcp-server", "--being", "Zoë \U0001f41a")
BY_NAME = {client.name: client for client in CLIENTS}
# Continue keeps Nacre in a file of its own.
SHARED_FILES = [config for config in CONFIGS if config.client != "continue"]


def path_in(client: Client) -> tuple[str, ...]:
    return (*client.containers[0], "nacre")


def added(text: str, name: str) -> str:
    client = BY_NAME[name]
    return with_entry(text, client, path_in(client), own_entry(client, URL, COMMAND)).text


@pytest.mark.parametrize("config", SHARED_FILES, ids=lambda config: f"{config.client}")
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["unix", "windows"])
def test_every_byte_of_a_real_file_is_restored(config: Config, ending: str) -> None:
    client = BY_NAME[config.client]
    text = config.text.replace("\n", ending)
    addition = with_entry(text, client, path_in(client), own_entry(client, URL, COMMAND))

    names = [server.name for server in servers(addition.text, client)]
    before = [server.name for server in servers(text, client)]

    assert sorted(names) == sorted([*before, "nacre"])
    assert without_entry(addition.text, client, path_in(client), addition.added) == text


@pytest.mark.parametrize("config", SHARED_FILES, ids=lambda config: f"{config.client}")
def test_an_entry_without_a_record_is_removed_too(config: Config) -> None:
    client = BY_NAME[config.client]

    removed = without_entry(added(config.text, config.client), client, path_in(client))

    assert servers(removed, client) == servers(config.text, client)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("claude-code", ""),
        ("claude-code", "{}"),
        ("claude-code", '{"mcpServers":{"x":{"command":"y"}}}'),
        ("claude-code", '{\n\t"a": 1,\n\t"mcpServers": {}\n}'),
        ("opencode", '{\n  // mine\n  "$schema": "x", // last\n}\n'),
        ("zed", '{\n  "context_servers": {\n    // none\n  },\n}\n'),
        ("openclaw", "{\n  mcp: { },\n}\n"),
        ("codex", ""),
        ("codex", 'model = "o"'),
        ("codex", '[mcp_servers.x]\ncommand = "y"\n\n[tools]\na = 1\n'),
        ("goose", ""),
        ("goose", "# mine\n"),
        ("goose", "extensions:\n  dev:\n    enabled: true\n    type: builtin\nGOOSE_MODEL: x\n"),
        ("goose", "GOOSE_MODEL: x # last"),
    ],
)
def test_small_and_empty_files_get_an_entry_and_lose_it(name: str, text: str) -> None:
    client = BY_NAME[name]
    addition = with_entry(text, client, path_in(client), own_entry(client, URL, COMMAND))

    assert [server.name for server in servers(addition.text, client)][-1] == "nacre"
    assert without_entry(addition.text, client, path_in(client), addition.added) == text
    assert "nacre" not in without_entry(addition.text, client, path_in(client))


def test_other_readers_see_the_same_entry() -> None:
    claude = json.loads(added("", "claude-code"))
    codex = tomllib.loads(added('model = "o"\n', "codex"))
    goose = yaml.safe_load(added("GOOSE_MODEL: x\n", "goose"))

    assert claude == {"mcpServers": {"nacre": {"type": "http", "url": URL}}}
    assert codex == {"model": "o", "mcp_servers": {"nacre": {"url": URL}}}
    assert goose["extensions"]["nacre"]["cmd"] == COMMAND[0]
    assert goose["extensions"]["nacre"]["args"] == [*COMMAND[1:]]
    assert goose["extensions"]["nacre"]["enabled"] is True


def test_what_was_rewritten_since_loses_only_the_entry() -> None:
    client = BY_NAME["claude-code"]
    addition = with_entry('{"a": 1}', client, path_in(client), own_entry(client, URL, COMMAND))
    rewritten = json.dumps({**json.loads(addition.text), "b": 2}, indent=4)

    removed = without_entry(rewritten, client, path_in(client), addition.added)

    assert json.loads(removed) == {"a": 1, "mcpServers": {}, "b": 2}


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("claude-code", "[]", "not a map"),
        ("claude-code", '{"mcpServers": []}', "'mcpServers' in it is not a map"),
        ("claude-code", '{"mcpServers": {}, "mcpServers": {}}', "there twice"),
        ("claude-code", "{", "line 1"),
        ("codex", 'mcp_servers = { x = { command = "y" } }\n', "cannot be edited safely"),
        ("goose", "extensions: {}\n", "cannot be extended"),
        ("goose", "extensions:\n", "not a map"),
        ("goose", "extensions: &all\n  dev:\n    enabled: true\n", "anchor"),
    ],
)
def test_what_cannot_be_edited_safely_is_refused(name: str, text: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        added(text, name)


def test_no_entry_has_a_token_and_each_is_known_as_ours() -> None:
    for client in CLIENTS:
        if client.own_file:
            continue
        text = added("", client.name)
        [server] = servers(text, client)

        assert server.is_ours, client.name
        assert "brt_" not in text
