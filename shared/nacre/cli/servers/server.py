"""The command `nacre server`: add, list, remove, check and import other MCP servers."""

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

import click

from nacre.cli.being_options import Place, being_options
from nacre.cli.display import json_option, show_json, show_table
from nacre.cli.exit_codes import FAILURE, OK
from nacre.cli.servers.server_lookup import (
    HEAD,
    check_server,
    configured,
    error_line,
    facts,
    login_of,
    policy_of,
    row,
    show_check,
)
from nacre.core.errors import ConfigurationError, ConflictError, InvalidInputError
from nacre.firewall.rules.arguments.proposed_base import joined_note, proposed_base, with_certain
from nacre.gateway.catalogue.store import Entry, StoredCatalogue
from nacre.gateway.qualified_names import alias_of
from nacre.gateway.servers.config import ServerConfig, entries_of, server_from, unknown_keys
from nacre.gateway.servers.references import written_secret
from nacre.gateway.servers.store import ServerStore
from nacre.ports.items.table import Table
from nacre.protocol import strict_json


@click.group()
def server() -> None:
    """Add other MCP servers, and serve their tools too."""


@server.command()
@click.argument("name")
@click.argument("command", nargs=-1)
@click.option("--url", help="The URL of the server, instead of a command.")
@click.option(
    "--transport",
    type=click.Choice(["http", "sse"]),
    help="Transport of the URL. [default: sse if it ends in /sse, else http]",
)
@click.option(
    "--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Header of every request."
)
@click.option(
    "--env", "variables", multiple=True, metavar="NAME=VALUE", help="Variable for the command."
)
@click.option("--cwd", metavar="PATH", help="Working folder of the command.")
@click.option(
    "--base",
    multiple=True,
    metavar="DIR",
    help="A folder from which the server resolves relative paths. May be repeated.",
)
@click.option(
    "--allow-tool", multiple=True, metavar="TOOL", help="Offer only these tools; * is a glob."
)
@click.option("--deny-tool", multiple=True, metavar="TOOL", help="Do not offer these tools.")
@click.option(
    "--read-tool",
    multiple=True,
    metavar="TOOL",
    help="Tools that only read, so read-only tokens may call them.",
)
@click.option(
    "--client-id", metavar="ID", help="OAuth client for logins, where none can be registered."
)
@click.option("--client-secret", metavar="REFERENCE", help="Its secret, such as '${secret:NAME}'.")
@click.option(
    "--scope", "scopes", multiple=True, metavar="SCOPE", help="A right to ask for at a login."
)
@click.option(
    "--client-cert",
    metavar="FILE",
    help="PEM client certificate, if the server requires one (mTLS): a file, or '${secret:NAME}'.",
)
@click.option("--client-key", metavar="FILE", help="Its key, likewise, if that is elsewhere.")
@click.option("--timeout", type=float, metavar="SECONDS", help="Limit for one call. [default: 60]")
@click.option(
    "--open-timeout", type=float, metavar="SECONDS", help="Limit for its start. [default: 30]"
)
@click.option(
    "--keep-alive",
    type=float,
    metavar="SECONDS",
    help="Time between pings of a session at a URL; 0 for none. [default: 45]",
)
@click.option(
    "--trusted",
    "is_trusted",
    is_flag=True,
    help="You trust all that it returns: its results do not taint later calls.",
)
@click.option("--replace", is_flag=True, help="Replace a server of this name.")
@being_options
def add(
    name: str, command: tuple[str, ...], *, place: Place, replace: bool, **options: Any
) -> None:
    """Add a server and serve its tools: a program after --, or a URL.

    \b
      nacre server add files -- npx -y @modelcontextprotocol/server-filesystem /home/ann
      nacre server add issues --url https://mcp.example.com/mcp \\
          --header 'Authorization: Bearer ${secret:ISSUES_TOKEN}'

    Values may have references: ${NAME} is a variable of Nacre's environment,
    ${secret:NAME} is the value that 'nacre secret set NAME' stored, on a stack too.
    """
    entry, note = _with_base(name, _entry(command, options))
    config = server_from(name, entry)
    _check_secrets(config)
    _check_place(config, place)
    table = place.open().data
    ServerStore(lambda: table).add(name, entry, replaces=replace)
    _announce(table, config)
    if note:
        click.echo(note, err=True)
    click.echo(
        f"Added {config.name}; try it with: nacre server check {quote(config.name)}", err=True
    )


