"""The servers behind this one: which there are, what they offer, and who answers for what."""

import math
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from nacre.core.clock import Clock
from nacre.core.errors import NotFoundError, OffersChangedError, UncomparedError
from nacre.firewall.entry.mounted_servers import Held, Kind, Place
from nacre.firewall.pins import PinKind, label, may_name
from nacre.firewall.rules.arguments.argument_names import path_arguments
from nacre.firewall.rules.rule import NOWHERE, Surroundings
from nacre.gateway.calls.external_server import External, ExternalTool
from nacre.gateway.catalogue.fetch import Gathering
from nacre.gateway.catalogue.in_process import InProcess
from nacre.gateway.catalogue.merged_lists import Joined, place_of
from nacre.gateway.catalogue.refresh import Looking
from nacre.gateway.catalogue.snapshot import Configs, Locals, View
from nacre.gateway.catalogue.sources import Sources
from nacre.gateway.catalogue.store import Entries, Entry
from nacre.gateway.mounted_tools import LinkedTool, UnlistedTool
from nacre.gateway.qualified_names import OWN_SCHEME, PREFIX, server_of
from nacre.gateway.resource_links import Links
from nacre.gateway.servers.config import ServerConfig
from nacre.protocol.context import Context
from nacre.protocol.surface import WireTool

T = TypeVar("T")
_MOST_SESSIONS = 3  # that a server may begin during one request
_KINDS: Mapping[str, Kind] = {"prompts/get": "prompt", "resources/read": "resource"}


