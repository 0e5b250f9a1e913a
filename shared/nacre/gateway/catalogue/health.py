"""Reports on other servers for their owner: state, latency, last error and cost."""

import json
from typing import Any, Literal

from nacre.core.backoff import Chance, even, pause
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import GATHERED_SECONDS, SCHEMA_TOKEN_BYTES, UPSTREAM_LIST_PAUSE_SECONDS
from nacre.firewall.content.secrets import redact_text
from nacre.firewall.rules.sections import SecretsSection
from nacre.gateway.catalogue.store import Entry, Health
from nacre.gateway.qualified_names import exposed_name
from nacre.gateway.servers.config import ServerConfig
from nacre.ports.other_programs.upstream import Definition, Offered

State = Literal["not asked yet", "ok", "paused", "failing", "unreachable"]
_MAX_ERROR = 300  # characters of an error, which may quote the server
_SHOWN = ("name", "description", "inputSchema")  # of a tool; clients keep the rest from the model


@dataclass(frozen=True, slots=True)
class Report:
    """One server as its owner sees it; times in seconds, those of the clock since 1970.

    `failing` still offers its last known list, `unreachable` has none, and calls to a `paused`
    server are refused until `retry_at`. `tokens` estimates what its tools cost a model that gets
    them listed. None is what is not known.
    """

    state: State
    tools: int = 0
    tokens: int = 0
    latency: float | None = None
    opening: float | None = None
    error: str = ""
    error_at: float | None = None
    failures: int = 0
    asked_at: float | None = None
    retry_at: float | None = None


def report(config: ServerConfig, entry: Entry | None, now: float) -> Report:
    """Return the report of a server, from what is stored of it."""
    if entry is None or entry.digest != config.digest:
        return Report("not asked yet")
    health, offered = entry.health, entry.offered
    state: State = "ok"
    retry_at: float | None = None
    if entry.problem is not None:
        state = "unreachable" if offered is None else "failing"
        retry_at = entry.at + GATHERED_SECONDS
    elif offered is None:
        state = "not asked yet"
    elif health.paused_until > now:
        state, retry_at = "paused", health.paused_until
    return Report(
        state,
        tools=0 if offered is None else len(offered.tools),
        tokens=0 if offered is None else schema_tokens(config.name, offered),
        latency=health.latency or None,
        opening=health.opening or None,
        error=entry.problem or health.error,
        error_at=health.error_at or None,
        failures=health.failures,
        asked_at=(entry.at or None) if state in ("ok", "paused") else None,
        retry_at=retry_at,
    )


def duration(seconds: float | None) -> str:
    """Return a duration for people: "1.5 s", "40 ms", "<1 ms"; no text for None."""
    if seconds is None:
        return ""
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{1000 * seconds:.0f} ms" if seconds >= 0.001 else "<1 ms"


def schema_tokens(server: str, offered: Offered) -> int:
    """Estimate the tokens of a server's tools in a model's context.

    Names, descriptions and schemas of arguments are counted as compact JSON. Each model counts
    differently.
    """
    size = sum(len(_shown(server, tool).encode("utf-8", "replace")) for tool in offered.tools)
    return -(-size // SCHEMA_TOKEN_BYTES)


def answered(old: Entry | None, config: ServerConfig, offered: Offered) -> Health:
    """Return the health of a server that has just listed what it offers."""
    health = old.health if old is not None and old.digest == config.digest else Health()
    opening = offered.opening or health.opening
    return replace(health, latency=offered.latency, opening=opening, failures=0)


def failed(
    old: Entry | None, config: ServerConfig, problem: str, now: float, chance: Chance = even
) -> Entry:
    """Return the entry of a server that could not be asked; its last known lists still count.

    It is asked again after a pause that grows with each failure.
    """
    current = old if old is not None and old.digest == config.digest else None
    health = Health() if current is None else current.health
    failures, problem = health.failures + 1, told(problem)
    seconds = pause(
        failures, first=UPSTREAM_LIST_PAUSE_SECONDS, longest=GATHERED_SECONDS, chance=chance
    )
    at = now - GATHERED_SECONDS + seconds
    health = replace(health, failures=failures, error=problem, error_at=now)
    if current is None:
        return Entry(config.digest, at, None, problem=problem, health=health)
    return replace(current, at=at, problem=problem, health=health)


def told(problem: str) -> str:
    """Return a problem without the secrets that a server's own words may hold."""
    return str(redact_text(problem, SecretsSection())[0])[:_MAX_ERROR]


def _shown(server: str, tool: Definition) -> str:
    members: dict[str, Any] = {key: tool[key] for key in _SHOWN if key in tool}
    members["name"] = exposed_name(server, str(tool["name"]))
    return json.dumps(members, ensure_ascii=False, separators=(",", ":"))
