"""Where agents keep their MCP configuration, and whether Nacre is in it."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from nacre.cli.finding import Finding
from nacre.cli.wrap.client_config import SERVER_NAME
from nacre.core.errors import NacreError
from nacre.firewall.wrap.config_tree import value_of
from nacre.firewall.wrap.json_tree import Json

_ADVICE = "'nacre token create' makes a token; the README shows what to paste"


def client_files(home: Path, platform: str = sys.platform) -> Mapping[str, Path]:
    """Return each client's configuration file on a platform."""
    applications = {
        "darwin": home / "Library" / "Application Support",
        "win32": home / "AppData" / "Roaming",
    }.get(platform, home / ".config")
    return {
        "Claude Code": home / ".claude.json",
        "Claude Desktop": applications / "Claude" / "claude_desktop_config.json",
        "Cursor": home / ".cursor" / "mcp.json",
        "VS Code": applications / "Code" / "User" / "mcp.json",
    }


def check_clients(home: Path) -> Iterator[Finding]:
    """Look at the configuration of every client that is installed."""
    files = {name: path for name, path in client_files(home).items() if path.exists()}
    if not files:
        yield Finding("clients", "warn", "no client's configuration was found", _ADVICE)
    for name, path in files.items():
        yield _check(name, path)


def _check(name: str, path: Path) -> Finding:
    check = f"client {name}"
    try:
        # With comments and commas at the end, as most clients allow them.
        configured = _mentions(value_of(Json().parse(path.read_text(encoding="utf-8-sig"))))
    except (OSError, ValueError, RecursionError, NacreError):
        advice = "repair the file, or let the client write it anew"
        return Finding(check, "warn", f"{path} cannot be read as JSON", advice)
    if configured:
        return Finding(check, "ok", f"{path} names {SERVER_NAME}")
    return Finding(check, "warn", f"{path} does not name {SERVER_NAME}", _ADVICE)


def _mentions(value: object) -> bool:
    """Tell whether a server of our name stands in any list of servers, however deep."""
    if isinstance(value, dict):
        for key in ("mcpServers", "servers"):
            servers = value.get(key)
            if isinstance(servers, dict) and SERVER_NAME in servers:
                return True
        return any(map(_mentions, value.values()))
    return isinstance(value, list) and any(map(_mentions, value))
