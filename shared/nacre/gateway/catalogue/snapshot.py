"""All that is known of the servers behind this one at one moment."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nacre.gateway.catalogue.in_process import InProcess
from nacre.gateway.catalogue.merged_lists import Joined, Part, joined
from nacre.gateway.catalogue.store import Entries, Entry
from nacre.gateway.servers.config import Problem, ServerConfig
from nacre.protocol.surface import WireTool

MISSING = "nacre/missing"  # in what a list says of itself
_UNASKED = "was not asked yet"

Configs = Mapping[str, ServerConfig]


@dataclass(frozen=True, slots=True)
class Locals:
    """The servers of this process, and what is wrong with those that could not be loaded."""

    servers: tuple[InProcess, ...] = ()
    problems: tuple[Problem, ...] = ()
    reads: Callable[[str], bool] = lambda _tool: False  # by exposed names


@dataclass(frozen=True, slots=True)
class View:
    """Lists, entries and configurations that belong together."""

    lists: Joined
    entries: Entries
    configs: Configs | None  # None: not read, as no entry made it necessary
    problems: tuple[Problem, ...]
    meta: Mapping[str, Any] | None
    tools: dict[str, WireTool] = field(default_factory=dict)
    local: Locals | None = None
    parts: tuple[Part, ...] = ()  # what our own servers offer, which may change as they run


def viewed(
    old: View | None,
    entries: Entries,
    configs: Configs | None,
    problems: Iterable[Problem],
    local: Locals,
) -> View:
    """Put together what is known; the lists stay the same objects while nothing changed."""
    lasting = tuple(problems)
    kept = {name: entry for name, entry in entries.items() if _counts(name, entry, configs)}
    meta = _meta(kept, configs, (*lasting, *local.problems))
    parts = tuple(Part(each.name, each.offered()) for each in local.servers)
    is_same = old is not None and (old.local, old.parts) == (local, parts)
    if old is None or not is_same or old.entries != kept or old.meta != meta:
        lists = _joined(kept, parts)
        return View(lists, kept, configs, lasting, meta, local=local, parts=parts)
    tools = old.tools if old.configs == configs else {}
    return View(old.lists, kept, configs, lasting, meta, tools, local, parts)


def _counts(name: str, entry: Entry, configs: Configs | None) -> bool:
    """Tell whether an entry is of a server as it is configured now."""
    if configs is None:
        return True
    return name in configs and configs[name].digest == entry.digest


def _meta(
    entries: Entries, configs: Configs | None, problems: Iterable[Problem]
) -> Mapping[str, Any] | None:
    missing: dict[str, str] = {}
    for each in problems:  # several things may be wrong with one server, or in one file
        known = missing.get(each.server)
        missing[each.server] = each.text if known is None else f"{known}; {each.text}"
    for name in {*entries, *(configs or {})}:
        entry = entries.get(name)
        if entry is None:
            missing[name] = _UNASKED
        elif entry.offered is None or entry.problem is not None:
            missing[name] = entry.problem or _UNASKED
    return {MISSING: dict(sorted(missing.items()))} if missing else None


def _joined(entries: Entries, own: Iterable[Part]) -> Joined:
    parts = [
        Part(name, entry.offered) for name, entry in entries.items() if entry.offered is not None
    ]
    return joined(sorted([*parts, *own], key=lambda part: part.server))
