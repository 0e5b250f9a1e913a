"""Everything known of the servers behind this one at one moment."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nacre.core.lazy_dataclasses import dataclass, field
from nacre.gateway.catalogue.in_process import InProcessServer
from nacre.gateway.catalogue.merged_lists import MergedLists, ServerOffer, merge_lists
from nacre.gateway.catalogue.store import Entries, Entry
from nacre.gateway.servers.config import Problem, ServerConfig
from nacre.protocol.surface import WireTool

MISSING = "nacre/missing"  # in the `_meta` of a list
_NOT_ASKED = "has not answered yet"

Configs = Mapping[str, ServerConfig]


@dataclass(frozen=True, slots=True)
class LocalServers:
    """The servers of this process, and the problems of those that could not be loaded."""

    servers: tuple[InProcessServer, ...] = ()
    problems: tuple[Problem, ...] = ()
    reads: Callable[[str], bool] = lambda _tool: False  # by exposed names


@dataclass(frozen=True, slots=True)
class View:
    """Lists, entries and configurations that belong together."""

    lists: MergedLists
    entries: Entries
    configs: Configs | None  # None if no entry required reading them
    problems: tuple[Problem, ...]
    meta: Mapping[str, Any] | None
    tools: dict[str, WireTool] = field(default_factory=dict)
    local: LocalServers | None = None
    offers: tuple[ServerOffer, ...] = ()  # of local servers, which may change while they run


def new_view(
    old: View | None,
    entries: Entries,
    configs: Configs | None,
    problems: tuple[Problem, ...],
    local: LocalServers,
) -> View:
    """Return a view; its lists are the old view's objects if nothing changed."""
    valid = {name: entry for name, entry in entries.items() if _is_valid(name, entry, configs)}
    meta = _meta(valid, configs, (*problems, *local.problems))
    offers = offers_of(local)
    is_same = old is not None and (old.local, old.offers) == (local, offers)
    if old is None or not is_same or old.entries != valid or old.meta != meta:
        lists = _lists(valid, offers)
        return View(lists, valid, configs, problems, meta, local=local, offers=offers)
    tools = old.tools if old.configs == configs else {}
    return View(old.lists, valid, configs, problems, meta, tools, local, offers)


def offers_of(local: LocalServers) -> tuple[ServerOffer, ...]:
    """Return the present offers of the servers of this process."""
    return tuple(ServerOffer(server.name, server.offered()) for server in local.servers)


def _is_valid(name: str, entry: Entry, configs: Configs | None) -> bool:
    """Tell whether an entry belongs to a server with its present configuration."""
    if configs is None:
        return True
    return name in configs and configs[name].digest == entry.digest


def _meta(
    entries: Entries, configs: Configs | None, problems: Iterable[Problem]
) -> Mapping[str, Any] | None:
    missing: dict[str, str] = {}
    for problem in problems:  # one server or one file may have several
        earlier = missing.get(problem.server)
        missing[problem.server] = problem.text if earlier is None else f"{earlier}; {problem.text}"
    for name in {*entries, *(configs or {})}:
        entry = entries.get(name)
        if entry is None:
            missing[name] = _NOT_ASKED
        elif entry.offered is None or entry.problem is not None:
            missing[name] = entry.problem or _NOT_ASKED
    return {MISSING: dict(sorted(missing.items()))} if missing else None


def _lists(entries: Entries, local: Iterable[ServerOffer]) -> MergedLists:
    offers = [
        ServerOffer(name, entry.offered)
        for name, entry in entries.items()
        if entry.offered is not None
    ]
    return merge_lists(sorted([*offers, *local], key=lambda offer: offer.server))
