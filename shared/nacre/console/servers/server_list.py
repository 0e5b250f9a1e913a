"""Other servers as their owner sees them: where they are, what they offer, and what waits."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from nacre.console.line_diff import Line, difference
from nacre.core.errors import ConflictError, NotFoundError
from nacre.firewall.approvals.form import printable
from nacre.firewall.pins import GLOBAL, Pin, Pins
from nacre.gateway.catalogue.store import Entry, StoredCatalogue, release
from nacre.gateway.servers.config import ServerConfig, ServerList
from nacre.ports.items.table import Table


@dataclass(frozen=True, slots=True)
class Offer:
    """One server: how it is reached, and how it answered when it was last asked.

    `source` is where it is configured; empty where it is not, and only its tools are known,
    as those of a program that runs behind a proxy.
    """

    name: str
    shown: str  # the same, with every character in sight
    kind: str
    where: str
    source: str
    problem: str
    asked: datetime | None
    tools: int
    waiting: int


@dataclass(frozen=True, slots=True)
class PinnedTool:
    """One tool: what was trusted and what it is now."""

    name: str
    shown: str
    state: str
    mark: str  # of what waits, so that only what was seen is trusted
    lines: tuple[Line, ...]
    definition: str


@dataclass(frozen=True, slots=True)
class Offers:
    """All servers, and what is wrong with the rest of what is configured."""

    servers: tuple[Offer, ...]
    problems: tuple[tuple[str, str], ...]


def offers(table: Table, lists: Mapping[str, ServerList]) -> Offers:
    """Return every server that is configured or has pins, by name."""
    entries = StoredCatalogue(lambda: table).load()
    pins = Pins(table, GLOBAL)
    found: dict[str, Offer] = {}
    for source, listed in lists.items():
        for config in listed.servers:
            entry = entries.get(config.name)
            current = entry if entry is not None and entry.digest == config.digest else None
            held = _held(pins, config.name)
            found.setdefault(config.name, _offer(config, source, current, held))
    for name in pins.servers():
        if name not in found:
            held = _held(pins, name)
            found[name] = Offer(name, printable(name), "proxy", "", "", "", None, *held)
    problems = tuple(
        (printable(problem.server), printable(problem.text))
        for listed in lists.values()
        for problem in listed.problems
    )
    return Offers(tuple(found[name] for name in sorted(found)), problems)


def pinned(table: Table, server: str) -> tuple[PinnedTool, ...]:
    """Return a server's tools, those that wait first; NotFoundError for an unknown server."""
    pins = Pins(table, GLOBAL)
    known = pins.every(server)
    if not known and server not in pins.servers():
        raise NotFoundError("no server of this name has listed its tools")
    order = sorted(known.values(), key=lambda pin: (pin.state == "trusted", pin.label))
    return tuple(_pinned(pin) for pin in order)


def trust(table: Table, server: str, seen: Mapping[str, str]) -> int:
    """Trust tools as they were seen: names to marks; return how many.

    NotFoundError for a tool that does not wait, ConflictError for one that has changed since.
    """
    known = Pins(table, GLOBAL).every(server)
    waiting = []
    for name, mark in seen.items():
        pin = known.get(name)
        if pin is None or pin.state == "trusted":
            raise NotFoundError(f"'{printable(name)[:80]}' does not wait any more")
        if pin.waiting != mark:
            raise ConflictError(f"'{printable(name)[:80]}' has changed again; look at it once more")
        waiting.append(pin)
    Pins(table, GLOBAL).approve(server, waiting)
    release(StoredCatalogue(lambda: table), server, [pin.label for pin in waiting])
    return len(waiting)


def _held(pins: Pins, server: str) -> tuple[int, int]:
    known = pins.every(server).values()
    tools = sum(pin.kind == "tool" for pin in known)
    return tools, sum(pin.state != "trusted" for pin in known)


def _offer(config: ServerConfig, source: str, entry: Entry | None, held: tuple[int, int]) -> Offer:
    tools, waiting = held
    if entry is not None and entry.offered is not None:
        tools = len(entry.offered.tools)
    return Offer(
        name=config.name,
        shown=printable(config.name),
        kind=config.kind,
        where=printable(config.where()),
        source=printable(source),
        problem=printable(entry.problem or "") if entry is not None else "",
        asked=datetime.fromtimestamp(entry.at, UTC) if entry is not None and entry.at else None,
        tools=tools,
        waiting=waiting,
    )


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
