"""Checks of doctor about clients: whether Nacre is configured, and wrapped servers can start."""

import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.being.memory.text.memory_text import counted
from nacre.cli.being_options import Place
from nacre.cli.operate.finding import Finding
from nacre.cli.wrap.client_config import SERVER_NAME
from nacre.core.errors import NacreError
from nacre.firewall.wrap.config_tree import value_of
from nacre.firewall.wrap.json_tree import Json

if TYPE_CHECKING:
    from nacre.firewall.wrap.client_servers import ClientServer

_ADVICE = "'nacre token create' makes a token; the README shows what to paste"
_WRAPPED = "wrapped servers"


def client_files(home: Path, platform: str = sys.platform) -> Mapping[str, Path]:
    """Return the configuration file of each client on a platform."""
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
    """Check the configuration of every installed client."""
    files = {name: path for name, path in client_files(home).items() if path.exists()}
    if not files:
        yield Finding("clients", "warn", "no configuration of a client was found", _ADVICE)
    for name, path in files.items():
        yield _check(name, path)


def _check(name: str, path: Path) -> Finding:
    check = f"client {name}"
    try:
        # Most clients allow comments and trailing commas.
        configured = _mentions(value_of(Json().parse(path.read_text(encoding="utf-8-sig"))))
    except (OSError, ValueError, RecursionError, NacreError):
        advice = "repair the file, or let the client write a new one"
        return Finding(check, "warn", f"{path} cannot be read as JSON", advice)
    if configured:
        return Finding(check, "ok", f"{path} names {SERVER_NAME}")
    return Finding(check, "warn", f"{path} does not name {SERVER_NAME}", _ADVICE)


def _mentions(value: object) -> bool:
    """Tell whether Nacre is in any list of servers, at any depth."""
    if isinstance(value, dict):
        for key in ("mcpServers", "servers"):
            servers = value.get(key)
            if isinstance(servers, dict) and SERVER_NAME in servers:
                return True
        return any(map(_mentions, value.values()))
    return isinstance(value, list) and any(map(_mentions, value))


def check_wrapped(place: Place) -> Iterator[Finding]:
    """Check whether every wrapped server can be started."""
    from nacre.cli.wrap.wrap import missing_programs, open_place
    from nacre.firewall.wrap.client_servers import find_servers

    if not (Path(place.folder()).expanduser() / "wrap").is_dir():
        return
    opened = open_place(place, "doctor")
    servers, problems = find_servers(opened.files, opened.records, opened.machine)
    missing = missing_programs(servers)
    wrapped = 0
    is_broken = False
    for entry in servers:
        if entry.server.proxy is None:
            continue
        wrapped += 1
        name = f"{entry.server.name} of {entry.client.title}"
        if entry.server.proxy.program[0] in missing:
            is_broken = True
            yield Finding(
                _WRAPPED, "fail", f"{name} starts a nacre that is missing", "run 'nacre wrap --all'"
            )
        if _is_missing(program := _inner_program(entry)):
            is_broken = True
            problem = f"{name} starts {program!r}, which is not installed"
            yield Finding(_WRAPPED, "fail", problem, f"install it, or correct it in {entry.file}")
    for unreadable in problems:
        problem = f"{unreadable.file}: {unreadable.reason}"
        yield Finding(_WRAPPED, "warn", problem, f"repair the file of {unreadable.client.title}")
    if wrapped and not is_broken:
        yield Finding(_WRAPPED, "ok", f"{counted(wrapped, 'server')} can be started")


def _inner_program(entry: "ClientServer") -> str:
    """Return the program that a wrapped server's proxy starts, or an empty text."""
    proxy = entry.server.proxy
    return proxy.inner[0] if proxy is not None and proxy.inner else ""


def _is_missing(program: str) -> bool:
    """Tell whether a program is neither at its path nor, for a plain name, on the PATH."""
    if not program or program.startswith(("$", "%", "~")) or "{" in program:
        return False  # the client fills it in
    return shutil.which(program) is None
