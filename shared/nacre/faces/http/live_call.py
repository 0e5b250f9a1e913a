"""One call of the laptop server while it runs: its answer, its stream, its client's presence."""

import asyncio
from concurrent.futures import Executor
from typing import Any

from nacre.core.coroutines import step
from nacre.core.errors import ClientCapabilityError
from nacre.core.limits import STREAM_ALIVE_SECONDS
from nacre.faces.http.remembered_clients import LocalPeers
from nacre.protocol.context import capability_of
from nacre.protocol.http.http_messages import HttpCall, HttpReply
from nacre.protocol.http.sse import ALIVE
from nacre.protocol.http.sse import event as sse_event
from nacre.protocol.messages import notification, question
from nacre.protocol.versions import is_modern
from nacre.web.asgi import Receive, Send, chunk, head, write

_STREAM_HEADERS = (
    ("content-type", "text/event-stream"),
    ("cache-control", "no-store"),
    ("x-accel-buffering", "no"),
)


class LiveCall:
    """One call while it runs: its answer, its stream and its client's presence."""

    def __init__(
        self, call: HttpCall, peers: LocalPeers, threads: Executor, receive: Receive, send: Send
    ) -> None:
        self._call = call
        self._peers = peers
        self._threads = threads
        self._receive = receive
        self._send = send
        self._outbox: asyncio.Queue[bytes] = asyncio.Queue()
        self._channel = _LiveChannel(call, peers, self._outbox)

    async def finish(self) -> HttpReply:
        """Run the call, stream what it says, and return its reply."""
        work = asyncio.create_task(self._work())
        gone = asyncio.create_task(self._until_gone())
        # A client that gives the call up is as good as gone.
        running = self._peers.begin(self._call, gone.cancel)
        try:
            return await self._finish(work, gone)
        finally:
            self._peers.end(running)
            gone.cancel()
            work.cancel()  # where the server itself gave up; done work takes no notice

    async def _finish(
        self,
        work: "asyncio.Task[HttpReply]",
        gone: "asyncio.Task[None]",
    ) -> HttpReply:
        streaming = False
        while not work.done():
            message = asyncio.create_task(self._outbox.get())
            # A client that is gone without a word shows when something is sent to it.
            ended, _ = await asyncio.wait(
                {work, message, gone},
                timeout=STREAM_ALIVE_SECONDS if streaming else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not message.done():
                message.cancel()
            if not ended:
                await self._send(chunk(ALIVE, more=True))
            if gone.done() and not work.done():
                if gone.cancelled():
                    await self._end_without_answer(streaming=streaming)
                return await self._abandoned(work)
            if message.done() and not message.cancelled():
                streaming = await self._stream(message.result(), started=streaming)
        while not self._outbox.empty():
            streaming = await self._stream(self._outbox.get_nowait(), started=streaming)
        done = work.result()
        if streaming:
            await self._send(chunk(sse_event(done.body), more=False))
        else:
            await write(self._send, done)
        return done

    async def _end_without_answer(self, *, streaming: bool) -> None:
        """End the exchange: a call that was cancelled has no answer."""
        if streaming:
            await self._send(chunk(b"", more=False))
        else:
            await write(self._send, HttpReply(202, self._call.cors))

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification over the answer."""
        self._channel.notify(method, params)

    async def _work(self) -> HttpReply:
        if not self._call.blocking:
            return await self._call.run(self._channel)
        channel = _ThreadChannel(self._channel, asyncio.get_running_loop())
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: step(self._call.run(channel))
        )

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _abandoned(self, work: "asyncio.Task[HttpReply]") -> HttpReply:
        """Nobody waits any more: stop what can be stopped, tell the rest."""
        self._channel.cancelled = True
        if not self._call.blocking:
            work.cancel()
        try:
            return await work
        except asyncio.CancelledError:
            return HttpReply(499)

    async def _stream(self, message: bytes, *, started: bool) -> bool:
        if not self._call.streams:
            return False
        if not started:
            await self._send(head(200, (*_STREAM_HEADERS, *self._call.cors)))
        await self._send(chunk(sse_event(message), more=True))
        return True


class _LiveChannel:
    """The way back to the client over the open response."""

    def __init__(self, call: HttpCall, peers: LocalPeers, outbox: asyncio.Queue[bytes]) -> None:
        self.can_ask = call.streams and not is_modern(call.caller.version)
        self.cancelled = False
        self._principal = call.caller.principal
        self._peers = peers
        self._outbox = outbox

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._outbox.put_nowait(notification(method, params))

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if not self.can_ask:
            raise ClientCapabilityError(capability_of(method))
        expected = self._peers.expect(self._principal)
        self._outbox.put_nowait(question(expected.id, method, params))
        return await expected.result(method)


class _ThreadChannel:
    """The same way back, for a handler that runs in a thread."""

    def __init__(self, live: _LiveChannel, loop: asyncio.AbstractEventLoop) -> None:
        self.can_ask = live.can_ask
        self._live = live
        self._loop = loop

    @property
    def cancelled(self) -> bool:
        return self._live.cancelled

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._loop.call_soon_threadsafe(self._live.notify, method, params)

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return asyncio.run_coroutine_threadsafe(self._live.ask(method, params), self._loop).result()
