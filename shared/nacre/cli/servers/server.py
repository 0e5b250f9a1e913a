"""Commands for other MCP servers, whose tools are served too: add, list, check and more."""

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

import click

from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, show_json, show_table
from nacre.cli.exit_codes import FAILURE, OK
from nacre.cli.servers.server_lookup import checked, configured, facts, policy_of, show, state
from nacre.core.errors import ConfigurationError, ConflictError, InvalidInputError
from nacre.firewall.wrap.base_folder import joined_note, proposed_base, with_certain
from nacre.gateway.catalogue.store import Entry, StoredCatalogue
from nacre.gateway.qualified_names import alias_of
from nacre.gateway.servers.config import ServerConfig, entries_of, server_from, unknown_keys
from nacre.gateway.servers.plain_secrets import written_secret
from nacre.gateway.servers.store import ServerStore
from nacre.ports.items.table import Table
from nacre.protocol import strict_json


@click.group()
def server() -> None:
    """Serve the tools of other MCP servers too."""


@server.command()
@click.argument("name")
@click.argument("command", nargs=-1)
@click.option("--url", help="Where the server answers, instead of a command.")
@click.option(
    "--transport",
    type=click.Choice(["http", "sse"]),
    help="How a URL is spoken to. [default: sse where it ends in /sse, else http]",
)
@click.option("--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Sent each time.")
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="For the command.")
@click.option("--cwd", metavar="PATH", help="Working folder of the command.")
@click.option(
    "--base",
    multiple=True,
    metavar="DIR",
    help="A folder from which the server resolves relative paths. May be repeated.",
)
@click.option("--allow-tool", multiple=True, metavar="TOOL", help="Offer only these; * is a glob.")
@click.option("--deny-tool", multiple=True, metavar="TOOL", help="Do not offer these.")
@click.option(
    "--read-tool", multiple=True, metavar="TOOL", help="These change nothing: read-only tokens may."
)
@click.option("--timeout", type=float, metavar="SECONDS", help="For a call. [default: 60]")
@click.option("--replace", is_flag=True, help="Take the place of a server with this name.")
@placed
def add(name: str, command: tuple[str, ...], *, place: Place, replace: bool, **given: Any) -> None:
    """Serve the tools of a server: a program after --, or a URL.

    \b
      nacre server add files -- npx -y @modelcontextprotocol/server-filesystem /home/ann
      nacre server add issues --url https://mcp.example.com/mcp \\
          --header 'Authorization: Bearer ${secret:ISSUES_TOKEN}'

    Values may hold references: ${NAME} is a variable of the server's environment,
    ${secret:NAME} what 'nacre secret set NAME' keeps, on a stack too.
    """
    entry, note = _with_base(name, _entry(command, given))
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
@placed
def list_servers(*, as_json: bool, place: Place) -> None:
    """List the servers, where they are, and what they offered last."""
    table = place.open().data
    known = StoredCatalogue(lambda: table).load()
    configs = configured(table, place)
    if as_json:
        show_json([facts(config, source, known.get(config.name)) for source, config in configs])
        return
    rows = [
        (config.name, config.kind, config.where(), state(config, known.get(config.name)), source)
        for source, config in configs
    ]
    show_table(("NAME", "KIND", "WHERE", "LAST SEEN WITH", "FROM"), rows)


@server.command()
@click.argument("name")
@placed
def remove(name: str, *, place: Place) -> None:
    """Serve the tools of the server NAME no longer."""
    table = place.open().data
    store = ServerStore(lambda: table)
    entries = store.entries()
    if name not in entries:  # as 'nacre server list' shows it
        name = next((each for each in entries if alias_of(each) == name), name)
    written = entries.get(name)
    store.remove(name)
    alias = server_from(name, written).name
    StoredCatalogue(lambda: table).update(
        lambda entries: {each: entry for each, entry in entries.items() if each != alias}
    )
    click.echo(f"Removed {name}.", err=True)


@server.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@json_option
@placed
def check(names: tuple[str, ...], *, as_json: bool, place: Place) -> int:
    """Open servers, ask what they offer, and say what is wrong where something is.

    What a server lists first is trusted. What is new or has changed since then is shown, and
    waits for 'nacre approve', also on a server that runs.
    """
    home = place.open()
    configs = [config for _, config in configured(home.data, place)]
    # Both a name as it was given to 'nacre server add' and the one that rules use.
    shown = {config.name for config in configs}
    wanted = {each if each in shown else alias_of(each): each for each in names}
    unknown = [given for name, given in wanted.items() if name not in shown]
    if unknown:
        raise InvalidInputError(f"there is no server '{min(unknown)}'; see 'nacre server list'")
    policy = policy_of(home, place)
    found = [
        checked(config, place, home, policy)
        for config in configs
        if not wanted or config.name in wanted
    ]
    if as_json:
        show_json(found)
    else:
        for each in found:
            show(each)
    return FAILURE if any("problem" in each for each in found) else OK


@server.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--replace", is_flag=True, help="Take the place of servers with these names.")
@placed
def import_servers(file: Path, names: tuple[str, ...], *, replace: bool, place: Place) -> int:
    """Take servers from FILE, a client's configuration with "mcpServers"; NAMEs narrow it down."""
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
        said = f" (ignored: {', '.join(ignored)})" if ignored else ""
        click.echo(f"Added {config.name}{said}.", err=True)
    return outcome


def _entry(command: tuple[str, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options in the shape of `mcpServers`."""
    if bool(command) == bool(given["url"]):
        raise InvalidInputError("give a command after --, or --url URL")
    wanted = {
        "command": command[0] if command else None,
        "args": list(command[1:]),
        "url": given["url"],
        "type": given["transport"],
        "headers": dict(_pair(each, ":", "--header") for each in given["headers"]),
        "env": dict(_pair(each, "=", "--env") for each in given["variables"]),
        "cwd": given["cwd"],
        "base": list(given["base"]),
        "allowed_tools": list(given["allow_tool"]),
        "disallowed_tools": list(given["deny_tool"]),
        "read_tools": list(given["read_tool"]),
        "timeout_seconds": given["timeout"],
    }
    return {key: value for key, value in wanted.items() if value}


def _with_base(name: str, entry: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return an entry with the bases that its command line shows for certain, and a word of it."""
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
    name, found, value = text.partition(separator)
    if not found or not name.strip():
        raise InvalidInputError(f"{option} must be of the form NAME{separator}VALUE")
    return name.strip(), value.strip() if separator == ":" else value


def _check_secrets(config: ServerConfig) -> None:
    name = written_secret(config)
    if name is not None:
        raise ConfigurationError(
            f"'{name}' looks like a credential; keep it with 'nacre secret set NAME' and "
            f"write ${{secret:NAME}} in its place"
        )


def _check_place(config: ServerConfig, place: Place) -> None:
    if place.stack and config.kind == "stdio":
        raise ConfigurationError(
            f"'{config.name}' is a program, which a stack does not start; give a 'url'"
        )


def _announce(table: Table, config: ServerConfig) -> None:
    """Let a server know of it that reads nothing but the catalogue."""
    unasked = Entry(config.digest, 0.0, None)
    StoredCatalogue(lambda: table).update(lambda entries: {**entries, config.name: unasked})
