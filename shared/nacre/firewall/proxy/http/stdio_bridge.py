"""A proxy between a client on standard input and output and a remote server over HTTP."""

import asyncio
import contextlib
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine
from typing import Any

from nacre.core.errors import NacreError
from nacre.core.limits import (
    DRAIN_SECONDS,
    LARGE_RESULT_BYTES,
    PROXY_REPLIES,
    SCREENING_PROCESSES,
    UPSTREAM_CONNECT_SECONDS,
)
from nacre.firewall.enforce.guard import Guard
from nacre.firewall.enforce.message import Id, Key, cancelled_id, id_of
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Hold, Verdict
from nacre.firewall.proxy.generations.negotiation import Negotiation
from nacre.firewall.proxy.generations.steps import Step
from nacre.firewall.proxy.http.decisions import decide_response, read_request, wait_for_list
from nacre.firewall.proxy.upstream.legacy_sse import SseSession
from nacre.firewall.proxy.upstream.message_ids import (
    UNAVAILABLE,
    id_key,
    members_of,
    request_ids,
)
from nacre.firewall.proxy.upstream.remote_server import RemoteServer
from nacre.firewall.proxy.upstream.streamable_http import NotStreamableError, StreamableSession
from nacre.http_client.errors import HttpError
from nacre.protocol.versions import META_VERSION, MODERN

_CANCELLED = b"notifications/cancelled"
_POLL_SECONDS = 1.0
_GOODBYE_SECONDS = 2.0  # the server is told only out of courtesy
_LINE_ENDS = bytes.maketrans(b"\r\n", b"  ")


