"""Fetching the lists of servers: unknown servers at once, the others when they are due."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

from nacre.core.backoff import Chance, even
from nacre.core.clock import Clock
from nacre.core.coroutines import is_in_loop
from nacre.core.errors import NacreError, UpstreamError
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import (
    CHANGED_LIST_SECONDS,
    GATHER_SECONDS,
    GATHERED_SECONDS,
)
from nacre.firewall.entry.mounted_servers import CheckedOffer
from nacre.gateway.calls.external_server import ExternalServer
from nacre.gateway.catalogue.health import answered, failed, told
from nacre.gateway.catalogue.store import Entries, Entry, StoredCatalogue
from nacre.gateway.servers.config import ServerConfig
from nacre.ports.other_programs.upstream import Offered

_CLAIM_SECONDS = 30.0  # for one process to ask a server, before another one may
_POLL_SECONDS = 0.02
_FAILED = "could not be asked; the server's log says why"
_SLOW = "takes longer than {seconds:g} s to list what it offers"
_UNLISTED = "began a new session, and has not listed there what it offers; try again"


class _Fetch(NamedTuple):
    """A server that is being asked for its lists, and since when."""

    finished: threading.Event
    began: float


class Watch(Protocol):
    """Compares a server's offer with the one that was trusted."""

    def listed(self, server: str, offered: Offered) -> CheckedOffer:
        """Return the offer that may be shown, and the entries that wait for the owner."""
        ...


