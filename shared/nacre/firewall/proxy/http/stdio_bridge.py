"""A proxy between a client on standard input and output and a remote server over HTTP."""

import asyncio
import contextlib
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine
from time import monotonic
from typing import Any

from nacre.core.errors import NacreError
from nacre.core.limits import (
    CHANGED_LIST_SECONDS,
    DRAIN_SECONDS,
    PROXY_REPLIES,
    UPSTREAM_CONNECT_SECONDS,
)
from nacre.firewall.enforce.conversation import Key
from nacre.firewall.enforce.guard import Guard
from nacre.firewall.enforce.message import Id
from nacre.firewall.enforce.request_identity import cancelled_id, id_of
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Hold
from nacre.firewall.proxy.http.screening import decided
from nacre.firewall.proxy.upstream.connection import UpstreamError
from nacre.firewall.proxy.upstream.legacy_sse import SseRemote
from nacre.firewall.proxy.upstream.message_ids import UNAVAILABLE, name_of, read, waiting_ids
from nacre.firewall.proxy.upstream.streamable_http import NotStreamableError, StreamableRemote
from nacre.firewall.proxy.upstream.upstream_client import Upstream
from nacre.protocol.versions import META_VERSION, MODERN

_POLL_SECONDS = 1.0
_LOOK_SECONDS = 0.02
_GOODBYE_SECONDS = 2.0  # nobody waits for a server that is told only out of courtesy
_LINE_ENDS = bytes.maketrans(b"\r\n", b"  ")


