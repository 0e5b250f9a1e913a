"""Other servers, with their tools and the changes that wait for review."""

from collections.abc import Mapping
from datetime import UTC, datetime

from nacre.console.line_diff import Line, difference
from nacre.core.errors import ConflictError, NotFoundError
from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.approvals.form import printable
from nacre.firewall.pins import GLOBAL, Pin, Pins
from nacre.gateway.catalogue.health import Report, duration, report
from nacre.gateway.catalogue.store import StoredCatalogue, release
from nacre.gateway.servers.config import ServerConfig, ServerList
from nacre.ports.items.table import Table


@dataclass(frozen=True, slots=True)
class Offer:
    """One server: how it is reached, and its last answer.

    `source` is where it is configured; it is empty for a program behind a proxy, of which only
    the tools are known.
    """

    name: str
    shown: str  # the name, with every character visible
    kind: str
    where: str
    source: str
    state: str
    asked: datetime | None
    tools: int
    waiting: int
    tokens: int = 0
    latency: str = ""
    opening: str = ""
    error: str = ""
    error_at: datetime | None = None
    retry_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PinnedTool:
    """One tool: its trusted definition and its current one."""

    name: str
    shown: str
    state: str
    mark: str  # identifies the shown definition, so that no other one is trusted
    lines: tuple[Line, ...]
    definition: str


@dataclass(frozen=True, slots=True)
class Offers:
    """All servers, and the problems of the configuration."""

    servers: tuple[Offer, ...]
    problems: tuple[tuple[str, str], ...]


def offers(table: Table, lists: Mapping[str, ServerList], now: datetime) -> Offers:
    """Return every server that is configured or has pins, by name."""
    entries = StoredCatalogue(lambda: table).load()
    pins = Pins(table, GLOBAL)
    by_name: dict[str, Offer] = {}
    for source, listed in lists.items():
        for config in listed.servers:
            health = report(config, entries.get(config.name), now.timestamp())
            counts = _tool_counts(pins, config.name)
            by_name.setdefault(config.name, _offer(config, source, health, counts))
    for name in pins.servers():
        if name not in by_name:
            counts = _tool_counts(pins, name)
            by_name[name] = Offer(name, printable(name), "proxy", "", "", "", None, *counts)
    problems = tuple(
        (printable(problem.server), printable(problem.text))
        for listed in lists.values()
        for problem in listed.problems
    )
    return Offers(tuple(by_name[name] for name in sorted(by_name)), problems)


def pinned(table: Table, server: str) -> tuple[PinnedTool, ...]:
    """Return a server's tools, waiting ones first; raises NotFoundError for an unknown server."""
    pins = Pins(table, GLOBAL)
    pins_by_name = pins.every(server)
    if not pins_by_name and server not in pins.servers():
        raise NotFoundError("no server of this name has listed its tools")
    order = sorted(pins_by_name.values(), key=lambda pin: (pin.state == "trusted", pin.label))
    return tuple(_pinned(pin) for pin in order)


def trust(table: Table, server: str, reviewed: Mapping[str, str]) -> int:
    """Trust reviewed tools, given as names and marks, and return how many there were.

    Raises NotFoundError for a tool that does not wait, and ConflictError for one that has changed
    since it was shown.
    """
    pins_by_name = Pins(table, GLOBAL).every(server)
    waiting = []
    for name, mark in reviewed.items():
        pin = pins_by_name.get(name)
        if pin is None or pin.state == "trusted":
            raise NotFoundError(f"'{printable(name)[:80]}' is no longer waiting")
        if pin.waiting != mark:
            raise ConflictError(f"'{printable(name)[:80]}' has changed again; review it again")
        waiting.append(pin)
    Pins(table, GLOBAL).approve(server, waiting)
    release(StoredCatalogue(lambda: table), server, [pin.label for pin in waiting])
    return len(waiting)


def _tool_counts(pins: Pins, server: str) -> tuple[int, int]:
    server_pins = pins.every(server).values()
    tools = sum(pin.kind == "tool" for pin in server_pins)
    return tools, sum(pin.state != "trusted" for pin in server_pins)


def _offer(config: ServerConfig, source: str, health: Report, counts: tuple[int, int]) -> Offer:
    tools, waiting = counts
    return Offer(
        name=config.name,
        shown=printable(config.name),
        kind=config.kind,
        where=printable(config.where()),
        source=printable(source),
        state=health.state,
        asked=_moment(health.asked_at),
        tools=health.tools or tools,
        waiting=waiting,
        tokens=health.tokens,
        latency=duration(health.latency),
        opening=duration(health.opening),
        error=printable(health.error),
        error_at=_moment(health.error_at),
        retry_at=_moment(health.retry_at),
    )


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _pinned(pin: Pin) -> PinnedTool:
    before, after = pin.before(), pin.after()
    waits = pin.state != "trusted"
    return PinnedTool(
        name=pin.label,
        shown=printable(pin.label),
        state=pin.state,
        mark=pin.waiting,
        lines=difference(before, after) if waits else (),
        definition=before if not waits else after,
    )