@server.command("list")
@json_option
@being_options
def list_servers(*, as_json: bool, place: Place) -> None:
    """List the servers: how they are doing, and what their tools cost a model.

    LATENCY is that of the last list. TOKENS estimates names, descriptions and schemas of the tools
    as a model reads them, at four bytes a token. Below the table are the last errors.
    """
    home = place.open()
    catalogue = StoredCatalogue(lambda: home.data).load()
    configs = configured(home)
    if as_json:
        show_json(
            [
                facts(config, source, catalogue.get(config.name))
                | login_of(config, home, place.owner_name)
                for source, config in configs
            ]
        )
        return
    show_table(
        HEAD, [row(config, source, catalogue.get(config.name)) for source, config in configs]
    )
    for _, config in configs:
        line = error_line(config, catalogue.get(config.name))
        if line is not None:
            click.echo(line)


@server.command()
@click.argument("name")
@being_options
def remove(name: str, *, place: Place) -> None:
    """Remove the server NAME and its tools."""
    table = place.open().data
    store = ServerStore(lambda: table)
    entries = store.entries()
    if name not in entries:  # as 'nacre server list' shows it
        name = next((stored for stored in entries if alias_of(stored) == name), name)
    removed = entries.get(name)
    store.remove(name)
    alias = server_from(name, removed).name
    StoredCatalogue(lambda: table).update(
        lambda offers: {key: offer for key, offer in offers.items() if key != alias}
    )
    click.echo(f"Removed {name}.", err=True)


@server.command()
@click.argument("name")
@click.option("--no-browser", is_flag=True, help="Only print the address of the page to open.")
@click.option(
    "--paste", is_flag=True, help="Read the browser's last address, if it runs elsewhere."
)
@being_options
def login(name: str, *, no_browser: bool, paste: bool, place: Place) -> None:
    """Log in to the server NAME by OAuth, in your browser.

    NAME may also be the URL of a server that 'nacre proxy --url' uses. The login is stored sealed,
    for the owner and this server only, and is renewed by itself.
    """
    from nacre.cli.servers.login import log_in

    log_in(name, place, opens_browser=not no_browser, pastes=paste)


@server.command()
@click.argument("name")
@being_options
def logout(name: str, *, place: Place) -> None:
    """Remove the login to the server NAME, and revoke it there."""
    from nacre.cli.servers.login import log_out

    log_out(name, place)


@server.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@json_option
@being_options
def check(names: tuple[str, ...], *, as_json: bool, place: Place) -> int:
    """Connect to servers, list what they offer, and show what is wrong.

    The first list of a server is trusted. Anything new or changed since then is shown, and waits
    for 'nacre approve', also in a Nacre server that is running.
    """
    home = place.open()
    configs = [config for _, config in configured(home)]
    # Accepts the name given to 'nacre server add' and the one that rules use.
    listed = {config.name for config in configs}
    selected = {name if name in listed else alias_of(name): name for name in names}
    unknown = [name for alias, name in selected.items() if alias not in listed]
    if unknown:
        raise InvalidInputError(f"there is no server '{min(unknown)}'; see 'nacre server list'")
    policy = policy_of(home)
    results = [
        check_server(config, home, policy, place.owner_name)
        for config in configs
        if not selected or config.name in selected
    ]
    if as_json:
        show_json(results)
    else:
        for result in results:
            show_check(result)
    return FAILURE if any("problem" in result for result in results) else OK


