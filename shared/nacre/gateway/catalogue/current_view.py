"""The current view of the servers behind this one, reloaded when it is older than seconds.

A removed server, or a tool that waits for its owner's approval, counts for calls within seconds,
even if another process or another environment on AWS wrote it.
"""

import math
import threading
from collections.abc import Callable

from nacre.core.clock import Clock
from nacre.core.errors import NacreError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import GATHERED_LOOK_SECONDS, GATHERED_SECONDS, STACK_LOOK_SECONDS
from nacre.firewall.rules.rule import NOWHERE, Surroundings
from nacre.gateway.calls.external_server import ExternalServer
from nacre.gateway.calls.owner_logins import OwnerLogins
from nacre.gateway.catalogue.fetcher import Watch
from nacre.gateway.catalogue.snapshot import Configs, LocalServers, View, new_view, offers_of
from nacre.gateway.catalogue.store import Entries, StoredCatalogue
from nacre.gateway.servers.config import Problem, ServerConfig, ServerList


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The origins of servers and of their lists; `here` is where servers of this process run.

    `open` opens a server for an owner who has logged in to it, or for everybody.
    """

    servers: Callable[[], ServerList]
    local: Callable[[], LocalServers]
    catalogue: StoredCatalogue
    open: Callable[[ServerConfig, str | None, Callable[[], None]], ExternalServer]
    logins: OwnerLogins
    watch: Callable[[], Watch]
    where: Callable[[ServerConfig], Surroundings] = lambda _config: NOWHERE
    here: Surroundings = NOWHERE


class CurrentView:
    """The view; `on_configs` gets the configured servers whenever they were read."""

    def __init__(
        self,
        sources: Sources,
        clock: Clock,
        *,
        is_stack: bool,
        tick: Callable[[], float],
        on_configs: Callable[[Configs], None],
    ) -> None:
        self._sources = sources
        self._clock = clock
        self._is_stack = is_stack
        self._tick = tick
        self._on_configs = on_configs
        self._seconds = STACK_LOOK_SECONDS if is_stack else GATHERED_LOOK_SECONDS
        self._guard = threading.RLock()
        self._loaded_at = -math.inf
        self.latest: View | None = None  # may be older than `get` allows

    def is_recent(self, moment: float) -> bool:
        """Tell whether the result of an action at that moment still counts."""
        return self.latest is not None and self._tick() - moment < self._seconds

    def local_changed(self) -> bool:
        """Tell whether the offers of a server of this process differ from the view."""
        view = self.latest
        return view is not None and view.local is not None and view.offers != offers_of(view.local)

    def get(self) -> View:
        """Return the view, reloaded if it is due."""
        view = self.latest
        return view if view is not None and self.is_recent(self._loaded_at) else self.reload()

    def reload(self, *, needs_configs: bool = False) -> View:
        """Return the view with fresh entries, and with the configuration if it is needed."""
        with self._guard:
            view = self.latest
            is_complete = view is not None and (view.configs is not None or not needs_configs)
            is_recent = self.is_recent(self._loaded_at) and not self.local_changed()
            if view is not None and is_complete and is_recent:
                return view
            try:
                entries = self._sources.catalogue.load()
                configs, problems = self._read_configs(entries, needs_configs=needs_configs)
            except NacreError as error:
                # The tools of this server are still available.
                self._loaded_at = self._tick()
                if view is None:
                    problem = Problem("servers", str(error.public or error))
                    view = self.latest = new_view(None, {}, None, (problem,), self.local())
                return view
            self._loaded_at = self._tick()
            view = self.latest = new_view(view, entries, configs, problems, self.local())
        if configs is not None:
            self._on_configs(configs)
        return view

    def configs(self) -> Configs:
        """Return the configured servers."""
        view = self.get()
        if view.configs is None:
            view = self.reload(needs_configs=True)
        return view.configs or {}

    def set_entries(self, entries: Entries) -> None:
        """Use entries that were just stored."""
        with self._guard:
            view = self.latest
            configs, problems = (None, ()) if view is None else (view.configs, view.problems)
            self.latest = new_view(view, entries, configs, problems, self.local())

    def local(self) -> LocalServers:
        """Return the servers of this process."""
        return self._sources.local()

    def _read_configs(
        self, entries: Entries, *, needs_configs: bool
    ) -> tuple[Configs | None, tuple[Problem, ...]]:
        """Return the configured servers; a stack reads them only if a server is due."""
        now = self._clock().timestamp()
        is_fresh = all(
            entry.offered is not None and now - entry.at < GATHERED_SECONDS
            for entry in entries.values()
        )
        if self._is_stack and is_fresh and not needs_configs:
            return None, ()
        servers = self._sources.servers()
        return {config.name: config for config in servers.servers}, servers.problems
