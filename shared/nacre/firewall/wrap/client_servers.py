"""The servers of the clients that are here: in which file each stands, and who may change it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from nacre.core.errors import NacreError
from nacre.firewall.wrap.client_formats import (
    CLIENTS,
    Client,
    Machine,
    managed_files,
    project_files,
    user_files,
)
from nacre.firewall.wrap.file_edit import Server, servers
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


def namesakes(
    found: Iterable[Found], wanted: Sequence[Found], name: str = ""
) -> dict[str, list[Found]]:
    """Return, by the name that rules use, the different servers that have it.

    `wanted` are about to be wrapped, under `name` where it is given; only names of theirs count.
    The last of each group is one of them.
    """
    groups: dict[str, list[Found]] = {}
    chosen = {(each.file, each.server.path) for each in wanted}
    for each in sorted(found, key=lambda one: (one.file, one.server.path) in chosen):
        is_chosen = (each.file, each.server.path) in chosen
        if is_chosen or each.server.proxy is not None:
            groups.setdefault(_rule_name(each, name if is_chosen else ""), []).append(each)
    named = {_rule_name(each, name) for each in wanted}
    return {
        rule_name: group
        for rule_name, group in groups.items()
        if rule_name in named and len({each.server.what for each in group if each.server.what}) > 1
    }


def _rule_name(found: Found, name: str) -> str:
    proxy = found.server.proxy
    return name or (proxy.first("--name") if proxy else "") or found.server.name


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
