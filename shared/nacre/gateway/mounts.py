"""The servers behind this one: their lists, the place of each name, and requests to them."""

import asyncio
import math
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from nacre.core.backoff import Chance, even
from nacre.core.clock import Clock
from nacre.core.errors import (
    InvalidParamsError,
    LoginNeededError,
    NewSessionError,
    NotFoundError,
    OffersChangedError,
    UnlistedToolError,
    UpstreamError,
)
from nacre.firewall.entry.mounted_servers import Kind, PinHold, Place
from nacre.firewall.pins import PinKind, label, may_name
from nacre.firewall.rules.arguments.argument_names import path_arguments
from nacre.firewall.rules.rule import NOWHERE, Surroundings
from nacre.gateway.calls.external_server import ExternalServer, call_tool
from nacre.gateway.catalogue.current_view import CurrentView, Sources
from nacre.gateway.catalogue.fetcher import Fetcher
from nacre.gateway.catalogue.in_process import InProcessServer
from nacre.gateway.catalogue.merged_lists import MergedLists, place_of
from nacre.gateway.catalogue.snapshot import MISSING, Configs, LocalServers, View
from nacre.gateway.catalogue.store import Entries, Entry
from nacre.gateway.qualified_names import OWN_SCHEMES, PREFIX, server_of
from nacre.gateway.resource_links import Links
from nacre.gateway.servers.config import ServerConfig
from nacre.protocol.context import Context, InputRequired, TaskRun
from nacre.protocol.principal import Principal
from nacre.protocol.surface import ReadyResult, WireResult, WireTool

T = TypeVar("T")
Send = Callable[[ExternalServer], Awaitable[T]]
"""Sends a request to a server."""

_MAX_SESSIONS = 3  # new sessions of a server during one request
_BEGUN = "begun"  # among the notes of a task: the latest round of its call that was begun
_LOST = "was called, and its answer is lost; the call may have been carried out"
_KINDS: Mapping[str, Kind] = {"prompts/get": "prompt", "resources/read": "resource"}