class Mounts:
    """The servers behind this one; any number of threads may use it."""

    def __init__(
        self,
        sources: Sources,
        clock: Clock,
        *,
        is_stack: bool = False,
        tick: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sources = sources
        self._is_stack = is_stack
        self._tick = tick
        self._guard = threading.Lock()
        self._gathered_at = self._asked_at = -math.inf
        self._open: dict[str, External] = {}
        self._places: dict[str, tuple[str, Surroundings]] = {}
        self._paths: tuple[Joined, dict[str, frozenset[str]]] | None = None
        self._links = Links()
        self._looking = Looking(
            sources, clock, is_stack=is_stack, tick=tick, read=self._close_outdated
        )
        self._gathering = Gathering(
            sources.catalogue, sources.watch, clock, is_stack=is_stack, kept=self._looking.kept
        )

    # The lists.

    @property
    def lists(self) -> Joined:
        """What there is, as far as it is known without asking anybody."""
        view = self._looking.view
        return Joined() if view is None else view.lists

    def is_gathered(self) -> bool:
        """Tell whether the lists can be given at once."""
        return self._looking.is_recent(self._gathered_at) and not self._looking.own_changed()

    def gather(self, *, waits: bool = True) -> None:
        """Look which servers there are, and ask those that are due."""
        view = self._looking.looked()
        self._asked_at = self._tick()
        if waits:
            self._gathered_at = self._asked_at
        due = self._gathering.due((view.configs or {}).values(), view.entries)
        if due:
            servers = [self._server(config) for config in due]
            self._gathering.gather(servers, view.entries, waits=waits)

    def list_meta(self) -> Mapping[str, Any] | None:
        """Return which servers are missing from the lists, and why."""
        view = self._looking.view
        return None if view is None else view.meta

    # Who answers for what.

    def place(self, kind: Kind, name: str) -> Place | None:
        """Return where something lives; None for what is our own."""
        if kind == "resource":
            return self._resource_place(name)
        if not name.startswith(PREFIX):
            return None
        lists = self._looking.known().lists
        found = (lists.tool_places if kind == "tool" else lists.prompt_places).get(name)
        if found is not None:
            return Place(*found)
        # Of no server that is known, but never our own, for which other rules hold.
        return Place(server_of(name) or PREFIX, name.removeprefix(PREFIX).partition("__")[2])

    def where(self, server: str) -> Surroundings:
        """Return where a server runs."""
        config = self._looking.configs().get(server)
        if config is None:
            return NOWHERE if self._local_server(server) is None else self._sources.here
        known = self._places.get(server)
        if known is None or known[0] != config.digest:
            known = self._places[server] = (config.digest, self._sources.where(config))
        return known[1]

    def path_arguments(self, tool: str) -> frozenset[str]:
        """Return the arguments of a tool of which its schema says that they are paths."""
        lists = self._looking.known().lists
        known = self._paths
        if known is None or known[0] is not lists:
            paths = {
                str(each["name"]): path_arguments(each.get("inputSchema")) for each in lists.tools
            }
            known = self._paths = (lists, paths)
        return known[1].get(tool, frozenset())

    def held(self, kind: Kind, name: str) -> Held | None:
        """Return what is to be said against using something, None for nothing."""
        place = self._template_place(name) if kind == "template" else self.place(kind, name)
        return None if place is None else self._held_at(kind, place)

    def _held_at(self, kind: Kind, place: Place) -> Held | None:
        entry = self._looking.known().entries.get(place.server)
        if entry is None or not (entry.waiting or entry.flagged):
            return None
        held = _held(entry, kind, place.name)
        if held is None and kind == "resource" and place.name not in _uris(entry):
            for template in _templates(entry):
                if may_name(template, place.name):
                    held = held or _held(entry, "template", template)
        return held

    def is_stale(self, server: str) -> bool:
        """Tell whether a server has announced other offers than are known of it."""
        return self._gathering.is_stale(server)

    async def fresh(self, server: str) -> bool:
        """Wait for the offers that a server has announced; False when they do not come."""
        if not self._gathering.is_stale(server):
            return True
        try:
            external = self._external(server)
        except NotFoundError:
            return True  # it was taken away, and so is what it offered
        return await self._gathering.fresh(external)

    def tool(self, name: str) -> WireTool | None:
        """Return a tool of another server, None for an unknown name."""
        if not self._is_stack and not self._looking.is_recent(self._asked_at):
            # A client may call for days without a list; what has changed is found all the same.
            self.gather(waits=False)
        view = self._looking.known()
        known = view.tools.get(name)
        if known is None:
            known = self._found(view, name)
            if known is not None:
                view.tools[name] = known
        return known

    async def request(
        self, method: str, place: Place, params: Mapping[str, Any], context: Context
    ) -> Mapping[str, Any]:
        """Return what a server answers about a resource, a prompt or a completion."""
        local = self._local_server(place.server)
        if local is not None:
            return await local.request(method, params, context)
        kind = _KINDS.get(method)
        return await self._compared(
            kind, place, lambda: self._external(place.server).request(method, params, context)
        )

    async def _compared(
        self, kind: Kind | None, place: Place, make: Callable[[], Awaitable[T]]
    ) -> T:
        """Make a request; in a new session only after its offers were compared.

        OffersChangedError when the request is about something that may not be used any more.
        """
        for _ in range(_MOST_SESSIONS):
            try:
                return await make()
            except UncomparedError:
                before = self._held_at(kind, place) if kind else None
                await self._gathering.compared(self._external(place.server))
                if kind and self._held_at(kind, place) != before:
                    raise OffersChangedError(place.server) from None
        return await make()

    def resource_version(self, place: Place) -> object | None:
        """Return a value that differs once a resource has changed, None where nobody knows."""
        local = self._local_server(place.server)
        return None if local is None else local.server.resource_version(place.name)

    def template_place(self, template: str) -> Place | None:
        """Return the server of a resource template."""
        return self._template_place(template)

    def _template_place(self, template: str) -> Place | None:
        for pattern, server in self._looking.known().lists.template_places:
            if pattern.text == template:
                return Place(server, template)
        return None

    # For whoever owns the servers.

    def check(self, name: str) -> Any:
        """Ask one server now, and return its entry; NotFoundError for an unknown name."""
        return self._gathering.refresh(self._external(name))

    def known(self) -> tuple[Configs, Entries, Locals]:
        """Return all servers that are configured, what is known of each, and our own."""
        view = self._looking.looked(needs_configs=True)
        return view.configs or {}, view.entries, self._looking.locals()

    def close(self) -> None:
        """End every session."""
        with self._guard:
            servers = list(self._open.values())
            self._open.clear()
        _close_all(servers)

    # Servers and their tools.

    def _close_outdated(self, configs: Configs) -> None:
        """Let go of servers whose configuration is another one now."""
        with self._guard:
            names = [
                name
                for name, server in self._open.items()
                if name not in configs or configs[name].digest != server.config.digest
            ]
            gone = [self._open.pop(name) for name in names]
        if gone:
            threading.Thread(target=_close_all, args=(gone,), daemon=True).start()

    def _server(self, config: ServerConfig) -> External:
        with self._guard:
            found = self._open.get(config.name)
            if found is None or found.config.digest != config.digest:
                name = config.name
                found = self._sources.open(config, lambda: self._announced(name))
                self._open[name] = found
            return found

    def _announced(self, name: str) -> None:
        """Ask a server again at once that says that it offers something else now."""
        self._gathering.announce(name)
        with self._guard:
            server = self._open.get(name)
        if server is not None and not self._is_stack:
            self._gathering.gather([server], {}, waits=False)

    def _external(self, name: str) -> External:
        config = self._looking.configs().get(name)
        if config is None:
            raise NotFoundError(f"there is no server '{name[:80]}'; see 'nacre server list'")
        return self._server(config)

    def _local_server(self, name: str) -> InProcess | None:
        return next((each for each in self._looking.locals().servers if each.name == name), None)

    def _found(self, view: View, name: str) -> WireTool | None:
        place = view.lists.tool_places.get(name)
        if place is None:
            server = server_of(name) or ""
            is_known = server in self._looking.configs()
            is_listed = server in view.entries and view.entries[server].offered is not None
            return (
                UnlistedTool(name, server, self._gathered) if is_known and not is_listed else None
            )
        server, bare = place
        local = self._local_server(server)
        if local is not None:
            return local.tool(bare, reads=lambda _bare: self._looking.locals().reads(name))
        try:
            tool = ExternalTool(self._external(server), bare)
        except NotFoundError:
            return None  # it was taken away since
        compares: Any = partial(self._compared, "tool", Place(server, bare))
        return LinkedTool(tool, self._links, server, compares)

    def _gathered(self) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
        self.gather()
        return self.lists.tool_places, self.list_meta()

    def _resource_place(self, uri: str) -> Place | None:
        if uri.startswith(OWN_SCHEME):
            return None
        found = place_of(uri, self._looking.known().lists)
        if found is not None:
            return Place(*found)
        server = self._links.server(uri)
        return None if server is None else Place(server, uri)


def _held(entry: Entry, kind: PinKind, name: str) -> Held | None:
    name_of_pin = label(kind, name)
    state: Any = entry.waiting.get(name_of_pin, "trusted")
    is_flagged = name_of_pin in entry.flagged
    return None if state == "trusted" and not is_flagged else Held(state, is_flagged, kind, name)


def _uris(entry: Entry) -> set[str]:
    return {each["uri"] for each in entry.offered.resources} if entry.offered else set()


def _templates(entry: Entry) -> list[str]:
    return [each["uriTemplate"] for each in entry.offered.templates] if entry.offered else []


def _close_all(servers: Iterable[External]) -> None:
    threads = [threading.Thread(target=server.close, daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
