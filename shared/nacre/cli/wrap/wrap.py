"""The command `nacre wrap`: put the policy in front of servers that clients already use."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nacre.cli.being_options import Place, being_options, combined
from nacre.cli.display import json_option
from nacre.cli.wrap.client_config import program, warn_of_cache
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.firewall.wrap.client_formats import CLIENTS, Client

if TYPE_CHECKING:
    from nacre.firewall.wrap.client_servers import ClientServer
    from nacre.wiring.features.wrap import Wrapping

_STATUS = ("status",)

server_options = combined(
    click.argument("servers", metavar="[SERVER]...", nargs=-1),
    click.option("--all", "every", is_flag=True, help="All servers."),
    click.option(
        "--client",
        "clients",
        metavar="NAME",
        multiple=True,
        type=click.Choice([client.name for client in CLIENTS]),
        help=f"Only in this client: {', '.join(client.name for client in CLIENTS)}.",
    ),
    click.option(
        "--project", is_flag=True, help="Also change project files in the current folder."
    ),
    click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing."),
    json_option,
)
"""The argument and options that select servers."""


@click.command()
@server_options
@click.option(
    "--policy",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Rules for these servers. [default: NACRE_POLICY, or ~/.config/nacre/policy.toml]",
)
@click.option(
    "--name",
    metavar="NAME",
    default="",
    help="The server's name in rules, pins and the audit. [default: its name in the client]",
)
@click.option(
    "--base",
    "bases",
    metavar="DIR",
    multiple=True,
    help="A folder from which these servers resolve relative paths. Name all of them; 'none' means "
    "that they open no files. [default: the folders in their arguments, if that is certain]",
)
@click.option(
    "--confine",
    is_flag=True,
    help="Start these servers with no more rights than your rules name; see "
    "'nacre policy explain --kernel'.",
)
@being_options
def wrap(
    servers: tuple[str, ...],
    *,
    name: str,
    every: bool,
    clients: tuple[str, ...],
    project: bool,
    dry_run: bool,
    as_json: bool,
    policy: Path | None,
    bases: tuple[str, ...],
    confine: bool,
    place: Place,
) -> int:
    """Put the policy in front of servers that clients already use.

    The client then starts Nacre, which starts or calls the server. Nothing else in the client's
    file changes, and 'nacre unwrap' restores every byte. 'nacre wrap status' lists the servers of
    all clients.
    """
    from nacre.cli.wrap.output import show_outcomes, show_problems, show_status
    from nacre.firewall.wrap.client_servers import by_file, find_servers

    if policy is not None:
        from nacre.firewall.policies.loader import read_policy

        read_policy(policy)
    if bases and every:
        raise InvalidInputError("--base is for servers that you name, not for --all")
    opened = open_place(place, "wrap", str(policy or ""), bases, confines=confine)
    all_servers, problems = find_servers(
        opened.files, opened.records, opened.machine, chosen_clients(clients)
    )
    if servers == _STATUS:
        missing = missing_programs(all_servers)
        return show_status(all_servers, problems, missing, as_json=as_json)
    check_selection(servers, every=every)
    selected = select(all_servers, servers, project=project)
    if name and len(selected) != 1:
        raise InvalidInputError(
            f"--name is for one server, not for {len(selected)}; name one, and its --client"
        )
    groups = by_file(selected)
    outcomes = [opened.wrapper.wrap(group, rehearse=dry_run, name=name) for group in groups]
    code = show_outcomes(outcomes, rehearsed=dry_run, as_json=as_json)
    if every:
        show_problems(problems)
    if not dry_run:
        all_servers = find_servers(opened.files, opened.records, opened.machine)[0]
        proxied = {
            (entry.file, entry.server.path)
            for entry in all_servers
            if entry.server.proxy is not None
        }
        selected = [entry for entry in selected if (entry.file, entry.server.path) in proxied]
    _warn_of_shared_names(all_servers, selected, name)
    if not dry_run:
        _show_rules(policy)
        warn_of_cache("wrap")
    return code or int(every and bool(problems))


def open_place(
    place: Place,
    command: str,
    policy: str = "",
    bases: tuple[str, ...] = (),
    *,
    confines: bool = False,
) -> "Wrapping":
    """Return the wrapper of this machine."""
    from nacre.wiring.features.wrap import open_wrapping

    if place.stack:
        raise InvalidInputError(f"{command} works on this machine only; leave out --stack")
    return open_wrapping(place.folder(), program(), policy, bases, confines=confines)


def check_selection(servers: tuple[str, ...], *, every: bool) -> None:
    """Raise InvalidInputError unless servers are named or --all is given, and not both."""
    if bool(servers) == every:
        raise InvalidInputError("name the servers, or give --all; see 'nacre wrap status'")


def select(
    servers: "list[ClientServer]", names: tuple[str, ...], *, project: bool
) -> "list[ClientServer]":
    """Return the servers of these names; raise NotFoundError for a name that none has."""
    from nacre.firewall.wrap.client_servers import select_servers

    selected = select_servers(servers, names, project=project)
    for name in names:
        if not any(entry.server.name == name for entry in selected):
            raise NotFoundError(_unknown(name, servers))
    return selected


def _unknown(name: str, servers: "list[ClientServer]") -> str:
    elsewhere = [entry for entry in servers if entry.server.name == name]
    if any(entry.scope == "project" for entry in elsewhere):
        return (
            f"'{name}' is only in {elsewhere[0].file}, which a project shares; give --project"
            " to change it there"
        )
    if elsewhere:
        return f"'{name}' is only in {elsewhere[0].file}, which an administrator manages"
    return f"no client has a server '{name}'; see 'nacre wrap status'"


def chosen_clients(names: tuple[str, ...]) -> list[Client]:
    """Return the clients of these names, or all."""
    return [client for client in CLIENTS if not names or client.name in names]


def missing_programs(servers: "list[ClientServer]") -> set[str]:
    """Return the programs of proxies that no longer exist."""
    programs = {
        entry.server.proxy.program[0] for entry in servers if entry.server.proxy is not None
    }
    return {file for file in programs if Path(file).is_absolute() and not Path(file).exists()}


def _warn_of_shared_names(
    servers: "list[ClientServer]", wrapped: "list[ClientServer]", name: str
) -> None:
    """Warn if two different servers have the same name in rules and pins."""
    from nacre.firewall.wrap.client_servers import shared_names

    for rule_name, group in shared_names(servers, wrapped, name).items():
        places = ", ".join(f"{entry.server.name} in {entry.client.title}" for entry in group)
        entry = group[-1]
        click.echo(
            f"warning: different servers have the name '{rule_name}' in rules and pins ({places}),"
            " so the tools of one would wait as changes of the other. Rename one of them:"
            f" nacre wrap {shlex.quote(entry.server.name)} --client {entry.client.name}"
            " --name OTHER",
            err=True,
        )


def _show_rules(policy: Path | None) -> None:
    from nacre.wiring.features.policies import policy_path
    from nacre.wiring.settings import Settings

    path = (policy or policy_path(Settings.from_environment())[0]).absolute()
    if path.exists():
        click.echo(f"Rules: {path}", err=True)
    else:
        click.echo(
            "Rules: none yet, so you are asked about each call; run"
            " 'nacre policy init --from-servers'",
            err=True,
        )
