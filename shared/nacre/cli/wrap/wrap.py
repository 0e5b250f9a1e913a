"""The command `nacre wrap`: put the policy in front of servers that clients already use."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option
from nacre.cli.wrap.client_config import program
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.firewall.wrap.client_formats import CLIENTS, Client

if TYPE_CHECKING:
    from nacre.firewall.wrap.client_servers import Found
    from nacre.wiring.features.wrap import Wrapping

Function = TypeVar("Function", bound=Callable[..., Any])

_STATUS = ("status",)
_PASSING = ("archive-v0", "environments-v2", "pipx/.cache")

_OPTIONS = (
    click.argument("servers", metavar="[SERVER]...", nargs=-1),
    click.option("--all", "every", is_flag=True, help="Every server that is there."),
    click.option(
        "--client",
        "clients",
        metavar="NAME",
        multiple=True,
        type=click.Choice([client.name for client in CLIENTS]),
        help=f"Only in this client: {', '.join(client.name for client in CLIENTS)}.",
    ),
    click.option(
        "--project", is_flag=True, help="Also in the project's files of the current folder."
    ),
    click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing."),
    json_option,
)


def server_options(command: Function) -> Function:
    """Give a command the servers that it is about."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


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
    help="What rules, pins and the audit call the server. [default: its name in the client]",
)
@click.option(
    "--base",
    "bases",
    metavar="DIR",
    multiple=True,
    help="A folder from which these servers resolve relative paths. Name all of them; 'none' is "
    "for servers that open no files. [default: what their arguments say, if that is certain]",
)
@placed
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
    place: Place,
) -> int:
    """Put the policy in front of servers that clients already use.

    The client's file then starts Nacre, which starts the server, or calls it. Nothing else in
    the file changes, and 'nacre unwrap' brings back every byte. 'nacre wrap status' lists the
    servers of all clients.
    """
    from nacre.cli.wrap.output import show_done, show_problems, show_status
    from nacre.firewall.wrap.client_servers import by_file, look

    if policy is not None:
        from nacre.firewall.policies.loader import read_policy

        read_policy(policy)
    if bases and every:
        raise InvalidInputError("--base is for servers that you name, not for --all")
    opened = open_place(place, "wrap", str(policy or ""), bases)
    found, problems = look(opened.files, opened.records, opened.machine, chosen_clients(clients))
    if servers == _STATUS:
        return show_status(found, problems, missing_programs(found), as_json=as_json)
    check_selection(servers, every=every)
    wanted = select(found, servers, project=project)
    if name and len(wanted) != 1:
        raise InvalidInputError(
            f"--name is for one server, and {len(wanted)} are meant; name one, and its --client"
        )
    groups = by_file(wanted)
    done = [opened.wrapper.wrap(group, rehearse=dry_run, name=name) for group in groups]
    code = show_done(done, rehearsed=dry_run, as_json=as_json)
    if every:
        show_problems(problems)
    after = found if dry_run else look(opened.files, opened.records, opened.machine)[0]
    _tell_shared_names(after, wanted, name)
    if not dry_run:
        _tell_rules(policy)
        _tell_passing()
    return code or int(every and bool(problems))


def open_place(
    place: Place, command: str, policy: str = "", bases: tuple[str, ...] = ()
) -> "Wrapping":
    """Return what wraps on this machine."""
    from nacre.wiring.features.wrap import open_wrapping

    if place.stack:
        raise InvalidInputError(f"{command} works on this machine; leave --stack out")
    return open_wrapping(place.folder(), program(), policy, bases)


def check_selection(servers: tuple[str, ...], *, every: bool) -> None:
    """Raise InvalidInputError unless servers are named, or all are meant."""
    if bool(servers) == every:
        raise InvalidInputError("name the servers, or give --all; see 'nacre wrap status'")


def select(found: "list[Found]", servers: tuple[str, ...], *, project: bool) -> "list[Found]":
    """Return the servers of these names; NotFoundError for a name that nobody has."""
    from nacre.firewall.wrap.client_servers import choose

    wanted = choose(found, servers, project=project)
    for name in servers:
        if not any(each.server.name == name for each in wanted):
            raise NotFoundError(_unknown(name, found))
    return wanted


def _unknown(name: str, found: "list[Found]") -> str:
    elsewhere = [each for each in found if each.server.name == name]
    if any(each.scope == "project" for each in elsewhere):
        return (
            f"'{name}' stands only in {elsewhere[0].file}, which a project shares; give --project"
            " to change it there"
        )
    if elsewhere:
        return f"'{name}' stands only in {elsewhere[0].file}, which an administrator manages"
    return f"no client has a server '{name}'; see 'nacre wrap status'"


def chosen_clients(names: tuple[str, ...]) -> list[Client]:
    """Return the clients of these names, or all."""
    return [client for client in CLIENTS if not names or client.name in names]


def missing_programs(found: "list[Found]") -> set[str]:
    """Return the programs of proxies that are no longer where their entries say."""
    named = {each.server.proxy.program[0] for each in found if each.server.proxy is not None}
    return {each for each in named if Path(each).is_absolute() and not Path(each).exists()}


def _tell_shared_names(found: "list[Found]", wanted: "list[Found]", name: str) -> None:
    """Warn where rules and pins would take two different servers for one."""
    from nacre.firewall.wrap.client_servers import namesakes

    for rule_name, group in namesakes(found, wanted, name).items():
        places = ", ".join(f"{each.server.name} in {each.client.title}" for each in group)
        click.echo(
            f"warning: rules and pins call different servers '{rule_name}' ({places}), so the tools"
            " of one would wait as changes of the other. Give one of them another name: nacre wrap"
            f" {shlex.quote(group[-1].server.name)} --client {group[-1].client.name} --name OTHER",
            err=True,
        )


def _tell_rules(policy: Path | None) -> None:
    from nacre.wiring.features.policies import policy_path
    from nacre.wiring.settings import Settings

    path = (policy or policy_path(Settings.from_environment())[0]).absolute()
    if path.exists():
        click.echo(f"Rules: {path}", err=True)
    else:
        click.echo(
            "Rules: none yet, so each call is asked about; 'nacre policy init --from-servers'",
            err=True,
        )


def _tell_passing() -> None:
    start = program()[0].replace("\\", "/")
    if any(f"/{part}/" in start for part in _PASSING):
        click.echo(
            f"{start} is in a cache that is emptied at times; install Nacre for good, then wrap"
            " again",
            err=True,
        )