class Fetcher:
    """Keeps the catalogue fresh; `on_entries` gets the entries whenever a server has answered."""

    def __init__(
        self,
        catalogue: StoredCatalogue,
        watch: Callable[[], Watch],
        clock: Clock,
        *,
        is_stack: bool,
        on_entries: Callable[[Entries], None],
        chance: Chance = even,
    ) -> None:
        self._catalogue = catalogue
        self._watch = watch
        self._clock = clock
        self._is_stack = is_stack
        self._on_entries = on_entries
        self._chance = chance
        self._guard = threading.Lock()
        self._running: dict[str, _Fetch] = {}
        # How often each server announced changed lists, and how often when it was last fetched.
        self._announced: dict[str, int] = {}
        self._fetched: dict[str, int] = {}

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

    def fetch(
        self, servers: Sequence[ExternalServer], entries: Entries, *, waits: bool = True
    ) -> None:
        """Ask these servers, all at once; wait for the unknown ones.

        The wait ends GATHER_SECONDS after a server was first asked, however many lists it has. A
        stack has no background work, so it also waits for those that are due.
        """
        if self._is_stack and servers:
            self._claim([server.config.name for server in servers])
        awaited = []
        for server in servers:
            fetch = self._start(server)
            if waits and (self._is_stack or _is_unknown(server.config, entries)):
                awaited.append((server, fetch))
        for server, fetch in awaited:
            left = fetch.began + GATHER_SECONDS - time.monotonic()
            if not fetch.finished.wait(max(0.0, left)) and self._is_stack:
                # The function may be frozen now, and the answer lost.
                self._store_failure(server, _SLOW.format(seconds=GATHER_SECONDS))

    def fetch_now(self, server: ExternalServer) -> Entry:
        """Ask one server, store its entry, and return it."""
        name = server.config.name
        announced = self._announced.get(name, 0)
        now = self._clock().timestamp()
        try:
            offered = server.offered()
            watched = self._watch().listed(name, offered)
        except NacreError as error:
            problem = error.reason if isinstance(error, UpstreamError) else str(error)
            return self._store_failure(server, problem)
        except Exception:
            self._store_failure(server, _FAILED)
            raise
        entry = Entry(server.config.digest, now, watched.offered, watched.waiting, watched.flagged)
        stored = self._store(
            name, lambda old: replace(entry, health=answered(old, server.config, offered))
        )
        server.compared(offered)
        self._fetched[name] = announced
        return stored

    def note_failure(self, server: ExternalServer, reason: str) -> None:
        """Store that a call has failed, so that the owner sees it.

        On a stack only a pause is stored, because each write is one of all lists together.
        """
        left = server.seconds_left
        if self._is_stack:
            if left:
                self._store_call_failure(server, reason, left)
            return
        threading.Thread(
            target=self._store_call_failure, args=(server, reason, left), daemon=True
        ).start()

    def _store_call_failure(self, server: ExternalServer, reason: str, left: float) -> None:
        now = self._clock().timestamp()

        def noted(entries: Entries) -> Entries:
            entry = entries.get(server.config.name)
            if entry is None or entry.digest != server.config.digest:
                return entries
            health = replace(
                entry.health,
                error=told(reason),
                error_at=now,
                # Another thread may have stored a later failure before.
                paused_until=max(entry.health.paused_until, now + left if left else 0.0),
            )
            return {**entries, server.config.name: replace(entry, health=health)}

        with suppress(Exception):  # the store may be closed by now, and the caller was told
            self._catalogue.update(noted)

    # Servers that announce changed lists.

    def announce(self, name: str) -> None:
        """Mark a server's lists as outdated."""
        with self._guard:
            self._announced[name] = self._announced.get(name, 0) + 1

    def is_stale(self, name: str) -> bool:
        """Tell whether a server has announced changed lists since it was asked."""
        return self._announced.get(name, 0) > self._fetched.get(name, 0)

    async def refresh(self, server: ExternalServer) -> bool:
        """Ask a server with outdated lists; return False if it does not answer in time."""
        name = server.config.name
        return await self._fetch_until(server, lambda: not self.is_stale(name))

    async def compare(self, server: ExternalServer) -> None:
        """Compare a server's offer in a new session; raises UpstreamError if that fails."""
        if not await self._fetch_until(server, lambda: server.is_compared):
            if server.login_needed is not None:
                raise server.login_needed
            entry = self._catalogue.load().get(server.config.name)
            problem = entry.problem if entry is not None else None
            raise UpstreamError(server.config.name, problem or _UNLISTED, is_fault=False)

    async def _fetch_until(self, server: ExternalServer, is_done: Callable[[], bool]) -> bool:
        """Ask a server for its lists until `is_done`; return False if it does not answer."""
        import asyncio  # noqa: PLC0415 - only calls that wait for a server load it

        may_await = is_in_loop()
        deadline = time.monotonic() + CHANGED_LIST_SECONDS
        while not is_done():
            finished = self._start(server).finished
            while not finished.is_set():
                if time.monotonic() >= deadline:
                    return False
                if may_await:
                    await asyncio.sleep(_POLL_SECONDS)
                else:  # a blocking call runs in a separate thread
                    finished.wait(_POLL_SECONDS)
            has_failed = server.login_needed is not None or self._has_failed(server.config.name)
            if time.monotonic() >= deadline or has_failed:
                return is_done()
        return True

    def _has_failed(self, name: str) -> bool:
        entry = self._catalogue.load().get(name)
        return entry is None or entry.problem is not None

    def _store_failure(self, server: ExternalServer, problem: str) -> Entry:
        config, now = server.config, self._clock().timestamp()
        return self._store(config.name, lambda old: failed(old, config, problem, now, self._chance))

    def _start(self, server: ExternalServer) -> "_Fetch":
        name = server.config.name
        with self._guard:
            if name in self._running:
                return self._running[name]
            fetch = self._running[name] = _Fetch(threading.Event(), time.monotonic())

        def run() -> None:
            try:
                self.fetch_now(server)
            except Exception:  # noqa: BLE001 - stored as the server's problem; nobody waits here
                return
            finally:
                with self._guard:
                    self._running.pop(name, None)
                fetch.finished.set()

        threading.Thread(target=run, name=f"gather-{name}", daemon=True).start()
        return fetch

    def _claim(self, names: Sequence[str]) -> None:
        """Keep other processes from asking the same servers for a moment."""
        at = self._clock().timestamp() - GATHERED_SECONDS + _CLAIM_SECONDS

        def claimed(entries: Entries) -> Entries:
            mine = {
                name: replace(entry, at=at)
                for name, entry in entries.items()
                if name in names and entry.offered is not None
            }
            return {**entries, **mine}

        try:
            self._catalogue.update(claimed)
        except NacreError:
            return  # two processes may ask then

    def _store(self, name: str, change: Callable[[Entry | None], Entry]) -> Entry:
        entries = self._catalogue.update(
            lambda entries: {**entries, name: change(entries.get(name))}
        )
        self._on_entries(entries)
        return entries[name]


def _is_unknown(config: ServerConfig, entries: Entries) -> bool:
    entry = entries.get(config.name)
    if entry is None or entry.digest != config.digest:
        return True
    return entry.offered is None and entry.problem is None