class StdioProxy:
    """One client. `write` sends it a line; `say` hears what the proxy's owner should know."""

    def __init__(
        self,
        guard: Guard,
        upstream: Upstream,
        *,
        write: Callable[[bytes], Awaitable[None]],
        say: Callable[[str], None],
        transport: str = "",
    ) -> None:
        self._guard = guard
        self._write = write
        self._say = say
        self._upstream = upstream
        self._transport = transport
        self._remote: StreamableRemote | SseRemote | None = None
        self._choosing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._replies: set[asyncio.Task[None]] = set()
        self._running: dict[str, tuple[asyncio.Task[None], bool]] = {}
        self._delayed: dict[Key, asyncio.Task[None]] = {}
        self._gone = asyncio.Event()

    async def run(self, lines: AsyncIterable[bytes]) -> None:
        """Relay until the input ends, and finish what is in flight.

        Raises UpstreamError when the server has ended the conversation, ConnectionError when
        nobody reads what is written.
        """
        loop = asyncio.get_running_loop()
        reading = loop.create_task(self._read(lines))
        gone = loop.create_task(self._gone.wait())
        polling = loop.create_task(self._poll())
        try:
            await asyncio.wait((reading, gone, polling), return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
            if polling.done():
                polling.result()
        finally:
            for task in (reading, gone, polling, *self._tasks):
                task.cancel()
            await self._close()
        if not reading.cancelled() and reading.done():
            return
        if isinstance(self._remote, SseRemote) and self._remote.has_ended:
            raise UpstreamError("the server has ended the conversation; start the proxy again")
        raise ConnectionError

    async def _read(self, lines: AsyncIterable[bytes]) -> None:
        async for line in lines:
            given_up = cancelled_id(line) if self._delayed else None
            delayed = None if given_up is None else self._delayed.pop(given_up, None)
            if delayed is not None:
                delayed.cancel()
            elif self._guard.delays(line) and (id_ := id_of(line)) is not None:
                task = self._start(self._later(line, id_))
                self._delayed[id_] = task
            else:
                await self._decide(line)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=DRAIN_SECONDS)

    async def _later(self, line: bytes, id_: Key) -> None:
        """Bring a message when the list is there that it relies on, or after a while."""
        try:
            await self._compared(line)
        finally:
            self._delayed.pop(id_, None)
        await self._decide(line)

    async def _compared(self, raw: bytes) -> None:
        """Wait for the list that a message relies on, and ask for it where nobody has."""
        until = monotonic() + CHANGED_LIST_SECONDS
        while self._guard.delays(raw) and monotonic() < until:
            if (first := self._guard.first(raw)) is not None:
                await self._back(first)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _may_go_on(self, raw: bytes) -> bool:
        """Decide in a new session about a request that met the end of the last one."""
        await self._compared(raw)
        instead = self._guard.withdrawn(raw)
        if instead is not None:
            await self._write(instead)
        return instead is None

    async def _decide(self, line: bytes) -> None:
        verdict = self._guard.from_client(line)
        match verdict:
            case Forward(raw, answer):
                if answer is not None:
                    await self._write(answer)
                await self._up(raw)
            case Answer(raw):
                await self._write(raw)
            case Hold(ask):
                if ask is not None:
                    await self._write(ask)
            case Drop():
                pass

    async def _up(self, raw: bytes) -> None:
        """Send a message on; requests run beside each other."""
        members = read(raw)
        method = members.get("method")
        if method == "notifications/cancelled" and self._gives_up(members):
            return
        ids = waiting_ids(raw)
        if ids:
            task = self._start(self._request(raw, ids))
            is_modern = _is_modern(members)
            self._running.update((name_of(each), (task, is_modern)) for each in ids)
            return
        task = self._start(self._tell(raw))
        if method == "notifications/initialized":
            # What follows counts on it; the rest may overtake each other, as over any HTTP.
            await asyncio.wait((task,), timeout=UPSTREAM_CONNECT_SECONDS)

    def _start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._gone.set()  # nobody reads any more

    def _gives_up(self, members: dict[str, Any]) -> bool:
        """Cancel a request of the stateless generation, for which the end of its stream says so."""
        params = members.get("params")
        id_ = params.get("requestId") if isinstance(params, dict) else None
        running = self._running.get(name_of(id_)) if isinstance(id_, str) else None
        if running is None or not running[1]:
            return False
        running[0].cancel()
        return True

    async def _request(self, raw: bytes, ids: list[Id]) -> None:
        text = "the server gave no answer"
        try:
            await self._send(raw, ids)
        except NacreError as error:
            text = str(error)
            self._say(text)
        finally:
            for each in ids:
                self._running.pop(name_of(each), None)
        for each in ids:
            instead = self._guard.lost(each, text, code=UNAVAILABLE)
            if instead is not None:
                await self._write(instead)
        if isinstance(self._remote, SseRemote) and self._remote.has_ended:
            self._gone.set()

    async def _tell(self, raw: bytes) -> None:
        try:
            await self._send(raw, [])
        except NacreError as error:
            self._say(str(error))

    async def _send(self, raw: bytes, ids: list[Id]) -> None:
        remote = self._remote
        if remote is None:
            async with self._choosing:
                remote = self._remote
                if remote is None:
                    await self._first(raw, ids)
                    return
        await remote.post(raw, ids)

    async def _first(self, raw: bytes, ids: list[Id]) -> None:
        """Send the first message, and find out which transport the server speaks."""
        if self._transport != "sse":
            streamable = StreamableRemote(
                *(self._upstream, self._deliver, self._guard.mirrors, self._say),
                begins=self._guard.begin_session,
                may_go_on=self._may_go_on,
            )
            try:
                await streamable.post(raw, ids)
            except NotStreamableError:
                if self._transport == "http" or not await self._opens_stream():
                    raise
            else:
                self._remote = streamable
                return
        elif not await self._opens_stream():
            raise UpstreamError(f"{self._upstream.address.authority} offers no stream of events")
        assert self._remote is not None
        await self._remote.post(raw, ids)

    async def _opens_stream(self) -> bool:
        remote = SseRemote(self._upstream, self._deliver)
        try:
            await remote.open()
        except UpstreamError as error:
            if self._transport == "sse":
                self._say(str(error))
            return False
        self._remote = remote
        return True

    async def _deliver(self, said: bytes) -> None:
        """Decide about what the server said; blanks at its line ends are as good as those."""
        raw = said.translate(_LINE_ENDS) if b"\n" in said or b"\r" in said else said
        verdict = await decided(self._guard, raw)
        match verdict:
            case Forward(on, back):
                await self._write(on)
                if back is not None:
                    await self._back(back)
            case Answer(back):
                await self._back(back)
            case Hold(ask):
                if ask is not None:
                    await self._write(ask)
            case Drop():
                pass

    async def _back(self, raw: bytes) -> None:
        """Answer the server, which may ask faster than it takes answers."""
        while len(self._replies) >= PROXY_REPLIES:
            await asyncio.wait(self._replies, return_when=asyncio.FIRST_COMPLETED)
        ids = waiting_ids(raw)  # of what we ask for ourselves
        task = self._start(self._request(raw, ids) if ids else self._tell(raw))
        self._replies.add(task)
        task.add_done_callback(self._replies.discard)

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            for release in self._guard.poll() if self._guard.holds else ():
                if release.to == "client":
                    await self._write(release.raw)
                else:
                    await self._up(release.raw)

    async def _close(self) -> None:
        if self._remote is not None:
            with contextlib.suppress(NacreError, TimeoutError):
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    await self._remote.close()
        self._upstream.close()


def _is_modern(members: dict[str, Any]) -> bool:
    params = members.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and meta.get(META_VERSION) == MODERN
