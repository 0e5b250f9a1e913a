"""Asking servers what they offer: those that were never asked at once, others in their turn."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from nacre.core.clock import Clock
from nacre.core.coroutines import is_in_loop
from nacre.core.errors import NacreError, UpstreamError
from nacre.core.limits import CHANGED_LIST_SECONDS, GATHER_SECONDS, GATHERED_SECONDS
from nacre.firewall.entry.mounted_servers import Watched
from nacre.gateway.calls.external_server import External
from nacre.gateway.catalogue.store import Entries, Entry, StoredCatalogue
from nacre.gateway.servers.config import ServerConfig
from nacre.ports.upstream import Offered

_RETRY_SECONDS = 30.0  # a server that could not be asked is asked again after that
_LOOK_SECONDS = 0.02
_FAILED = "could not be asked; the server's log says why"
_UNLISTED = "began a new session, and has not listed there what it offers; try again"


class Watch(Protocol):
    """Compares what a server offers with what was trusted."""

    def listed(self, server: str, offered: Offered) -> Watched:
        """Return what waits for the server's owner, and the offer as it may be shown."""
        ...


class Gathering:
    """Keeps the catalogue fresh; `background` runs what nobody waits for, None where nothing may.

    Answers of servers reach `kept` as they come.
    """

    def __init__(
        self,
        catalogue: StoredCatalogue,
        watch: Callable[[], Watch],
        clock: Clock,
        *,
        is_stack: bool,
        kept: Callable[[Entries], None],
    ) -> None:
        self._catalogue = catalogue
        self._watch = watch
        self._clock = clock
        self._is_stack = is_stack
        self._kept = kept
        self._guard = threading.Lock()
        self._running: dict[str, threading.Event] = {}
        # How often each server said that its lists changed, and how much of that is known.
        self._announced: dict[str, int] = {}
        self._known: dict[str, int] = {}

    def due(self, configs: Iterable[ServerConfig], entries: Entries) -> list[ServerConfig]:
        """Return the servers whose entries are missing or old."""
        now = self._clock().timestamp()
        return [
            config
            for config in configs
            if _is_unknown(config, entries)
            or self.is_stale(config.name)
            or now - entries[config.name].at >= GATHERED_SECONDS
        ]

    def gather(self, servers: Sequence[External], entries: Entries, *, waits: bool = True) -> None:
        """Ask these servers; wait for those that were never asked, for a bounded time."""
        if self._is_stack and servers:
            self._claim([server.config.name for server in servers])
        waited = []
        for server in servers:
            done = self._start(server)
            if waits and (self._is_stack or _is_unknown(server.config, entries)):
                waited.append(done)
        until = time.monotonic() + GATHER_SECONDS
        for done in waited:
            done.wait(max(0.0, until - time.monotonic()))

    def refresh(self, server: External) -> Entry:
        """Ask one server now, keep what it says, and return it."""
        name = server.config.name
        announced = self._announced.get(name, 0)
        now = self._clock().timestamp()
        try:
            offered = server.offered()
            watched = self._watch().listed(name, offered)
        except NacreError as error:
            problem = error.reason if isinstance(error, UpstreamError) else str(error)
            return self._failed(server, problem)
        except Exception:
            self._failed(server, _FAILED)
            raise
        entry = Entry(server.config.digest, now, watched.offered, watched.waiting, watched.flagged)
        self._keep(name, lambda _old: entry)
        server.compared(offered)
        self._known[name] = announced
        return entry

    # Servers that say that their lists changed.

    def announce(self, name: str) -> None:
        """Note that a server's lists are not what is known of them."""
        with self._guard:
            self._announced[name] = self._announced.get(name, 0) + 1

    def is_stale(self, name: str) -> bool:
        """Tell whether a server's lists have changed since it was asked."""
        return self._announced.get(name, 0) > self._known.get(name, 0)

    async def fresh(self, server: External) -> bool:
        """Ask a server whose lists changed, and wait for what it says; False if it does not."""
        name = server.config.name
        return await self._asked(server, lambda: not self.is_stale(name))

    async def compared(self, server: External) -> None:
        """Compare what a server offers in a new session; raise UpstreamError if it cannot be."""
        if not await self._asked(server, lambda: server.is_compared):
            entry = self._catalogue.load().get(server.config.name)
            problem = entry.problem if entry is not None else None
            raise UpstreamError(server.config.name, problem or _UNLISTED, is_fault=False)

    async def _asked(self, server: External, is_done: Callable[[], bool]) -> bool:
        """Ask a server what it offers until that is done; return False if it does not say."""
        import asyncio  # noqa: PLC0415 - only who waits for a server has loaded it

        may_await = is_in_loop()
        until = time.monotonic() + CHANGED_LIST_SECONDS
        while not is_done():
            done = self._start(server)
            while not done.is_set():
                if time.monotonic() >= until:
                    return False
                if may_await:
                    await asyncio.sleep(_LOOK_SECONDS)
                else:  # a call that blocks has a thread of its own
                    done.wait(_LOOK_SECONDS)
            if time.monotonic() >= until or self._has_failed(server.config.name):
                return is_done()
        return True

    def _has_failed(self, name: str) -> bool:
        entry = self._catalogue.load().get(name)
        return entry is None or entry.problem is not None

    def _failed(self, server: External, problem: str) -> Entry:
        config = server.config
        at = self._clock().timestamp() - GATHERED_SECONDS + _RETRY_SECONDS
        found: list[Entry] = []

        def kept(old: Entry | None) -> Entry:
            if old is None or old.digest != config.digest:
                new = Entry(config.digest, at, None, problem=problem)
            else:
                new = Entry(old.digest, at, old.offered, old.waiting, old.flagged, problem)
            found.append(new)
            return new

        self._keep(config.name, kept)
        return found[-1]

    def _start(self, server: External) -> threading.Event:
        name = server.config.name
        with self._guard:
            if name in self._running:
                return self._running[name]
            done = self._running[name] = threading.Event()

        def run() -> None:
            try:
                self.refresh(server)
            except Exception:  # noqa: BLE001 - kept as the server's problem; nobody waits here
                return
            finally:
                with self._guard:
                    self._running.pop(name, None)
                done.set()

        threading.Thread(target=run, name=f"gather-{name}", daemon=True).start()
        return done

    def _claim(self, names: Sequence[str]) -> None:
        """Let no other process ask the same servers in the next moments."""
        at = self._clock().timestamp() - GATHERED_SECONDS + _RETRY_SECONDS

        def claimed(entries: Entries) -> Entries:
            mine = {
                name: Entry(
                    entry.digest, at, entry.offered, entry.waiting, entry.flagged, entry.problem
                )
                for name, entry in entries.items()
                if name in names and entry.offered is not None
            }
            return {**entries, **mine}

        try:
            self._catalogue.update(claimed)
        except NacreError:
            return  # then two may ask

    def _keep(self, name: str, change: Callable[[Entry | None], Entry]) -> None:
        self._kept(
            self._catalogue.update(lambda entries: {**entries, name: change(entries.get(name))})
        )


def _is_unknown(config: ServerConfig, entries: Entries) -> bool:
    entry = entries.get(config.name)
    if entry is None or entry.digest != config.digest:
        return True
    return entry.offered is None and entry.problem is None
