"""The servers of the clients that are here: in which file each stands, and who may change it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from nacre.errors import NacreError
from nacre.gateway.clients import (
    CLIENTS,
    Client,
    Machine,
    managed_files,
    project_files,
    user_files,
)
from nacre.gateway.wrapping import Server, servers
from nacre.ports.config_files import ConfigFiles, WrapRecords

Scope = Literal["user", "project", "managed"]


@dataclass(frozen=True, slots=True)
class Found:
    """A server in a client's file."""

    client: Client
    file: str
    scope: Scope
    server: Server


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that cannot be read, and why."""

    client: Client
    file: str
    reason: str


def look(
    files: ConfigFiles, records: WrapRecords, machine: Machine, clients: Sequence[Client] = CLIENTS
) -> tuple[list[Found], list[Problem]]:
    """Return every server that the clients have, and the files that cannot be read."""
    found: list[Found] = []
    problems: list[Problem] = []
    for client, file, scope in _places(files, records, machine, clients):
        try:
            listed = servers(files.read(file), client)
        except NacreError as error:
            problems.append(Problem(client, file, without(file, error)))
            continue
        found += [Found(client, file, scope, server) for server in listed]
    return found, problems


def choose(found: Iterable[Found], names: Sequence[str], *, project: bool) -> list[Found]:
    """Return the servers of these names that may be changed; without names, all that can be.

    Files of a project are for those who asked: others read them too.
    """
    scopes = ("user", "project") if project else ("user",)
    wanted = [
        each
        for each in found
        if (each.server.name in names if names else not each.server.is_built_in)
    ]
    return [each for each in wanted if each.scope in scopes]


def by_file(found: Iterable[Found]) -> list[list[Found]]:
    """Return servers in groups, one for each file of a client."""
    groups: dict[tuple[str, str], list[Found]] = {}
    for each in found:
        groups.setdefault((each.client.name, each.file), []).append(each)
    return list(groups.values())


def without(file: str, error: NacreError) -> str:
    """Return an error's words without the file, which stands beside them."""
    return str(error).removeprefix(f"{file}: ")


def _places(
    files: ConfigFiles, records: WrapRecords, machine: Machine, clients: Sequence[Client]
) -> Iterator[tuple[Client, str, Scope]]:
    """Yield the files of clients; one that several patterns lead to, once."""
    for client in clients:
        seen: set[str] = set()
        patterns: tuple[tuple[Scope, list[str]], ...] = (
            ("managed", managed_files(client, machine)),
            ("user", user_files(client, machine)),
            ("project", project_files(client, machine)),
            ("project", [r.file for r in records.all() if r.client == client.name]),
        )
        for scope, each in patterns:
            for file in files.find(each):
                if file not in seen:
                    seen.add(file)
                    yield client, file, scope
