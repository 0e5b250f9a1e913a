"""The configured servers, their last known state, and a check of their current offers."""

import json
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from nacre.being.memory.text.memory_text import counted
from nacre.core.clock import system_clock
from nacre.gateway.catalogue.store import Entry
from nacre.gateway.servers.config import ServerConfig

if TYPE_CHECKING:
    from nacre.firewall.entry.mounted_servers import CheckedOffer
    from nacre.firewall.rules.policy import Policy
    from nacre.ports.upstream import Offered
    from nacre.wiring.compose import Home


def configured(home: "Home") -> list[tuple[str, ServerConfig]]:
    """Return the servers with their source; problems go to standard error."""
    from nacre.wiring.features.server_sources import server_lists
    from nacre.wiring.settings import Settings

    settings = Settings.from_environment()
    servers: dict[str, tuple[str, ServerConfig]] = {}
    for source, listed in server_lists(home.ports, settings).items():
        for problem in listed.problems:
            click.echo(f"{problem.server}: {problem.text}", err=True)
        for config in listed.servers:
            servers.setdefault(config.name, (source, config))
    return [servers[name] for name in sorted(servers)]


def state(config: ServerConfig, entry: Entry | None) -> str:
    """Return a short text about the last known offer of a server."""
    if entry is None or entry.digest != config.digest:
        return "not asked yet"
    if entry.problem is not None:
        return entry.problem
    if entry.offered is None:
        return "not asked yet"
    tools = counted(len(entry.offered.tools), "tool")
    if not entry.waiting:
        return tools
    waiting = counted(len(entry.waiting), "waits", "wait")
    return f"{tools}, {waiting} (nacre approve {config.name})"


def login_of(config: ServerConfig, home: "Home", owner: str) -> dict[str, Any]:
    """Return the facts about the owner's login to a server, for JSON; none without one."""
    status = home.logins.status(owner, config.name) if config.takes_login else None
    if status is None:
        return {}
    login = {"owner": owner, "issuer": status.issuer, "scopes": list(status.scopes)}
    return {"login": login}


def facts(config: ServerConfig, source: str, entry: Entry | None) -> dict[str, Any]:
    """Return the facts about a server, for JSON."""
    return {
        "name": config.name,
        "kind": config.kind,
        "where": config.where(),
        "from": source,
        "state": state(config, entry),
    }


def policy_of(home: "Home") -> "Policy":
    """Return the policy, which decides whether changes are held."""
    from nacre.wiring.features.policies import policies_of
    from nacre.wiring.settings import Settings

    settings = Settings.from_environment()
    return policies_of(home.ports, settings, partial(click.echo, err=True)).of(None).policy


def check_server(
    config: ServerConfig, home: "Home", policy: "Policy", owner: str
) -> dict[str, Any]:
    """Connect to a server with the owner's login, and return its offer or its problem.

    The offer is compared with the server's pins and stored, as if a client had listed it. A
    running Nacre server then holds back the changes.
    """
    from nacre.core.errors import RelayedError, UpstreamError
    from nacre.wiring.features.servers import one_server
    from nacre.wiring.settings import Settings

    bearer = home.owner_logins.bearer_of(config, owner)
    opened, close = one_server(config, home.ports, Settings.from_environment(), bearer)
    try:
        offered = opened.offered()
    except UpstreamError as error:
        return {"name": config.name, "problem": error.reason}
    except RelayedError as error:
        return {"name": config.name, "problem": f"cannot list what it offers ({error})"}
    finally:
        close()
    watched = _store(config, offered, home, policy)
    offered = watched.offered
    is_held = policy.settings.pins == "quarantine"
    return {
        "name": config.name,
        "protocol": offered.version,
        "tools": [str(tool["name"]) for tool in offered.tools],
        "resources": len(offered.resources) + len(offered.templates),
        "prompts": len(offered.prompts),
        "waiting": {
            name: why for name, why in watched.waiting.items() if is_held or name in watched.flagged
        },
    }


def _store(
    config: ServerConfig, offered: "Offered", home: "Home", policy: "Policy"
) -> "CheckedOffer":
    """Compare an offer with the server's pins, and store it in the catalogue."""
    from nacre.firewall.entry.mounted_content import compared
    from nacre.firewall.pins import GLOBAL, Pins
    from nacre.gateway.catalogue.store import StoredCatalogue

    at = system_clock().timestamp()
    watched = compared(offered, config.name, policy, lambda: Pins(home.data, GLOBAL))
    entry = Entry(config.digest, at, watched.offered, watched.waiting, watched.flagged)
    StoredCatalogue(lambda: home.data).update(lambda entries: {**entries, config.name: entry})
    return watched


def show_check(result: Mapping[str, Any]) -> None:
    """Print the result of a check."""
    if "problem" in result:
        click.echo(f"{result['name']}: {result['problem']}")
        return
    tools = ", ".join(json.dumps(name)[1:-1] for name in result["tools"])
    click.echo(
        f"{result['name']}: {counted(len(result['tools']), 'tool')}, "
        f"{counted(result['resources'], 'resource')}, "
        f"{counted(result['prompts'], 'prompt')} (MCP {result['protocol']})"
    )
    click.echo(f"  {tools}")
    if result["waiting"]:
        waiting = ", ".join(
            f"{json.dumps(name)[1:-1]} ({why})" for name, why in sorted(result["waiting"].items())
        )
        click.echo(f"  Waiting for approval: {waiting}")
        click.echo(f"  Until then clients neither see nor use them: nacre approve {result['name']}")
