"""The commands `nacre connect` and `nacre disconnect`: Nacre itself in the files of clients."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nacre.cli.being_options import Place, being_options, combined, given_profile
from nacre.cli.display import json_option, show_json, show_table
from nacre.cli.exit_codes import FAILURE, OK, tell
from nacre.cli.policy.policy_file import profile_named
from nacre.cli.wrap.client_config import program, warn_of_cache
from nacre.core.errors import InvalidInputError
from nacre.core.own_server_name import OWN
from nacre.firewall.wrap.client_formats import CLIENTS, Client
from nacre.firewall.wrap.own_entry import is_by_url, login_of

if TYPE_CHECKING:
    from nacre.firewall.wrap.connector import Connection, Connector
    from nacre.firewall.wrap.hooks.connector import HookConnector

_INSTRUCTIONS = """Put this into its instructions for the model:

Before your first answer call get_context and act on its system_prompt.
On every turn call recall with my message first. Record what matters with update_notes.
"""

_client_options = combined(
    click.argument(
        "names",
        metavar="[CLIENT]...",
        nargs=-1,
        type=click.Choice([client.name for client in CLIENTS]),
    ),
    click.option("--all", "every", is_flag=True, help="Every client that is installed."),
    click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing."),
    json_option,
)


@click.command()
@_client_options
@click.option(
    "--url",
    metavar="URL",
    default="",
    help="The server's URL. [default: that of the running server, else the usual port]",
)
@click.option(
    "--profile",
    callback=given_profile,
    metavar="NAME",
    help="Connect to this profile of the policy only.",
)
@click.option(
    "--hooks", "with_hooks", is_flag=True, help="Also add hooks, which recall and capture."
)
@being_options
def connect(
    names: tuple[str, ...],
    *,
    every: bool,
    dry_run: bool,
    as_json: bool,
    url: str,
    profile: str,
    with_hooks: bool,
    place: Place,
) -> int:
    """Put Nacre into the configuration of your clients.

    A client that can log in gets the URL, and every other client the command that starts Nacre.
    No token is written, and no file of a project is changed. 'nacre disconnect' restores the file
    byte for byte. Without a CLIENT, the command lists the clients that are installed. A client that
    is connected already gets another address only by --url, --profile or --being.

    With --hooks, the client also calls 'nacre hook' at each event, which recalls memories and
    captures conversations after 'nacre capture allow'. For a client without hooks, the command
    prints instructions for its model instead.
    """
    from nacre.wiring.data_folder import prepare_data_folder

    if place.stack and not url:
        raise InvalidInputError("give the stack's URL: --url, with the value of its output McpUrl")
    if profile and with_hooks:
        raise InvalidInputError(
            "hooks recall from and capture into the whole Being; leave out --hooks or --profile"
        )
    if not names and not every:
        hooks = hook_connector_of(place)
        listed = _installed(connector_of(place))
        return _show(
            [
                (connection.state == "not connected" and hooks.plugin(connection.client))
                or connection
                for connection in listed
            ],
            as_json=as_json,
        )
    if not dry_run:
        prepare_data_folder(place.folder())
    if profile and not place.stack:
        profile_named(place.open().policies.of(_being_id(place)).policy, profile)
    if profile and url:
        url = f"{url.rstrip('/')}/{profile}"
    moves = bool(url or profile or place.being)
    connector = connector_of(place, url or _server_url(place, profile), profile)
    clients = _chosen(connector, names, every=every)
    hooks = hook_connector_of(place)
    # A plugin starts Nacre as it is; an entry beside it is for something else.
    plugins = [] if moves or place.data_dir else list(filter(None, map(hooks.plugin, clients)))
    done = [
        *plugins,
        *(
            connector.connect(client, rehearse=dry_run, moves=moves)
            for client in clients
            if client not in [plugin.client for plugin in plugins]
        ),
    ]
    if with_hooks:
        added = [hooks.connect(client, rehearse=dry_run) for client in clients]
        done += [connection for connection in added if connection not in plugins]
    code = _show(done, as_json=as_json, rehearsed=dry_run)
    if not dry_run:
        _show_next_steps(done)
        if any(connection.state == "connected" for connection in done):
            warn_of_cache("connect")
    return code


@click.command()
@_client_options
@being_options
def disconnect(
    names: tuple[str, ...], *, every: bool, dry_run: bool, as_json: bool, place: Place
) -> int:
    """Take Nacre out of the configuration of your clients.

    A file that 'nacre connect' changed is restored byte for byte. If the client has rewritten it
    since, only Nacre's entry is removed.
    """
    if not names and not every:
        raise InvalidInputError("name the clients, or give --all; see 'nacre connect'")
    connector = connector_of(place)
    # In the reverse order of connecting, so that each finds the file as it was left.
    hooks = hook_connector_of(place)
    clients = _chosen(connector, names, every=every)
    changes = [hooks.disconnect(client, rehearse=dry_run) for client in clients]
    done = [connector.disconnect(client, rehearse=dry_run) for client in clients]
    done += [change for change in changes if change.state != "not connected"]
    code = _show(done, as_json=as_json, rehearsed=dry_run)
    for plugin in filter(None, map(hooks.plugin, clients)):
        click.echo(
            f"{plugin.client.title} still has the plugin: claude plugin uninstall {OWN}", err=True
        )
    return code


def connector_of(place: Place, url: str = "", profile: str = "") -> "Connector":
    """Return the connector of this machine. Only connecting needs the URL of the server."""
    from nacre.wiring.features.wrap import open_connector

    folder = Path(place.folder()).expanduser().absolute()
    being = ["--being", place.being] if place.being else []
    owner = ["--owner", place.owner] if place.owner else []
    inside = ["--profile", profile] if profile else []
    command = [*program(), "mcp-server", "--data-dir", str(folder), *owner, *being, *inside]
    return open_connector(folder, url, command)


def hook_connector_of(place: Place) -> "HookConnector":
    """Return the connector of the hooks on this machine."""
    from nacre.wiring.features.wrap import open_hook_connector

    return open_hook_connector(Path(place.folder()).expanduser().absolute(), program())


def _being_id(place: Place) -> str | None:
    return place.open_being()[1].being_id if place.being else None


def _server_url(place: Place, profile: str = "") -> str:
    """Return the URL of the running server, else the usual one, with the Being that is named.

    A profile takes the place of the Being there, which the login chooses.
    """
    from nacre.cli.serve.serve import PORT
    from nacre.wiring.server_registry import running_urls
    from nacre.wiring.settings import Settings

    public = Settings.from_environment().public_url
    usual = f"{public}/mcp" if public else f"http://127.0.0.1:{PORT}/mcp"
    url = next(iter(running_urls(Path(place.folder()).expanduser().absolute())), usual)
    part = profile or _being_id(place)
    return f"{url}/{part}" if part else url


def _chosen(connector: "Connector", names: tuple[str, ...], *, every: bool) -> list[Client]:
    """Return the clients that are named, or all that are installed."""
    if bool(names) == every:
        raise InvalidInputError("name the clients, or give --all, not both")
    if every:
        return [connection.client for connection in _installed(connector)]
    return [client for client in CLIENTS if client.name in names]


def _installed(connector: "Connector") -> "list[Connection]":
    states = map(connector.state, CLIENTS)
    return [connection for connection in states if connection.state != "not installed"]


def _show(connections: "Sequence[Connection]", *, as_json: bool, rehearsed: bool = False) -> int:
    refused = [connection for connection in connections if connection.state == "refused"]
    if as_json:
        show_json(
            [
                {
                    "client": connection.client.name,
                    "state": connection.state,
                    "file": connection.file,
                    "note": connection.note,
                }
                for connection in connections
            ]
        )
    else:
        rows = [
            (connection.client.name, connection.client.title, connection.state, connection.file)
            for connection in connections
            if connection.state not in ("refused", "without hooks")
        ]
        if rows:
            show_table(("CLIENT", "TITLE", "WOULD BE" if rehearsed else "IS", "FILE"), rows)
        if not connections:
            click.echo("No client is installed that Nacre knows.", err=True)
    for connection in connections:
        if connection.state == "already connected" and connection.note:
            click.echo(
                f"{connection.client.title} keeps its address, {connection.note}; to change it, run"
                f" 'nacre disconnect {connection.client.name}' first.",
                err=True,
            )
    for connection in refused:
        tell(f"{connection.client.title}, {connection.file}: {connection.note}")
    return FAILURE if refused else OK


def _show_next_steps(connections: "list[Connection]") -> None:
    """Tell the user how to log in, and how to make each client read its file again."""
    changed = list(
        dict.fromkeys(
            connection.client for connection in connections if connection.state == "connected"
        )
    )
    for client in changed:
        click.echo(f"To apply this in {client.title}: {client.restart}.", err=True)
        if login := login_of(client):
            click.echo(f"To log in with {client.title}: {login}.", err=True)
    if any(map(is_by_url, changed)):
        click.echo("The server must be running: nacre serve", err=True)
    for connection in connections:
        if connection.state == "without hooks":
            click.echo(f"{connection.client.title} has no hooks. {_INSTRUCTIONS}", err=True)
        elif connection.file.endswith("/.codex/hooks.json"):
            click.echo("In Codex, allow the hooks once with /hooks.", err=True)
        elif connection.file.endswith("/nacre/handler.js"):
            click.echo("In OpenClaw, run: openclaw hooks enable nacre", err=True)
