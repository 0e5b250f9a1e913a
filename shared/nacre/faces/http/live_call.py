"""A running call of the laptop server: its reply, its event stream, and its client's disconnect."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from nacre.core.coroutines import step
from nacre.core.errors import ClientCapabilityError, UnavailableError
from nacre.core.limits import STREAM_ALIVE_SECONDS
from nacre.faces.http.remembered_clients import LocalPeers
from nacre.protocol.changes import Changes
from nacre.protocol.context import LoopChannel, capability_of
from nacre.protocol.http.asgi import Receive, Send, chunk, head, write
from nacre.protocol.http.error_map import explain
from nacre.protocol.http.http_messages import ALIVE, HttpCall, HttpReply, reply
from nacre.protocol.http.http_messages import event as sse_event
from nacre.protocol.messages import notification, question, refusal
from nacre.protocol.versions import MODERN

Notify = Callable[[str, dict[str, Any]], None]

_STREAM_HEADERS = (
    ("content-type", "text/event-stream"),
    ("cache-control", "no-store"),
    ("x-accel-buffering", "no"),
)


class LiveCall:
    """A running call, which is stopped if its client cancels it or disconnects."""

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
        self._is_streaming = False

    async def finish(self) -> HttpReply:
        """Run the call, stream its messages, and return its reply."""
        work = asyncio.create_task(self._work())
        gone = asyncio.create_task(self._until_gone())
        # A cancelled call ends in the same way as one whose client disconnected.
        running = self._peers.begin(self._call, gone.cancel)
        try:
            return await self._finish(work, gone)
        except asyncio.CancelledError:
            # The server stops, and waits no longer.
            return await self._give_up()
        finally:
            self._peers.end(running)
            gone.cancel()
            work.cancel()  # no effect if the work is done

    async def _finish(
        self,
        work: "asyncio.Task[HttpReply]",
        gone: "asyncio.Task[None]",
    ) -> HttpReply:
        while not work.done():
            message = asyncio.create_task(self._outbox.get())
            # A silent disconnect is noticed only when something is sent.
            ended, _ = await asyncio.wait(
                {work, message, gone},
                timeout=STREAM_ALIVE_SECONDS if self._is_streaming else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if not message.done():
                message.cancel()
            if not ended:
                await self._send(chunk(ALIVE, more=True))
            if gone.done() and not work.done():
                if gone.cancelled():
                    await self._end_without_answer()
                return await self._abandoned(work)
            if message.done() and not message.cancelled():
                await self._stream(message.result())
        while not self._outbox.empty():
            await self._stream(self._outbox.get_nowait())
        return await self._conclude(work.result())

    async def _give_up(self) -> HttpReply:
        self._channel.cancelled = True
        message, is_modern = self._call.message, self._call.caller.version == MODERN
        error = UnavailableError("the server stopped before the call was done; call again later")
        answer = refusal(message.id, explain(error, modern=is_modern), error)
        return await self._conclude(reply(answer))

    async def _conclude(self, last: HttpReply) -> HttpReply:
        if self._is_streaming:
            await self._send(chunk(sse_event(last.body), more=False))
        else:
            last.cors = last.cors or self._call.cors
            await write(self._send, last)
        return last

    async def _end_without_answer(self) -> None:
        """End the response of a cancelled call, which has no answer."""
        if self._is_streaming:
            await self._send(chunk(b"", more=False))
        else:
            await write(self._send, HttpReply(202, self._call.cors))

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification over the answer."""
        self._channel.notify(method, params)

    async def _work(self) -> HttpReply:
        if not self._call.call.blocking:
            return await self._call.run(self._channel)
        channel = LoopChannel(self._channel, asyncio.get_running_loop())
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: step(self._call.run(channel))
        )

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _abandoned(self, work: "asyncio.Task[HttpReply]") -> HttpReply:
        """Stop the work of an abandoned call; a blocking call is only marked as cancelled."""
        self._channel.cancelled = True
        if not self._call.call.blocking:
            work.cancel()
        try:
            return await work
        except asyncio.CancelledError:
            return HttpReply(499)

    async def _stream(self, message: bytes) -> None:
        if not self._call.streams:
            return
        if not self._is_streaming:
            self._is_streaming = True
            await self._send(head(200, (*_STREAM_HEADERS, *self._call.cors)))
        await self._send(chunk(sse_event(message), more=True))


class _LiveChannel:
    """The way back to the client over the open response."""

    def __init__(self, call: HttpCall, peers: LocalPeers, outbox: asyncio.Queue[bytes]) -> None:
        self.can_ask = call.streams and call.caller.version != MODERN
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


@contextmanager
def notifying_of_changes(call: HttpCall, changes: Changes, notify: Notify) -> Iterator[None]:
    """Notify a client of an older revision of changes, on the answer to its call.

    Such a client has no other stream. It first gets the changes that it missed, then those that
    happen during its call. Later changes wait for its next call.
    """
    caller = call.caller
    state = caller.peer.seen
    if caller.version == MODERN or not call.streams or state is None:
        yield
        return
    for method, uri in list(state.pending):
        notify(method, {"uri": uri} if uri else {})
    state.pending.clear()
    loop, is_running = asyncio.get_running_loop(), [True]

    def deliver(method: str, params: Mapping[str, Any]) -> None:
        if is_running:
            notify(method, dict(params))
        else:
            state.miss(method, params)

    def tell(method: str, params: Mapping[str, Any]) -> None:
        loop.call_soon_threadsafe(deliver, method, params)

    state.tells.append(tell)
    changes.remember(caller.principal, state)
    try:
        yield
    finally:
        is_running.clear()
        state.tells.remove(tell)
