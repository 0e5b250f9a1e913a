"""What is known of other servers, and what they say when they are asked."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from nacre.being.memory.text.memory_text import counted
from nacre.cli.being_options import Place
from nacre.core.clock import system_clock
from nacre.gateway.catalogue.store import Entry
from nacre.gateway.servers.config import ServerConfig
from nacre.ports.items.table import Table

if TYPE_CHECKING:
    from nacre.firewall.entry.mounted_servers import Watched
    from nacre.firewall.rules.policy import Policy
    from nacre.ports.upstream import Offered
    from nacre.wiring.home import Home


def configured(table: Table, place: Place) -> list[tuple[str, ServerConfig]]:
    """Return the servers with where they are configured; what is wrong is told."""
    from nacre.wiring.features.gateway import server_lists
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


def policy_of(home: "Home", place: Place) -> "Policy":
    """Return the policy that decides what is pinned."""
    from nacre.wiring.features.policies import policies_in
    from nacre.wiring.settings import Settings

    def tell(said: str) -> None:
        click.echo(said, err=True)

    settings = Settings.from_environment()
    return policies_in(home.data, settings, tell, is_stack=bool(place.stack)).of(None).policy


def checked(config: ServerConfig, place: Place, home: "Home", policy: "Policy") -> dict[str, Any]:
    """Open a server, and return what it offers or what is wrong.

    What it offers is compared with its pins and kept, as if a client had listed it: a server
    that runs then holds what has changed.
    """
    from nacre.core.errors import RelayedError, UpstreamError
    from nacre.wiring.features.servers import one_server, references_of
    from nacre.wiring.settings import Settings

    references = references_of(home.secrets.get, is_stack=bool(place.stack))
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
    watched = _kept(config, offered, home, policy)
    offered = watched.offered
    is_held = policy.settings.pins == "quarantine"
    return {
        "name": config.name,
        "protocol": offered.version,
        "tools": [str(each["name"]) for each in offered.tools],
        "resources": len(offered.resources) + len(offered.templates),
        "prompts": len(offered.prompts),
        "waiting": {
            name: why for name, why in watched.waiting.items() if is_held or name in watched.flagged
        },
    }


def _kept(config: ServerConfig, offered: "Offered", home: "Home", policy: "Policy") -> "Watched":
    """Compare an offer with the server's pins, and let servers that run know of it."""
    from nacre.firewall.entry.mounted_content import compared
    from nacre.firewall.pins import GLOBAL, Pins
    from nacre.gateway.catalogue.store import StoredCatalogue

    at = system_clock().timestamp()
    watched = compared(offered, config.name, policy, lambda: Pins(home.data, GLOBAL))
    entry = Entry(config.digest, at, watched.offered, watched.waiting, watched.flagged)
    StoredCatalogue(lambda: home.data).update(lambda entries: {**entries, config.name: entry})
    return watched


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
    if found["waiting"]:
        waiting = ", ".join(
            f"{json.dumps(name)[1:-1]} ({why})" for name, why in sorted(found["waiting"].items())
        )
        click.echo(f"  Waiting for approval: {waiting}")
        click.echo(f"  Until then clients neither see nor use them: nacre approve {found['name']}")