class StdioBridge:
    """One client. `write` sends it a line; `warn` gets messages for the proxy's owner."""

    def __init__(
        self,
        guard: Guard,
        server: RemoteServer,
        *,
        write: Callable[[bytes], Awaitable[None]],
        warn: Callable[[str], None],
        transport: str = "",
    ) -> None:
        self._guard = guard
        self._negotiation: Negotiation | None = Negotiation()
        self._untranslated = write
        self._warn = warn
        self._server = server
        self._transport = transport
        self._session: StreamableSession | SseSession | None = None
        self._choosing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._replies: set[asyncio.Task[None]] = set()
        self._running: dict[str, tuple[asyncio.Task[Any] | None, bool]] = {}
        self._delayed: dict[Key, asyncio.Task[None]] = {}
        self._gone = asyncio.Event()
        self._greeting: asyncio.Task[None] | None = None

    @property
    def translates(self) -> bool | None:
        """Tell whether the two sides are of different generations; None while nobody knows."""
        return False if self._negotiation is None else self._negotiation.translates

    async def run(self, lines: AsyncIterable[bytes]) -> None:
        """Relay until the input ends, and finish the requests that run.

        Raises HttpError when the server has ended the session, ConnectionError when nobody reads
        the output.
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
        if isinstance(self._session, SseSession) and self._session.has_ended:
            raise HttpError("the server has ended the conversation; start the proxy again")
        raise ConnectionError

    # From the client.

    async def _read(self, lines: AsyncIterable[bytes]) -> None:
        large: set[asyncio.Task[None]] = set()
        async for line in lines:
            is_large = len(line) >= LARGE_RESULT_BYTES
            if large and (len(large) >= SCREENING_PROCESSES if is_large else _CANCELLED in line):
                await asyncio.wait(large)
            if is_large:
                task = self._start(self._read_large(line))
                large.add(task)
                task.add_done_callback(large.discard)
            else:
                await self._receive(line)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while self._tasks:  # the end of one may begin another
                    await asyncio.wait(self._tasks)

    async def _read_large(self, line: bytes) -> None:
        await self._receive(line)

    async def _receive(self, line: bytes) -> None:
        """Take a message of the client, in the server's generation."""
        if self._negotiation is not None:
            await self._follow(self._negotiation.from_client(line))
        else:
            await self._pass_in(line)

    async def _pass_in(self, line: bytes) -> None:
        """Take a message for the server; another process reads a large one."""
        large = len(line) >= LARGE_RESULT_BYTES
        await self._take(await read_request(self._guard, line) if large else line)

    async def _write(self, raw: bytes) -> None:
        """Send the client a message, in its generation."""
        if self._negotiation is not None:
            await self._follow(self._negotiation.from_server(raw))
        else:
            await self._untranslated(raw)

    async def _follow(self, steps: list[Step]) -> None:
        """Send translated messages where they go."""
        if self._negotiation is not None and self._negotiation.is_over:
            self._negotiation = None  # nothing is translated from now on
        for step in steps:
            if step.to == "client":
                await self._untranslated(step.raw)
            else:
                await self._pass_in(step.raw)

    async def _take(self, line: bytes) -> None:
        cancelled = cancelled_id(line) if self._delayed else None
        delayed = None if cancelled is None else self._delayed.pop(cancelled, None)
        if delayed is not None:
            delayed.cancel()
        elif self._guard.delays(line) and (id_ := id_of(line)) is not None:
            self._delayed[id_] = self._start(self._decide_later(line, id_))
        else:
            await self._decide(line)

    async def _decide_later(self, line: bytes, id_: Key) -> None:
        """Decide about a message once the list that it relies on has arrived, or after a while."""
        try:
            await self._wait_for_list(line)
        finally:
            self._delayed.pop(id_, None)
        await self._decide(line)

    async def _wait_for_list(self, raw: bytes) -> None:
        async for listing in wait_for_list(self._guard, raw):
            await self._reply(listing)

    async def _may_resend(self, raw: bytes) -> bool:
        """Decide in a new session about a request that the last session did not take."""
        await self._wait_for_list(raw)
        error = self._guard.denial_in_new_session(raw)
        if error is not None:
            await self._write(error)
        return error is None

    async def _decide(self, line: bytes) -> None:
        await self._apply(self._guard.from_client(line), self._forward, self._write, line)

    async def _forward(self, raw: bytes) -> None:
        """Send a message to the server; requests run concurrently."""
        members = members_of(raw)
        method = members.get("method")
        if method == "notifications/cancelled" and self._cancels(members):
            return
        ids = request_ids(raw)
        # A request that was refused in the client's generation is made again under its id, while
        # the first answer may still be read: its end says nothing about this one.
        self._running.update((id_key(id_), (asyncio.current_task(), False)) for id_ in ids)
        if self._greeting is not None and not self._greeting.done():
            await asyncio.wait((self._greeting,), timeout=UPSTREAM_CONNECT_SECONDS)
        if ids:
            task = self._start(self._request(raw, ids))
            is_modern = _is_modern(members)
            self._running.update((id_key(id_), (task, is_modern)) for id_ in ids)
            return
        task = self._start(self._notify(raw))
        if method == "notifications/initialized":
            # Later messages rely on it; others may overtake each other, as over any HTTP.
            self._greeting = task
            await asyncio.wait((task,), timeout=UPSTREAM_CONNECT_SECONDS)

    def _cancels(self, members: dict[str, Any]) -> bool:
        """Cancel a request of the stateless generation, whose stream's end tells the server."""
        params = members.get("params")
        id_ = params.get("requestId") if isinstance(params, dict) else None
        running = self._running.get(id_key(id_)) if isinstance(id_, str) else None
        if running is None or running[0] is None or not running[1]:
            return False
        running[0].cancel()
        return True

    # To the server.

    def _start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finish)
        return task

    def _finish(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._gone.set()  # nobody reads the output now

    async def _request(self, raw: bytes, ids: list[Id]) -> None:
        text = "the server gave no answer"
        try:
            await self._send(raw, ids)
        except NacreError as error:
            text = str(error)
            self._warn(text)
        finally:
            this = asyncio.current_task()
            ended = [id_ for id_ in ids if self._running.get(id_key(id_), (this,))[0] is this]
            for id_ in ended:
                self._running.pop(id_key(id_), None)
        for id_ in ended:
            error_message = self._guard.close_request(id_, text, code=UNAVAILABLE)
            if error_message is not None:
                await self._write(error_message)
        if isinstance(self._session, SseSession) and self._session.has_ended:
            self._gone.set()

    async def _notify(self, raw: bytes) -> None:
        try:
            await self._send(raw, [])
        except NacreError as error:
            self._warn(str(error))

    async def _send(self, raw: bytes, ids: list[Id]) -> None:
        session = self._session
        if session is None:
            async with self._choosing:
                session = self._session
                if session is None:
                    await self._send_first(raw, ids)
                    return
        await session.post(raw, ids)

    async def _send_first(self, raw: bytes, ids: list[Id]) -> None:
        """Send the first message, and learn which transport the server speaks."""
        if self._transport != "sse":
            session = StreamableSession(
                *(self._server, self._deliver, self._guard.mirrors, self._warn),
                begin_session=self._guard.begin_session,
                may_resend=self._may_resend,
            )
            try:
                await session.post(raw, ids)
            except NotStreamableError:
                if self._transport == "http" or not await self._opens_stream():
                    raise
            else:
                self._session = session
                return
        elif not await self._opens_stream():
            raise HttpError(f"{self._server.address.authority} offers no stream of events")
        assert self._session is not None
        await self._session.post(raw, ids)

    async def _opens_stream(self) -> bool:
        session = SseSession(self._server, self._deliver)
        try:
            await session.open()
        except HttpError as error:
            if self._transport == "sse":
                self._warn(str(error))
            return False
        self._session = session
        return True

    # From the server.

    async def _deliver(self, raw: bytes) -> None:
        """Decide about a message of the server; its line ends become blanks."""
        line = raw.translate(_LINE_ENDS) if b"\n" in raw or b"\r" in raw else raw
        if self._negotiation is not None:
            self._negotiation.hears(line)
        verdict = await decide_response(self._guard, line)
        await self._apply(verdict, self._write, self._reply, line)

    async def _reply(self, raw: bytes) -> None:
        """Send the guard's message to the server, which may ask faster than it reads replies."""
        while len(self._replies) >= PROXY_REPLIES:
            await asyncio.wait(self._replies, return_when=asyncio.FIRST_COMPLETED)
        ids = request_ids(raw)
        task = self._start(self._request(raw, ids) if ids else self._notify(raw))
        self._replies.add(task)
        task.add_done_callback(self._replies.discard)

    async def _apply(
        self,
        verdict: Verdict,
        forward: Callable[[bytes], Awaitable[None]],
        answer: Callable[[bytes], Awaitable[None]],
        line: bytes,
    ) -> None:
        match verdict:
            case Forward(raw, reply):
                await forward(raw)
                if reply is not None:
                    await answer(reply)
            case Answer(raw):
                await answer(raw)
            case Hold(ask):
                if ask is not None and self._negotiation is not None:
                    await self._follow(self._negotiation.asked(ask, line))
                elif ask is not None:
                    await self._write(ask)
            case Drop():
                pass

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            for release in self._guard.poll() if self._guard.holds else ():
                if release.to == "client":
                    await self._write(release.raw)
                else:
                    await self._forward(release.raw)

    async def _close(self) -> None:
        if self._session is not None:
            with contextlib.suppress(NacreError, TimeoutError):
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    await self._session.close()
        self._server.close()


def _is_modern(members: dict[str, Any]) -> bool:
    params = members.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and meta.get(META_VERSION) == MODERN
