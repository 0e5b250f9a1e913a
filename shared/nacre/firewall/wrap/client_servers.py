"""The servers of all clients on this machine, with their files and who may change them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from nacre.core.errors import NacreError
from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.wrap.client_formats import (
    CLIENTS,
    Client,
    Machine,
    managed_files,
    project_files,
    user_files,
)
from nacre.firewall.wrap.file_edit import Server, servers
from nacre.ports.other_programs.config_files import ConfigFiles, WrapRecords

Scope = Literal["user", "project", "managed"]


@dataclass(frozen=True, slots=True)
class ClientServer:
    """A server in a client's file."""

    client: Client
    file: str
    scope: Scope
    server: Server


@dataclass(frozen=True, slots=True)
class UnreadableFile:
    """A file that cannot be read, and the reason."""

    client: Client
    file: str
    reason: str


def find_servers(
    files: ConfigFiles, records: WrapRecords, machine: Machine, clients: Sequence[Client] = CLIENTS
) -> tuple[list[ClientServer], list[UnreadableFile]]:
    """Return all servers of the clients, and the files that cannot be read."""
    client_servers: list[ClientServer] = []
    problems: list[UnreadableFile] = []
    for client, file, scope in _files(files, records, machine, clients):
        try:
            listed = servers(files.read(file), client)
        except NacreError as error:
            problems.append(UnreadableFile(client, file, reason_without_file(file, error)))
            continue
        client_servers += [ClientServer(client, file, scope, server) for server in listed]
    return client_servers, problems


def select_servers(
    servers: Iterable[ClientServer], names: Sequence[str], *, project: bool
) -> list[ClientServer]:
    """Return the servers of these names that may be changed; without names, all of them.

    Files of a project are changed only on request, because other people share them.
    """
    scopes = ("user", "project") if project else ("user",)
    return [
        entry
        for entry in servers
        if entry.scope in scopes
        and (entry.server.name in names if names else not entry.server.is_built_in)
    ]


def shared_names(
    servers: Iterable[ClientServer], wrapped: Sequence[ClientServer], name: str = ""
) -> dict[str, list[ClientServer]]:
    """Return the names in rules that several different servers have, with these servers.

    Only the names of `wrapped` count; `name` is their name if it is given. The last server of
    each group is one of `wrapped`.
    """
    groups: dict[str, list[ClientServer]] = {}
    keys = {(entry.file, entry.server.path) for entry in wrapped}
    for entry in sorted(servers, key=lambda entry: (entry.file, entry.server.path) in keys):
        is_wrapped_now = (entry.file, entry.server.path) in keys
        if is_wrapped_now or entry.server.proxy is not None:
            rule_name = _rule_name(entry, name if is_wrapped_now else "")
            groups.setdefault(rule_name, []).append(entry)
    names = {_rule_name(entry, name) for entry in wrapped}
    return {
        rule_name: group
        for rule_name, group in groups.items()
        if rule_name in names and len({entry.server.address for entry in group} - {""}) > 1
    }


def _rule_name(entry: ClientServer, name: str) -> str:
    proxy = entry.server.proxy
    return name or (proxy.first("--name") if proxy else "") or entry.server.name


def by_file(servers: Iterable[ClientServer]) -> list[list[ClientServer]]:
    """Return servers in groups, one for each file of a client."""
    groups: dict[tuple[str, str], list[ClientServer]] = {}
    for entry in servers:
        groups.setdefault((entry.client.name, entry.file), []).append(entry)
    return list(groups.values())


def reason_without_file(file: str, error: NacreError) -> str:
    """Return the text of an error without the name of the file, which is shown next to it."""
    return str(error).removeprefix(f"{file}: ")


def _files(
    files: ConfigFiles, records: WrapRecords, machine: Machine, clients: Sequence[Client]
) -> Iterator[tuple[Client, str, Scope]]:
    """Yield each existing file of the clients once."""
    for client in clients:
        yielded: set[str] = set()
        patterns: tuple[tuple[Scope, list[str]], ...] = (
            ("managed", managed_files(client, machine)),
            ("user", user_files(client, machine)),
            ("project", project_files(client, machine)),
            ("project", [record.file for record in records.all() if record.client == client.name]),
        )
        for scope, globs in patterns:
            for file in files.find(globs):
                if file not in yielded:
                    yielded.add(file)
                    yield client, file, scope