@server.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--replace", is_flag=True, help="Replace servers of these names.")
@being_options
def import_servers(file: Path, names: tuple[str, ...], *, replace: bool, place: Place) -> int:
    """Add the servers of FILE, or only NAMEs.

    FILE is a client's configuration with "mcpServers"."""
    entries = entries_of(strict_json.parse(file.read_bytes()), source=file.name)
    if missing := sorted(set(names) - set(entries)):
        raise InvalidInputError(f"{file.name} has no server '{missing[0][:80]}'")
    table = place.open().data
    store = ServerStore(lambda: table)
    outcome = OK
    for name, entry in entries.items():
        if names and name not in names:
            continue
        try:
            config = server_from(name, entry)
            entry, note = _with_base(name, entry)
            _check_place(config, place)
            if place.stack:
                _check_secrets(config)
            store.add(name, entry, replaces=replace)
        except (InvalidInputError, ConflictError) as error:
            click.echo(f"Left out: {error}", err=True)
            outcome = FAILURE
            continue
        _announce(table, config)
        if note:
            click.echo(note, err=True)
        ignored = unknown_keys(entry)
        note = f" (ignored: {', '.join(ignored)})" if ignored else ""
        click.echo(f"Added {config.name}{note}.", err=True)
    return outcome


def _entry(command: tuple[str, ...], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options in the shape of `mcpServers`."""
    if bool(command) == bool(options["url"]):
        raise InvalidInputError("give a command after --, or --url URL")
    client = {
        "client_id": options["client_id"],
        "client_secret": options["client_secret"],
        "scopes": list(options["scopes"]),
    }
    entry = {
        "command": command[0] if command else None,
        "args": list(command[1:]),
        "url": options["url"],
        "type": options["transport"],
        "headers": dict(_pair(text, ":", "--header") for text in options["headers"]),
        "env": dict(_pair(text, "=", "--env") for text in options["variables"]),
        "cwd": options["cwd"],
        "base": list(options["base"]),
        "allowed_tools": list(options["allow_tool"]),
        "disallowed_tools": list(options["deny_tool"]),
        "read_tools": list(options["read_tool"]),
        "timeout_seconds": options["timeout"],
        "open_seconds": options["open_timeout"],
        "keep_alive_seconds": options["keep_alive"],
        "oauth": {key: value for key, value in client.items() if value},
        "client_cert": options["client_cert"],
        "client_key": options["client_key"],
        "trusted": options["is_trusted"] or None,
    }
    return {key: value for key, value in entry.items() if value or value == 0}


def _with_base(name: str, entry: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return an entry with the bases that are certain from its command line, and a note."""
    if not entry.get("command"):
        return entry, ""
    line = [entry["command"], *entry.get("args", ())]
    home = str(Path.home())
    proposed = proposed_base(line, entry.get("cwd", ""), home)
    if not proposed.is_certain:
        return entry, ""
    if declared := entry.get("base"):
        folders = [declared] if isinstance(declared, str) else declared
        bases, missing = with_certain(folders, proposed, home)
        return {**entry, "base": list(bases)}, f"{name}: {joined_note(missing)}." if missing else ""
    folders = ", ".join(proposed.folders)
    note = f"Relative paths of {name} begin at {folders}, as its arguments say."
    return {**entry, "base": list(proposed.folders)}, note


def _pair(text: str, separator: str, option: str) -> tuple[str, str]:
    name, present, value = text.partition(separator)
    if not present or not name.strip():
        raise InvalidInputError(f"{option} must be of the form NAME{separator}VALUE")
    return name.strip(), value.strip() if separator == ":" else value


def _check_secrets(config: ServerConfig) -> None:
    name = written_secret(config)
    if name is not None:
        raise ConfigurationError(
            f"'{name}' looks like a credential; store it with 'nacre secret set NAME' and "
            f"write ${{secret:NAME}} instead"
        )


def _check_place(config: ServerConfig, place: Place) -> None:
    if place.stack and config.kind == "stdio":
        raise ConfigurationError(
            f"'{config.name}' is a program, which a stack cannot start; give a 'url'"
        )


def _announce(table: Table, config: ServerConfig) -> None:
    """Add the server to the catalogue, so that a process that reads only that knows it."""
    unasked = Entry(config.digest, 0.0, None)
    StoredCatalogue(lambda: table).update(lambda entries: {**entries, config.name: unasked})
