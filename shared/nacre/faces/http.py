"""The laptop server: the MCP endpoint as an ASGI application.

Answers are one JSON object, or a live stream once a call has something to say
before it ends. Blocking handlers run in threads, so one slow call holds up nobody.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import Executor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl

from nacre.app import Application
from nacre.errors import ClientCapabilityError, TooLargeError
from nacre.faces.error_map import explain
from nacre.faces.logs import Log
from nacre.faces.mcp import CallLog, endpoint
from nacre.faces.peers import LocalPeers
from nacre.faces.threads import CallThreads
from nacre.limits import HTTP_THREADS, MAX_BODY_BYTES, MAX_DISCARDED_BYTES
from nacre.protocol.answers import refusal
from nacre.protocol.context import capability_of
from nacre.protocol.fences import Fences
from nacre.protocol.http import Admit, Endpoint
from nacre.protocol.http_messages import HttpCall, HttpReply, HttpRequest, reply
from nacre.protocol.messages import notification, question
from nacre.protocol.running import step
from nacre.protocol.sse import event as sse_event
from nacre.protocol.versions import is_modern

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
Lifespan = Callable[[], AbstractAsyncContextManager[None]]

_STREAM_HEADERS = (
    ("content-type", "text/event-stream"),
    ("cache-control", "no-store"),
    ("x-accel-buffering", "no"),
)


@asynccontextmanager
async def _nothing() -> AsyncIterator[None]:
    yield


def asgi_app(
    app: Application,
    *,
    admit: Admit,
    fences: Fences | None = None,
    log: Log | None = None,
    lifespan: Lifespan = _nothing,
    elsewhere: AsgiApp | None = None,
) -> AsgiApp:
    """Return the server: MCP under `/mcp`, everything else answered by `elsewhere`."""
    peers = LocalPeers()
    served = endpoint(app, admit=admit, fences=fences, peers=peers)
    return _Server(served, peers, CallLog(log or Log()), lifespan, elsewhere or _not_found)


class _Server:
    def __init__(
        self,
        served: Endpoint,
        peers: LocalPeers,
        calls: CallLog,
        lifespan: Lifespan,
        elsewhere: AsgiApp,
    ) -> None:
        self._endpoint = served
        self._peers = peers
        self._calls = calls
        self._lifespan = lifespan
        self._elsewhere = elsewhere
        self._threads = CallThreads(HTTP_THREADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http" and Endpoint.serves(scope["path"]):
            await self._answer(scope, receive, send)
        else:
            await self._elsewhere(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self._lifespan():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = self._calls.start()
        try:
            request = await _read(scope, receive)
        except TooLargeError as error:
            refused = reply(refusal(None, explain(error, modern=True), error))
            # Something may be left of the body, so the connection ends here.
            closing = (*refused.headers, ("connection", "close"))
            await _send(send, HttpReply(refused.status, closing, refused.body))
            self._calls.end(started, refused)
            return
        except ConnectionError:
            return
        begun = self._endpoint.begin(request)
        if isinstance(begun, HttpReply):
            await _send(send, begun)
            self._calls.end(started, begun)
            return
        caller = begun.caller.principal
        done = await _Running(begun, self._peers, self._threads, receive, send).finish()
        self._calls.end(
            started,
            done,
            method=begun.message.method,
            tool=begun.tool,
            being=caller.being_id if caller else None,
            token=caller.subject if caller else None,
        )


class _Running:
    """One call while it runs: its answer, its stream and its client's presence."""

    def __init__(
        self, call: HttpCall, peers: LocalPeers, threads: Executor, receive: Receive, send: Send
    ) -> None:
        self._call = call
        self._threads = threads
        self._receive = receive
        self._send = send
        self._outbox: asyncio.Queue[bytes] = asyncio.Queue()
        self._channel = _LiveChannel(call, peers, self._outbox)

    async def finish(self) -> HttpReply:
        """Run the call, stream what it says, and return its reply."""
        work = asyncio.create_task(self._work())
        gone = asyncio.create_task(self._until_gone())
        streaming = False
        try:
            while not work.done():
                said = asyncio.create_task(self._outbox.get())
                await asyncio.wait({work, said, gone}, return_when=asyncio.FIRST_COMPLETED)
                if not said.done():
                    said.cancel()
                if gone.done() and not work.done():
                    return await self._abandoned(work)
                if said.done() and not said.cancelled():
                    streaming = await self._stream(said.result(), started=streaming)
            while not self._outbox.empty():
                streaming = await self._stream(self._outbox.get_nowait(), started=streaming)
            done = work.result()
            if streaming:
                await self._send(_chunk(sse_event(done.body), more=False))
            else:
                await _send(self._send, done)
            return done
        finally:
            gone.cancel()
            work.cancel()  # where the server itself gave up; done work takes no notice

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
        """The client hung up: stop what can be stopped, let the rest end by itself."""
        self._channel.cancelled = True
        if is_modern(self._call.caller.version) and not self._call.blocking:
            work.cancel()
        try:
            return await work
        except asyncio.CancelledError:
            return HttpReply(499)

    async def _stream(self, message: bytes, *, started: bool) -> bool:
        if not self._call.streams:
            return False
        if not started:
            await self._send(_head(200, (*_STREAM_HEADERS, *self._call.cors)))
        await self._send(_chunk(sse_event(message), more=True))
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


async def _read(scope: Scope, receive: Receive) -> HttpRequest:
    """Return the request; raises TooLargeError for a body that is too long.

    What is too long is thrown away as it comes, because a client that is still sending
    when the connection closes often sees a broken pipe instead of the answer.
    """
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    chunks, size = [], 0
    while True:
        part = await receive()
        if part["type"] == "http.disconnect":
            raise ConnectionError
        chunk = part.get("body", b"")
        size += len(chunk)
        if size <= MAX_BODY_BYTES:
            chunks.append(chunk)
        if size > MAX_DISCARDED_BYTES or not part.get("more_body"):
            break
    if size > MAX_BODY_BYTES:
        raise TooLargeError("the request body", limit=MAX_BODY_BYTES)
    return HttpRequest(
        method=scope["method"],
        path=scope["path"],
        query=_query(scope["query_string"]),
        headers=headers,
        body=b"".join(chunks),
    )


def _query(raw: bytes) -> Mapping[str, str]:
    query: dict[str, str] = {}
    for name, value in parse_qsl(raw.decode("latin-1")):
        # As API Gateway has it: a parameter that is sent twice holds both values.
        query[name] = f"{query[name]},{value}" if name in query else value
    return query


def _head(status: int, headers: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    return {"type": "http.response.start", "status": status, "headers": pairs}


def _chunk(body: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}


async def _send(send: Send, done: HttpReply) -> None:
    length = ("content-length", str(len(done.body)))
    await send(_head(done.status, (*done.headers, length)))
    await send(_chunk(done.body, more=False))


async def _not_found(scope: Scope, _receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        body = b'{"error":"not found; the MCP endpoint is /mcp"}'
        await _send(send, HttpReply(404, (("content-type", "application/json"),), body))