class Mounts:
    """The servers behind this one. Threads may share it."""

    def __init__(
        self,
        sources: Sources,
        clock: Clock,
        *,
        is_stack: bool = False,
        tick: Callable[[], float] = time.monotonic,
        chance: Chance = even,
    ) -> None:
        self._sources = sources
        self._is_stack = is_stack
        self._tick = tick
        self._guard = threading.Lock()
        self._gathered_at = self._asked_at = -math.inf
        # By the name and the owner whose login it uses; "" for everybody.
        self._open: dict[tuple[str, str], ExternalServer] = {}
        self._announcers: dict[str, str | None] = {}
        self._surroundings: dict[str, tuple[str, Surroundings]] = {}
        self._paths: tuple[MergedLists, dict[str, frozenset[str]]] | None = None
        self._links = Links()
        self._view = CurrentView(
            sources, clock, is_stack=is_stack, tick=tick, on_configs=self._close_outdated
        )
        self._fetcher = Fetcher(
            sources.catalogue,
            sources.watch,
            clock,
            is_stack=is_stack,
            on_entries=self._view.set_entries,
            chance=chance,
        )

    # The lists.

    @property
    def lists(self) -> MergedLists:
        """The lists that are known without asking a server."""
        view = self._view.latest
        return MergedLists() if view is None else view.lists

    def is_gathered(self) -> bool:
        """Tell whether the lists are available without asking a server."""
        return self._view.is_recent(self._gathered_at) and not self._view.local_changed()

    def gather(self, principal: Principal | None = None, *, waits: bool = True) -> None:
        """Reload the servers, and ask those whose lists are due.

        A server is asked with the login of the caller's owner, and never with another one.
        """
        view = self._view.reload()
        self._asked_at = self._tick()
        due = self._fetcher.due((view.configs or {}).values(), view.entries)
        if due:
            servers = list(self._servers(due, principal))
            self._fetcher.fetch(servers, view.entries, waits=waits)
        if waits:  # only now: until then, lists of others wait as well
            self._gathered_at = self._tick()

    def list_meta(self) -> Mapping[str, Any] | None:
        """Return the servers that are missing from the lists, with the reasons."""
        view = self._view.latest
        return None if view is None else view.meta

    # Places.

    def place(self, kind: Kind, name: str) -> Place | None:
        """Return the server of a name and the name there; None for a name of this server."""
        if kind == "resource":
            return self._resource_place(name)
        if not name.startswith(PREFIX):
            return None
        lists = self._view.get().lists
        place = (lists.tool_places if kind == "tool" else lists.prompt_places).get(name)
        if place is not None:
            return Place(*place)
        # No known server has it, but it must not count as an own name: other rules hold for those.
        return Place(server_of(name) or PREFIX, name.removeprefix(PREFIX).partition("__")[2])

    def where(self, server: str) -> Surroundings:
        """Return the machine and folders that a server runs in."""
        config = self._view.configs().get(server)
        if config is None:
            return NOWHERE if self._local_server(server) is None else self._sources.here
        cached = self._surroundings.get(server)
        if cached is None or cached[0] != config.digest:
            cached = self._surroundings[server] = (config.digest, self._sources.where(config))
        return cached[1]

    def is_external(self, server: str) -> bool:
        """Tell whether a server is another program that its owner has not declared as trusted."""
        config = self._view.configs().get(server)
        if config is None:
            return self._local_server(server) is None
        return not config.is_trusted

    def path_arguments(self, tool: str) -> frozenset[str]:
        """Return the arguments of a tool that are paths by its schema."""
        lists = self._view.get().lists
        paths = self._paths
        if paths is None or paths[0] is not lists:
            by_tool = {
                str(definition["name"]): path_arguments(definition.get("inputSchema"))
                for definition in lists.tools
            }
            paths = self._paths = (lists, by_tool)
        return paths[1].get(tool, frozenset())

    def held(self, kind: Kind, name: str) -> PinHold | None:
        """Return the reason against using a name, None if there is none."""
        place = self.template_place(name) if kind == "template" else self.place(kind, name)
        return None if place is None else self._held_at(kind, place)

    def _held_at(self, kind: Kind, place: Place) -> PinHold | None:
        entry = self._view.get().entries.get(place.server)
        if entry is None or not (entry.waiting or entry.flagged):
            return None
        reason = _held(entry, kind, place.name)
        if reason is not None or kind != "resource" or entry.offered is None:
            return reason
        if any(resource["uri"] == place.name for resource in entry.offered.resources):
            return None
        templates = (template["uriTemplate"] for template in entry.offered.templates)
        reasons = (
            _held(entry, "template", template)
            for template in templates
            if may_name(template, place.name)
        )
        return next((reason for reason in reasons if reason is not None), None)

    def is_stale(self, server: str) -> bool:
        """Tell whether a server has announced lists that were not fetched yet."""
        return self._fetcher.is_stale(server)

    async def fresh(self, server: str) -> bool:
        """Wait for the lists that a server has announced; return False if they do not arrive."""
        if not self._fetcher.is_stale(server):
            return True
        with self._guard:
            external = self._open.get((server, self._announcers.get(server) or ""))
        if external is None:
            return True  # the server was removed, and its lists with it
        return await self._fetcher.refresh(external)

    def tool(self, name: str) -> WireTool | None:
        """Return a tool of another server, None for an unknown name."""
        if not self._is_stack and not self._view.is_recent(self._asked_at):
            # A client may call for days without listing, and changes must still be found.
            self.gather(waits=False)
        view = self._view.get()
        tool = view.tools.get(name)
        if tool is None:
            tool = self._new_tool(view, name)
            if tool is not None:
                view.tools[name] = tool
        return tool

    async def request(
        self, method: str, place: Place, params: Mapping[str, Any], context: Context
    ) -> Mapping[str, Any]:
        """Return a server's result for a resource, a prompt or a completion."""
        local = self._local_server(place.server)
        if local is not None:
            return await local.request(method, params, context)
        kind = _KINDS.get(method)
        return await self._send(
            kind, place, context, lambda server: server.request(method, params, context)
        )

    async def _send(self, kind: Kind | None, place: Place, context: Context, send: Send[T]) -> T:
        """Send a request; if its server wants a login, ask for it and send the request again."""
        try:
            return await self._send_compared(kind, place, context, send)
        except LoginNeededError as error:
            await self._sources.logins.ask(error, context)
            return await self._send_compared(kind, place, context, send)

    async def _send_compared(
        self, kind: Kind | None, place: Place, context: Context, send: Send[T]
    ) -> T:
        """Send a request; in a new session of its server only after comparing the offer.

        Raises OffersChangedError if the name that the request uses is no longer allowed.
        """
        external = self._external(place.server, context.principal)
        for _ in range(_MAX_SESSIONS):
            try:
                return await send(external)
            except NewSessionError:
                before = self._held_at(kind, place) if kind else None
                await self._fetcher.compare(external)
                if kind and self._held_at(kind, place) != before:
                    raise OffersChangedError(place.server) from None
            except UpstreamError as error:
                if error.is_fault:
                    self._fetcher.note_failure(external, error.reason)
                raise
        return await send(external)

    def resource_version(self, place: Place) -> object | None:
        """Return a value that differs once a resource has changed; None for other processes."""
        local = self._local_server(place.server)
        return None if local is None else local.server.resource_version(place.name)

    def template_place(self, template: str) -> Place | None:
        """Return the server of a resource template."""
        for pattern, server in self._view.get().lists.template_places:
            if pattern.text == template:
                return Place(server, template)
        return None

    # For the owner.

    def known(self) -> tuple[Configs, Entries, LocalServers]:
        """Return the configured servers, their entries, and the servers of this process."""
        view = self._view.reload(needs_configs=True)
        return view.configs or {}, view.entries, self._view.local()

    def close(self) -> None:
        """End every session."""
        with self._guard:
            servers = list(self._open.values())
            self._open.clear()
        _close_all(servers)

    # Servers and their tools.

    def _close_outdated(self, configs: Configs) -> None:
        """Close the servers that were removed or have another configuration."""
        with self._guard:
            keys = [
                key
                for key, server in self._open.items()
                if key[0] not in configs or configs[key[0]].digest != server.config.digest
            ]
            outdated = [self._open.pop(key) for key in keys]
        if outdated:
            threading.Thread(target=_close_all, args=(outdated,), daemon=True).start()

    def _servers(
        self, configs: Iterable[ServerConfig], principal: Principal | None
    ) -> Iterator[ExternalServer]:
        """Yield the servers that may be asked for a caller."""
        for config in configs:
            with suppress(LoginNeededError):  # another owner's next list renews its entry
                yield self._server(config, self._sources.logins.login_owner(config, principal))

    def _server(self, config: ServerConfig, owner: str | None) -> ExternalServer:
        with self._guard:
            name = config.name
            server = self._open.get((name, owner or ""))
            if server is None or server.config.digest != config.digest:
                server = self._sources.open(
                    config, owner, lambda: self._on_announcement(name, owner)
                )
                self._open[name, owner or ""] = server
            return server

    def _on_announcement(self, name: str, owner: str | None) -> None:
        """Ask a server again at once, because it announced changed lists."""
        self._announcers[name] = owner
        self._fetcher.announce(name)
        with self._guard:
            server = self._open.get((name, owner or ""))
        if server is not None and not self._is_stack:
            self._fetcher.fetch([server], {}, waits=False)

    def _external(self, name: str, principal: Principal | None) -> ExternalServer:
        config = self._view.configs().get(name)
        if config is None:
            raise NotFoundError(f"there is no server '{name[:80]}'; see 'nacre server list'")
        return self._server(config, self._sources.logins.login_owner(config, principal))

    def _local_server(self, name: str) -> InProcessServer | None:
        servers = self._view.local().servers
        return next((server for server in servers if server.name == name), None)

    def _new_tool(self, view: View, name: str) -> WireTool | None:
        listed = view.lists.tool_places.get(name)
        if listed is None:
            server = server_of(name) or ""
            is_configured = server in self._view.configs()
            is_listed = server in view.entries and view.entries[server].offered is not None
            if is_listed or not is_configured:
                return None
            return UnlistedTool(name, server, self._gather_tools)
        server, tool_name = listed
        local = self._local_server(server)
        if local is not None:
            return local.tool(tool_name, reads=lambda _: self._view.local().reads(name))
        config = self._view.configs().get(server)
        if config is None:
            return None  # the server was removed since
        place = Place(server, tool_name)
        send = partial(self._send, "tool", place)
        return ExternalTool(name, place, send, self._links, config)

    def _gather_tools(
        self, principal: Principal | None
    ) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
        self.gather(principal)
        return self.lists.tool_places, self.list_meta()

    def _resource_place(self, uri: str) -> Place | None:
        if uri.startswith(OWN_SCHEMES):
            return None
        place = place_of(uri, self._view.get().lists)
        if place is not None:
            return Place(*place)
        server = self._links.server(uri)
        return None if server is None else Place(server, uri)


