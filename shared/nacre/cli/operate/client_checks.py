"""Checks of doctor about clients: whether Nacre is configured, and wrapped servers can start."""

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from nacre.being.memory.text.memory_text import counted
from nacre.cli.being_options import Place
from nacre.cli.operate.doctor_checks import http_status
from nacre.cli.operate.finding import Finding
from nacre.cli.wrap.connect import connector_of, hook_connector_of
from nacre.core.errors import NacreError
from nacre.core.own_server_name import OWN
from nacre.firewall.wrap.client_formats import CLIENTS, Client
from nacre.http_client.address import parse_address
from nacre.wiring.outgoing import outgoing_of
from nacre.wiring.settings import Settings

if TYPE_CHECKING:
    from nacre.firewall.wrap.client_servers import ClientServer
    from nacre.firewall.wrap.connector import Connection

_WRAPPED = "wrapped servers"
_PATIENCE_SECONDS = 2


def check_clients(place: Place) -> Iterator[Finding]:
    """Check for every installed client whether it has Nacre, and can reach it."""
    connector = connector_of(place)
    installed = [
        connection
        for connection in map(connector.state, CLIENTS)
        if connection.state != "not installed"
    ]
    if not installed:
        advice = "'nacre connect CLIENT' writes one; docs/guides/connect.md shows what to paste"
        yield Finding("clients", "warn", "no configuration of a client was found", advice)
    hooks = hook_connector_of(place)
    for connection in installed:
        plugin = hooks.plugin(connection.client)
        if plugin is not None and connection.state == "not connected":
            check = f"client {connection.client.title}"
            yield Finding(check, "ok", f"{plugin.file} enables its plugin, which starts {OWN}")
        else:
            yield _check(connection)
    for client in CLIENTS:
        yield from _check_hooks(hooks.programs(client))


def _check_hooks(hooks: "Connection") -> Iterator[Finding]:
    """Check whether the program that a client's hooks start is there."""
    check = f"hooks of {hooks.client.title}"
    again = f"run 'nacre connect {hooks.client.name} --hooks'"
    if hooks.state == "refused":
        yield Finding(check, "warn", f"{hooks.file} cannot be read: {hooks.note}", again)
    elif hooks.state == "connected" and _is_missing(hooks.address):
        problem = f"{hooks.file} starts a {OWN} that is not there: {hooks.address[:200]}"
        yield Finding(check, "warn", problem, again)
    elif hooks.state == "connected":
        yield Finding(check, "ok", f"{hooks.file} starts {OWN}")


def _check(connection: "Connection") -> Finding:
    client, file = connection.client, connection.file
    check = f"client {client.title}"
    if connection.state == "refused":
        problem = f"{file} cannot be read: {connection.note}"
        return Finding(check, "warn", problem, "repair the file, or let the client write a new one")
    if connection.state == "not connected":
        problem = f"{file} does not name {OWN}"
        return Finding(check, "warn", problem, f"run 'nacre connect {client.name}'")
    if not connection.address.startswith(("http://", "https://")):
        if _is_installed(connection.address):
            return Finding(check, "ok", f"{file} starts {OWN}")
        problem = f"{file} starts a {OWN} that is not there: {connection.address[:200]}"
        return Finding(check, "warn", problem, _again(client))
    if _answers(connection.address):
        return Finding(check, "ok", f"{file} names {OWN}, which answers at {connection.address}")
    problem = f"{file} names {OWN} at {connection.address}, where no server answers"
    return Finding(check, "warn", problem, "run 'nacre serve', or connect it to another URL")


def _is_installed(command: str) -> bool:
    """Return whether the program of a command line exists; its path may have spaces."""
    words = command.split(" ")
    return any(not _is_missing(" ".join(words[:count])) for count in range(1, len(words) + 1))


def _again(client: Client) -> str:
    return f"run 'nacre disconnect {client.name}', then 'nacre connect {client.name}'"


def _answers(url: str) -> bool:
    """Return whether something listens at the host and port of a URL."""
    try:
        address = parse_address(url)
        if outgoing_of(Settings.from_environment()).proxies.route(address) is not None:
            return http_status(url) is not None
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), timeout=_PATIENCE_SECONDS):
            return True
    except (OSError, ValueError, NacreError):
        return False


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
