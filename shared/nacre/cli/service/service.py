"""The command `nacre service`: let the system start the server."""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import click

from nacre.cli.being_options import Place, being_options
from nacre.cli.display import json_option, show_json
from nacre.cli.exit_codes import FAILURE, OK
from nacre.cli.program_state import difference
from nacre.cli.serve.listening import is_loopback
from nacre.cli.serve.serve import PORT, ask_name
from nacre.cli.service.definition import Definition, Manager
from nacre.cli.wrap.client_config import command_to_type, is_in_cache, program
from nacre.cli.wrap.connect import connector_of
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.firewall.wrap.client_formats import CLIENTS
from nacre.wiring.server_registry import running_servers
from nacre.wiring.settings import service_variables


@click.group()
def service() -> None:
    """Start the server with this machine."""


@service.command()
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help=f"Port to listen on. [default: the port that clients were given, else {PORT}]",
)
@click.option("--dry-run", is_flag=True, help="Show the file of the service, and change nothing.")
@being_options
def install(port: int | None, *, dry_run: bool, place: Place) -> None:
    """Install the service and start it: systemd on Linux, launchd on macOS.

    The service gets the settings of this terminal, but no secrets. It writes its log where the
    system keeps logs. Install it again to change the port, the folder or a setting.
    """
    if place.stack:
        raise InvalidInputError("a service runs on this machine; a stack needs none")
    manager = manager_of_this_machine()
    definition = _definition(place, port or _port_of_clients(place) or PORT)
    if dry_run:
        click.echo(manager.text(definition), nl=False)
        return
    for name in service_variables()[1]:
        click.echo(f"warning: {name} is a secret, so the service does not get it", err=True)
    link = _prepared(place, definition)
    warning = manager.install(definition)
    also = "" if warning else " and starts with this machine"
    click.echo(f"Nacre runs at {url_of(definition)}/mcp{also}.")
    if link:
        click.echo(f"Sign in once: {url_of(definition)}{link}")
    click.echo(f"Next, connect your clients: {command_to_type('connect', '--all')}", err=True)
    click.echo(f"Log: {manager.log_command}", err=True)
    if warning:
        click.echo(warning, err=True)


@service.command()
@json_option
def status(*, as_json: bool) -> int:
    """Show whether the service is installed and runs. The exit code is 1 if it does not run."""
    manager = manager_of_this_machine()
    definition = manager.installed()
    state = manager.state() if definition else "not installed"
    problem, advice = outdated_service(manager, definition) if definition else ("", "")
    if as_json:
        url = f"{url_of(definition)}/mcp" if definition else None
        files = {"file": manager.file, "log": manager.log_command}
        show_json({"state": state, "url": url, **files, "outdated": problem or None})
    elif definition is None:
        click.echo("The service is not installed.")
    else:
        click.echo(f"State: {state}\nURL:   {url_of(definition)}/mcp\nFile:  {manager.file}")
        click.echo(f"Data:  {definition.value_of('--data-dir')}\nLog:   {manager.log_command}")
        if problem:
            click.echo(f"warning: {problem}", err=True)
            click.echo(f"hint: {advice}", err=True)
    return OK if state == "running" else FAILURE


@service.command()
def uninstall() -> None:
    """Stop the service and remove it. The data stays."""
    manager = manager_of_this_machine()
    if manager.installed() is None:
        raise NotFoundError("the service is not installed")
    manager.uninstall()
    click.echo("The service is stopped and removed. Your data is where it was.", err=True)


def outdated_service(manager: Manager, definition: Definition) -> tuple[str, str]:
    """Return how the running server differs from this program, with advice, or empty texts."""
    process = manager.process()
    for server in running_servers(Path(definition.value_of("--data-dir"))):
        if server.process == process and (problem := difference(server.program)):
            return problem, f"run: {_renewal(manager, definition)}"
    return "", ""


def _renewal(manager: Manager, definition: Definition) -> str:
    """Return the command after which the service runs this program."""
    this = tuple(program())
    is_this = definition.command[: len(this)] == this
    return manager.restart_command if is_this else command_to_type("service", "install")


def manager_of_this_machine() -> Manager:
    """Return the manager of this system; raise InvalidInputError if Nacre does not support it."""
    home = str(Path.home())
    if sys.platform == "darwin":
        from nacre.cli.service.launchd import LaunchAgent

        return LaunchAgent(home, os.getuid())
    if sys.platform.startswith("linux"):
        from nacre.cli.service.systemd import SystemdUser

        return SystemdUser(home, os.environ)  # noqa: TID251  only the folder of the unit
    raise InvalidInputError(
        f"nacre service knows Linux and macOS, not {sys.platform}; on Windows, let the Task "
        "Scheduler run 'nacre serve --log --quiet' when you log on"
    )


def _definition(place: Place, port: int) -> Definition:
    command = program()
    if is_in_cache(command):
        raise InvalidInputError(
            f"{command[0]} is in a cache, which its tool empties; install nacre with "
            "'uv tool install' or pipx, and run that one"
        )
    folder = str(Path(place.folder()).expanduser().absolute())
    owner = ["--owner", place.owner] if place.owner else []
    options = ["--port", str(port), "--log", "--quiet", "--data-dir", folder, *owner]
    return Definition((*command, "serve", *options), service_variables()[0])


def _prepared(place: Place, definition: Definition) -> str:
    """Create the first Being if there is none; return the path of a sign-in link, or ""."""
    from nacre.wiring.laptop import first_being, open_laptop

    home = open_laptop(definition.value_of("--data-dir"))
    try:
        home.owners.get(place.owner_name)
        if first_being(home, place.owner_name, ask_name) is None:
            return ""
        return str(home.authority.sign_in.links.make(place.owner_name).path)
    finally:
        home.close()


def _port_of_clients(place: Place) -> int | None:
    """Return the port on this machine that most clients use, None if no client uses one."""
    ports = Counter(ports_of_clients(place)).most_common(1)
    return ports[0][0] if ports else None


def ports_of_clients(place: Place) -> Iterator[int]:
    """Yield the port on this machine that each connected client uses."""
    connector = connector_of(place)
    for connection in map(connector.state, CLIENTS):
        try:
            parts = urlsplit(connection.address)
            port, host = parts.port, parts.hostname or ""
        except ValueError:
            continue
        if connection.state == "connected" and port and is_loopback(host):
            yield port


def url_of(definition: Definition) -> str:
    """Return the address of the service, without a path."""
    return f"http://127.0.0.1:{definition.value_of('--port')}"
