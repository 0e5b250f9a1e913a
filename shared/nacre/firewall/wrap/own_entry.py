"""Nacre's own entry in the file of each client.

A client that can log in gets the URL, and nothing else. Every other client gets the command of the
stdio server. No entry has a token in it, so a file that is shared or backed up gives nothing away.
"""

import json
from collections.abc import Mapping, Sequence

from nacre.core.own_server_name import OWN
from nacre.firewall.wrap.client_formats import Client
from nacre.firewall.wrap.config_tree import RawValue, Value

_TRUE = RawValue("true")

# Clients that log in by URL; with the members of their entries besides the URL.
_BY_URL: Mapping[str, Mapping[str, Value]] = {
    "claude-code": {"type": "http"},
    "codex": {},
    "cursor": {},
    "gemini-cli": {},
    "opencode": {"type": "remote", "enabled": _TRUE},
    "vscode": {"type": "http"},
}
_LOGINS: Mapping[str, str] = {
    "claude-code": "claude mcp login nacre",
    "codex": "codex mcp login nacre",
    "cursor": "click 'Connect' at nacre in its settings",
    "gemini-cli": "/mcp auth nacre, in a session",
    "opencode": "opencode mcp auth nacre",
    "vscode": "start nacre in 'MCP: List Servers'",
}
# Members that a client wants besides the command.
_BY_COMMAND: Mapping[str, Mapping[str, Value]] = {
    "copilot-cli": {"type": "local", "tools": ["*"]},
    "zed": {"source": "custom"},
    "goose": {
        "name": OWN,
        "type": "stdio",
        "enabled": _TRUE,
        "timeout": RawValue("300"),
    },
}


def own_entry(client: Client, url: str, command: Sequence[str]) -> dict[str, Value]:
    """Return the entry for a client, with the URL or the command."""
    shape = client.shape
    if client.name in _BY_URL:
        return {**_BY_URL[client.name], shape.http or shape.urls[0]: url}
    program, *arguments = command
    return {
        **_BY_COMMAND.get(client.name, {}),
        shape.command: program,
        shape.args: [*arguments],
    }


def own_file(client: Client, command: Sequence[str]) -> str:
    """Return the whole text of the file for Nacre, for a client with a file for each server."""
    members = {"name": OWN, **own_entry(client, "", command)}
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in members.items()]
    server = "\n    ".join(lines)
    return f'name: "{OWN}"\nversion: "0.0.1"\nschema: "v1"\nmcpServers:\n  - {server}\n'


def is_by_url(client: Client) -> bool:
    """Return whether a client gets the URL, so that the server must run."""
    return client.name in _BY_URL


def login_of(client: Client) -> str:
    """Return how a person logs in with a client, or "" if it needs no login."""
    return _LOGINS.get(client.name, "")