def _held(entry: Entry, kind: PinKind, name: str) -> PinHold | None:
    pin = label(kind, name)
    state: Any = entry.waiting.get(pin, "trusted")
    is_flagged = pin in entry.flagged
    return None if state == "trusted" and not is_flagged else PinHold(state, is_flagged, kind, name)


def _close_all(servers: Iterable[ExternalServer]) -> None:
    threads = [threading.Thread(target=server.close, daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class ExternalTool:
    """A tool of another server; its results may name resources of the server that no list has.

    `send` sends the call to the server, as the caller's owner is known there.
    """

    blocking = False

    def __init__(
        self,
        name: str,
        place: Place,
        send: Callable[[Context, Send[ReadyResult]], Awaitable[ReadyResult]],
        links: Links,
        config: ServerConfig,
    ) -> None:
        self._name = name
        self._place = place
        self._send = send
        self._links = links
        self._as_tasks = config.as_tasks
        self.read_only = config.reads(place.name)

    async def call(self, arguments: dict[str, Any], context: Context) -> WireResult:
        """Call the tool."""
        if self._as_tasks:
            await context.as_task()
        run = context.task
        if run is not None and run.makes(self._name, arguments):
            result = await self._call_once(run, arguments, context)
        else:
            result = await self._sent(arguments, context)
        self._links.remember(self._place.server, result.to_dict())
        return result

    async def _sent(self, arguments: dict[str, Any], context: Context) -> ReadyResult:
        name = self._place.name
        return await self._send(context, lambda server: call_tool(server, name, arguments, context))

    async def _call_once(
        self, run: TaskRun, arguments: dict[str, Any], context: Context
    ) -> ReadyResult:
        """Make the call of a task, which a later attempt must not make again: it has effects."""
        round_ = context.handler_state.get(_BEGUN, 0)
        if run.notes.get(_BEGUN) == round_:
            raise UpstreamError(self._place.server, _LOST, is_fault=False)
        await asyncio.to_thread(run.keep, {_BEGUN: round_})
        try:
            return await self._sent(arguments, context)
        except (InputRequired, OffersChangedError):
            # It goes on with the client's answers, or was not sent. What is kept with a question
            # is stored together with it, so that no moment is left between the two.
            context.handler_state[_BEGUN] = round_ + 1
            raise


class UnlistedTool:
    """A tool of a server that was not asked for its lists yet.

    `gather` asks it, and returns the places of all tools and the `_meta` of the lists.
    """

    blocking = True
    read_only = False

    def __init__(
        self,
        name: str,
        server: str,
        gather: Callable[[Principal | None], tuple[Mapping[str, Any], Mapping[str, Any] | None]],
    ) -> None:
        self._name = name
        self._server = server
        self._gather = gather

    async def call(self, arguments: dict[str, Any], context: Context) -> WireResult:
        """Ask the server for its tools; the client must call again, so that rules can decide."""
        places, meta = self._gather(context.principal)
        if self._name in places:
            raise UnlistedToolError(self._server)
        missing = (meta or {}).get(MISSING, {})
        if self._server in missing:
            raise UpstreamError(self._server, missing[self._server], is_fault=False)
        raise InvalidParamsError(f"Unknown tool: {self._name[:200]}")
