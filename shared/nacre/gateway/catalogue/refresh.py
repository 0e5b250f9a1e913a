"""What is known of the servers behind this one; whoever needs it looks again when it is due.

A server that was taken away, or a tool that waits for its owner, counts within seconds for
calls too, whoever noted it: another process, or another environment on AWS.
"""

import math
import threading
from collections.abc import Callable

from nacre.core.clock import Clock
from nacre.core.errors import NacreError
from nacre.core.limits import GATHERED_LOOK_SECONDS, GATHERED_SECONDS, STACK_LOOK_SECONDS
from nacre.gateway.catalogue.merged_lists import Part
from nacre.gateway.catalogue.snapshot import Configs, Locals, View, viewed
from nacre.gateway.catalogue.sources import Sources
from nacre.gateway.catalogue.store import Entries
from nacre.gateway.servers.config import Problem


class Looking:
    """Keeps the view; `read` hears which servers are configured when that was read."""

    def __init__(
        self,
        sources: Sources,
        clock: Clock,
        *,
        is_stack: bool,
        tick: Callable[[], float],
        read: Callable[[Configs], None],
    ) -> None:
        self._sources = sources
        self._clock = clock
        self._is_stack = is_stack
        self._tick = tick
        self._configs_read = read
        self._seconds = STACK_LOOK_SECONDS if is_stack else GATHERED_LOOK_SECONDS
        self._guard = threading.RLock()
        self._looked_at = -math.inf
        self.view: View | None = None  # as far as it is known without a look

    def is_recent(self, moment: float) -> bool:
        """Tell whether what was done then need not be done again."""
        return self.view is not None and self._tick() - moment < self._seconds

    def own_changed(self) -> bool:
        """Tell whether a server of this process offers something else than the view has."""
        view = self.view
        if view is None or view.local is None:
            return False
        return view.parts != tuple(Part(each.name, each.offered()) for each in view.local.servers)

    def known(self) -> View:
        """Return what counts now."""
        view = self.view
        return view if view is not None and self.is_recent(self._looked_at) else self.looked()

    def looked(self, *, needs_configs: bool = False) -> View:
        """Return what counts now, with the configuration where that is needed."""
        with self._guard:
            view = self.view
            is_whole = view is not None and (view.configs is not None or not needs_configs)
            is_recent = self.is_recent(self._looked_at) and not self.own_changed()
            if view is not None and is_whole and is_recent:
                return view
            try:
                entries = self._sources.catalogue.load()
                configs, problems = self._read(entries, needs_configs=needs_configs)
            except NacreError as error:
                # Our own tools are there all the same.
                self._looked_at = self._tick()
                if view is None:
                    unread = Problem("servers", str(error.public or error))
                    view = self.view = viewed(None, {}, None, (unread,), self.locals())
                return view
            self._looked_at = self._tick()
            found = self.view = viewed(view, entries, configs, problems, self.locals())
        if configs is not None:
            self._configs_read(configs)
        return found

    def configs(self) -> Configs:
        """Return the configured servers."""
        view = self.known()
        if view.configs is None:
            view = self.looked(needs_configs=True)
        return view.configs or {}

    def kept(self, entries: Entries) -> None:
        """Take over what a server has just said."""
        with self._guard:
            view = self.view
            configs, problems = (None, ()) if view is None else (view.configs, view.problems)
            self.view = viewed(view, entries, configs, problems, self.locals())

    def locals(self) -> Locals:
        """Return the servers of this process."""
        return self._sources.local()

    def _read(
        self, entries: Entries, *, needs_configs: bool
    ) -> tuple[Configs | None, tuple[Problem, ...]]:
        """Return the configured servers; a stack reads them only where somebody is to be asked."""
        now = self._clock().timestamp()
        is_fresh = all(
            entry.offered is not None and now - entry.at < GATHERED_SECONDS
            for entry in entries.values()
        )
        if self._is_stack and is_fresh and not needs_configs:
            return None, ()
        found = self._sources.servers()
        return {config.name: config for config in found.servers}, found.problems
