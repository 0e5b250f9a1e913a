"""The laptop server: the MCP endpoint as an ASGI application.

Answers are one JSON object, or a live stream once a call has something to say
before it ends. Blocking handlers run in threads, so one slow call holds up nobody.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from nacre.being.application import Application
from nacre.core.limits import (
    HTTP_THREADS,
    LARGE_RESULT_BYTES,
    LARGE_RESULT_VALUES,
    MAX_WIRE_BYTES,
)
from nacre.core.logs import Log
from nacre.faces.call_threads import CallThreads
from nacre.faces.http.live_call import LiveCall, notifying_of_changes
from nacre.faces.http.remembered_clients import LocalPeers
from nacre.faces.mcp_endpoint import BaseOf, CallLog, endpoint
from nacre.firewall.enforce.large_calls import CallReading, read_elsewhere
from nacre.protocol.changes import Changes
from nacre.protocol.http.allowed_origins import Fences
from nacre.protocol.http.asgi import (
    AsgiApp,
    BodyTooLargeError,
    Receive,
    Scope,
    Send,
    head_of,
    mark_admitted,
    read_body,
    refuse,
    write,
)
from nacre.protocol.http.endpoint_rules import Admit, Endpoint, Met
from nacre.protocol.http.http_messages import HttpReply, HttpRequest
from nacre.protocol.large_calls import LargeCall

_BLOCK = 1024 * 1024  # counting in less than a millisecond

Lifespan = Callable[[], AbstractAsyncContextManager[None]]


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
    base: BaseOf | None = None,
    changes: Changes | None = None,
    reading: CallReading | None = None,
) -> AsgiApp:
    """Return the server: MCP under `/mcp`, everything else answered by `elsewhere`.

    A caller that passes `changes` closes them when the server stops, which ends subscriptions.
    `reading` reads large calls in another process; the application must be able to pass them on.
    """
    peers = LocalPeers()
    changes = changes or Changes(app.surface)
    served = endpoint(app, admit=admit, fences=fences, peers=peers, changes=changes, base=base)
    calls = CallLog(log or Log())
    return _Server(served, peers, changes, calls, lifespan, elsewhere or not_found, reading)


class _Server:
    def __init__(
        self,
        served: Endpoint,
        peers: LocalPeers,
        changes: Changes,
        calls: CallLog,
        lifespan: Lifespan,
        elsewhere: AsgiApp,
        reading: CallReading | None,
    ) -> None:
        self._endpoint = served
        self._peers = peers
        self._changes = changes
        self._calls = calls
        self._lifespan = lifespan
        self._elsewhere = elsewhere
        self._reading = reading
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
        request = head_of(scope)
        met = self._endpoint.meet(request)
        if isinstance(met, HttpReply):
            self._calls.end(started, met)
            await refuse(request, receive, send, met)
            return
        limit = self._endpoint.call_bytes
        mark_admitted(scope)
        try:
            await read_body(request, receive, limit)
        except BodyTooLargeError as error:
            refused = self._endpoint.refusal(request, error)
            self._calls.end(started, refused)
            await refuse(request, receive, send, refused, more=error.more)
            return
        except ConnectionError:
            return
        if self._reading and _is_long_to_read(request.body):
            await self._read_elsewhere(request, met, self._reading)
        begun = self._endpoint.begin(request, met)
        if isinstance(begun, HttpReply):
            await write(send, begun)
            self._calls.end(started, begun)
            return
        caller = begun.caller.principal
        live = LiveCall(begun, self._peers, self._threads, receive, send)
        with notifying_of_changes(begun, self._changes, live.notify):
            answer = await live.finish()
        if begun.tool is not None:
            self._changes.soon()
        self._calls.end(
            started,
            answer,
            method=begun.message.method,
            tool=begun.tool,
            being=caller.being_id if caller else None,
            token=caller.subject if caller else None,
        )

    async def _read_elsewhere(self, request: HttpRequest, met: Met, reading: CallReading) -> None:
        """Let a helper read a large message, so that other calls go on."""
        call = await asyncio.to_thread(read_elsewhere, bytes(request.body), reading, lines=None)
        request.body = call
        if not isinstance(call, LargeCall) or call.arguments is None:
            return
        if self._endpoint.reads_arguments(call, met):
            await asyncio.to_thread(call.arguments.values_in_full)


def _is_long_to_read(body: bytes | bytearray) -> bool:
    """Tell whether reading a message would hold up others for long.

    Reading images and files does not, and a second copy of them would take much memory.
    """
    if len(body) <= MAX_WIRE_BYTES:
        return len(body) >= LARGE_RESULT_BYTES
    count = 0
    for start in range(0, len(body), _BLOCK):
        end = start + _BLOCK
        count += body.count(b",", start, end) + body.count(b"\\", start, end)
        if count > LARGE_RESULT_VALUES:
            return True
    return False


async def not_found(scope: Scope, _receive: Receive, send: Send) -> None:
    """Answer for a path that nothing serves."""
    if scope["type"] == "http":
        body = b'{"error":"not found; the MCP endpoint is /mcp"}'
        await write(send, HttpReply(404, (("content-type", "application/json"),), body))
