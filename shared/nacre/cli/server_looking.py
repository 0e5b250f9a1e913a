"""What is known of other servers, and what they say when they are asked."""

import json
from collections.abc import Mapping
from typing import Any

import click

from nacre.cli.place import Place
from nacre.gateway.catalogue import Entry
from nacre.gateway.server_config import ServerConfig
from nacre.memory.rendering import counted
from nacre.ports.table import Table


def configured(table: Table, place: Place) -> list[tuple[str, ServerConfig]]:
    """Return the servers with where they are configured; what is wrong is told."""
    from nacre.wiring.gateway import server_lists
    from nacre.wiring.settings import Settings

    settings = Settings.from_environment()
    found: dict[str, tuple[str, ServerConfig]] = {}
    for source, listed in server_lists(settings, table, is_stack=bool(place.stack)).items():
        for problem in listed.problems:
            click.echo(f"{problem.server}: {problem.text}", err=True)
        for config in listed.servers:
            found.setdefault(config.name, (source, config))
    return [found[name] for name in sorted(found)]


def state(config: ServerConfig, entry: Entry | None) -> str:
    """Return what a server offered last, or why it could not be asked."""
    if entry is None or entry.digest != config.digest:
        return "not asked yet"
    if entry.problem is not None:
        return entry.problem
    if entry.offered is None:
        return "not asked yet"
    held = f", {len(entry.waiting)} wait (nacre approve {config.name})" if entry.waiting else ""
    return f"{counted(len(entry.offered.tools), 'tool')}{held}"


def facts(config: ServerConfig, source: str, entry: Entry | None) -> dict[str, Any]:
    """Return what is known of a server, for programs."""
    return {
        "name": config.name,
        "kind": config.kind,
        "where": config.where(),
        "from": source,
        "state": state(config, entry),
    }


def checked(config: ServerConfig, place: Place, secret: Any) -> dict[str, Any]:
    """Open a server, and return what it offers or what is wrong."""
    from nacre.errors import RelayedError, UpstreamError
    from nacre.wiring.server_opening import one_server, references_of
    from nacre.wiring.settings import Settings

    references = references_of(secret, is_stack=bool(place.stack))
    opened, close = one_server(
        config, references, Settings.from_environment(), is_stack=bool(place.stack)
    )
    try:
        offered = opened.offered()
    except UpstreamError as error:
        return {"name": config.name, "problem": error.reason}
    except RelayedError as error:
        return {"name": config.name, "problem": f"does not list what it has ({error})"}
    finally:
        close()
    return {
        "name": config.name,
        "protocol": offered.version,
        "tools": [str(each["name"]) for each in offered.tools],
        "resources": len(offered.resources) + len(offered.templates),
        "prompts": len(offered.prompts),
    }


def show(found: Mapping[str, Any]) -> None:
    """Write what was found of a server."""
    if "problem" in found:
        click.echo(f"{found['name']}: {found['problem']}")
        return
    tools = ", ".join(json.dumps(name)[1:-1] for name in found["tools"])
    click.echo(
        f"{found['name']}: {counted(len(found['tools']), 'tool')}, "
        f"{counted(found['resources'], 'resource')}, "
        f"{counted(found['prompts'], 'prompt')} (MCP {found['protocol']})"
    )
    click.echo(f"  {tools}")
