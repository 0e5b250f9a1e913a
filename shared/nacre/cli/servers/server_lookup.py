"""The configured servers, their last known state, and a check of their current offers."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from nacre.being.memory.text.memory_text import counted
from nacre.cli.display import iso_time, without_controls
from nacre.core.clock import system_clock
from nacre.core.lazy_dataclasses import replace
from nacre.gateway.catalogue.store import Entries, Entry
from nacre.gateway.servers.config import ServerConfig

if TYPE_CHECKING:
    from nacre.firewall.entry.mounted_servers import CheckedOffer
    from nacre.firewall.rules.policy import Policy
    from nacre.gateway.catalogue.health import Report
    from nacre.ports.other_programs.upstream import Offered
    from nacre.wiring.compose import Home

HEAD = ("NAME", "KIND", "WHERE", "STATE", "TOOLS", "TOKENS", "LATENCY", "FROM")


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


def report_of(config: ServerConfig, entry: Entry | None) -> "Report":
    """Return how a server is doing, as far as this machine or the stack knows."""
    from nacre.gateway.catalogue.health import report

    return report(config, entry, system_clock().timestamp())


def row(config: ServerConfig, source: str, entry: Entry | None) -> tuple[str, ...]:
    """Return the line about a server in a table; `HEAD` names its columns."""
    from nacre.gateway.catalogue.health import duration

    health = report_of(config, entry)
    waiting = len(entry.waiting) if entry is not None and health.tools else 0
    return (
        config.name,
        config.kind,
        config.where(),
        health.state,
        f"{health.tools}, {waiting} to approve (nacre approve {config.name})"
        if waiting
        else _known(health.tools),
        _known(health.tokens),
        duration(health.latency) or "-",
        source,
    )


def error_line(config: ServerConfig, entry: Entry | None) -> str | None:
    """Return the last error of a server, with its time; None without one."""
    health = report_of(config, entry)
    if not health.error:
        return None
    at = "" if health.error_at is None else f" ({_time(health.error_at)})"
    retry = health.retry_at
    again = "" if retry is None else f"; next attempt at {_time(retry)}"
    return without_controls(f"{config.name}: {health.error}{at}{again}")


def _known(count: int) -> str:
    return str(count) if count else "-"


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else iso_time(datetime.fromtimestamp(seconds, UTC))


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(1000 * seconds, 1)


def login_of(config: ServerConfig, home: "Home", owner: str) -> dict[str, Any]:
    """Return the facts about the owner's login to a server, for JSON; none without one."""
    status = home.logins.status(owner, config.name) if config.takes_login else None
    if status is None:
        return {}
    login = {"owner": owner, "issuer": status.issuer, "scopes": list(status.scopes)}
    return {"login": login}


def facts(config: ServerConfig, source: str, entry: Entry | None) -> dict[str, Any]:
    """Return the facts about a server, for JSON."""
    health = report_of(config, entry)
    return {
        "name": config.name,
        "kind": config.kind,
        "where": config.where(),
        "from": source,
        "state": health.state,
        "tools": health.tools,
        "waiting": 0 if entry is None else len(entry.waiting),
        "tokens": health.tokens,
        "latency_ms": _milliseconds(health.latency),
        "opening_ms": _milliseconds(health.opening),
        "asked_at": _time(health.asked_at),
        "last_error": health.error or None,
        "last_error_at": _time(health.error_at),
        "failures": health.failures,
        "retry_at": _time(health.retry_at),
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
    from nacre.core.errors import UpstreamError
    from nacre.wiring.features.servers import one_server
    from nacre.wiring.settings import Settings

    bearer = home.owner_logins.bearer_of(config, owner)
    opened, close = one_server(config, home.ports, Settings.from_environment(), bearer)
    try:
        offered = opened.offered()
    except UpstreamError as error:
        return _failed(config, error.reason, home)
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


def _failed(config: ServerConfig, problem: str, home: "Home") -> dict[str, Any]:
    """Store that a server could not be asked, and return its problem."""
    from nacre.gateway.catalogue.health import failed, told
    from nacre.gateway.catalogue.store import StoredCatalogue

    at, name = system_clock().timestamp(), config.name
    StoredCatalogue(lambda: home.data).update(
        lambda entries: {**entries, name: failed(entries.get(name), config, problem, at)}
    )
    return {"name": name, "problem": told(problem)}


def _store(
    config: ServerConfig, offered: "Offered", home: "Home", policy: "Policy"
) -> "CheckedOffer":
    """Compare an offer with the server's pins, and store it in the catalogue."""
    from nacre.firewall.entry.mounted_content import compared
    from nacre.firewall.pins import GLOBAL, Pins
    from nacre.gateway.catalogue.health import answered
    from nacre.gateway.catalogue.store import StoredCatalogue

    at = system_clock().timestamp()
    watched = compared(offered, config.name, policy, lambda: Pins(home.data, GLOBAL))
    entry = Entry(config.digest, at, watched.offered, watched.waiting, watched.flagged)

    def stored(entries: Entries) -> Entries:
        health = answered(entries.get(config.name), config, offered)
        return {**entries, config.name: replace(entry, health=health)}

    StoredCatalogue(lambda: home.data).update(stored)
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
