"""A small HTTP/1.1 server: it reads whole requests, and sends replies whole or piece by piece.

A request is cancelled when its client goes away.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import lru_cache

import h11

from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import (
    BODY_BYTES_A_SECOND,
    BODY_SECONDS,
    CLOSING_SECONDS,
    HEAD_SECONDS,
    MAX_DISCARDED_BYTES,
    MAX_WIRE_BYTES,
    PROXY_BODIES_BYTES,
    PROXY_IDLE_SECONDS,
    RETRY_AFTER_SECONDS,
    TURNED_AWAY_SECONDS,
    UNREAD_ANSWER_SECONDS,
)
from nacre.http_client.connection import joined_headers
from nacre.protocol.http.connection_limit import Crowd
from nacre.protocol.http.http_messages import HttpRequest
from nacre.protocol.http.strict_http import StrictConnection, refusal

Header = tuple[str, str]
Handler = Callable[[HttpRequest, "Reply"], Awaitable[None]]


class Connections:
    """All connections of a server; `on_fault` gets errors that a handler did not catch."""

    def __init__(
        self, handle: Handler, on_fault: Callable[[BaseException], None], crowd: Crowd
    ) -> None:
        self._handle = handle
        self._on_fault = on_fault
        self._crowd = crowd
        self._open: set[Connection] = set()
        self._buffered = BufferedBytes()

    def accept(self) -> "Connection":
        """Return the protocol of a new connection."""
        return Connection(self._handle, self._on_fault, self._open, self._crowd, self._buffered)

    def sweep(self) -> None:
        """Close the connections that have waited too long; call it every second."""
        self._crowd.sweep()

    def close(self) -> None:
        """Close all connections and cancel their requests."""
        for connection in list(self._open):
            connection.abort()


@dataclass(slots=True)
class BufferedBytes:
    """The number of bytes in memory of requests that have not arrived whole."""

    size: int = 0


class Connection(asyncio.Protocol):
    """One client's connection, one request after another."""

    def __init__(
        self,
        handle: Handler,
        on_fault: Callable[[BaseException], None],
        open_connections: "set[Connection]",
        crowd: Crowd,
        buffered: BufferedBytes,
    ) -> None:
        self._buffered = buffered
        self._handle = handle
        self._on_fault = on_fault
        self._open_connections = open_connections
        self._crowd = crowd
        self._wire = StrictConnection()
        self._head: h11.Request | None = None
        self._body: list[bytes] = []
        self._counted = 0  # bytes of it in `buffered`
        self._size = 0
        self._task: asyncio.Task[None] | None = None
        self._since = crowd.time()  # when the client's turn began
        self._is_new = True  # no request has come yet
        self._received = 0  # bytes in that turn
        self._unread_since: float | None = None
        self._closing_since: float | None = None
        self._is_turned_away = False
        self._may_write = asyncio.Event()
        self._may_write.set()

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._open_connections.add(self)
        self._crowd.enter(self)

    def data_received(self, data: bytes) -> None:
        """Read bytes of the client."""
        if self._is_turned_away or self._transport.is_closing():
            return
        if self._received == 0 and self._head is None:
            self._since = self._crowd.time()
        self._received += len(data)
        try:
            self._wire.receive_data(data)
        except h11.RemoteProtocolError:
            self.abort()
            return
        if self._task is None:
            self._read()
        else:
            self._transport.pause_reading()  # the next request, before this one is answered

    def connection_lost(self, _error: Exception | None) -> None:
        """Unregister the connection, and cancel its request."""
        self._open_connections.discard(self)
        self._crowd.leave(self)
        self._uncount()
        self._may_write.set()
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        """Stop writing until the client has read more."""
        self._unread_since = self._crowd.time()
        self._may_write.clear()

    def resume_writing(self) -> None:
        """Write again."""
        self._unread_since = None
        self._may_write.set()

    # Called by the server's crowd of connections.

    @property
    def address(self) -> str:
        """The network address of the client."""
        peer = self._transport.get_extra_info("peername")
        return str(peer[0]) if isinstance(peer, tuple) else ""

    @property
    def waits_since(self) -> float | None:
        """The time since which the connection waits for bytes of a request, if it does."""
        return self._since if self._task is None else None

    def drop(self) -> None:
        """Close at once."""
        self.abort()

    def turn_away(self, status: int) -> None:
        """Reply with the time to come again, and read no request."""
        self._is_turned_away = True
        self._write(refusal(status, ("retry-after", str(RETRY_AFTER_SECONDS))))
        if self._transport.can_write_eof():
            self._transport.write_eof()
        asyncio.get_running_loop().call_later(TURNED_AWAY_SECONDS, self._transport.abort)

    def end_if_late(self, now: float) -> str | None:
        """Close if the client takes too long; return the phase in which it was too slow."""
        phase, is_late = self._lateness(now)
        if is_late:
            self.abort()
        return phase if is_late else None

    def _lateness(self, now: float) -> tuple[str | None, bool]:
        """Return the phase that the client is in, None for an idle one, and whether it is late."""
        if self._transport.is_closing():
            self._closing_since = self._closing_since or now
            return "to close", now - self._closing_since > CLOSING_SECONDS
        if self._unread_since is not None:
            return "to read its answer", now - self._unread_since > UNREAD_ANSWER_SECONDS
        if self._task is not None:
            return None, False
        waited = now - self._since
        if self._head is not None:
            return "a body", waited > BODY_SECONDS + self._received / BODY_BYTES_A_SECOND
        if self._received or self._is_new:
            return "a head", waited > HEAD_SECONDS
        return None, waited > PROXY_IDLE_SECONDS

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    # Requests.

    def _read(self) -> None:
        try:
            while True:
                event = self._wire.next_event()
                if event is h11.NEED_DATA:
                    self._send_continue()
                    return
                if isinstance(event, h11.Request):
                    self._head = event
                    self._since, self._received, self._is_new = self._crowd.time(), 0, False
                    if self._is_too_long(event):
                        self._refuse(413)
                        return
                elif isinstance(event, h11.Data):
                    if not self._add_to_body(bytes(event.data)):
                        return
                elif isinstance(event, h11.EndOfMessage):
                    self._start()
                    return
                else:  # paused, or the client has closed
                    self._transport.close()
                    return
        except h11.RemoteProtocolError as error:
            self._refuse(error.error_status_hint)

    def _add_to_body(self, data: bytes) -> bool:
        """Buffer a piece of a body; return False if the connection ends with it."""
        self._size += len(data)
        if self._size > MAX_DISCARDED_BYTES:
            self.abort()
            return False
        if self._size > MAX_WIRE_BYTES:
            return True  # it is dropped, and the request refused at its end
        if self._buffered.size + len(data) > PROXY_BODIES_BYTES:
            self._refuse(503, ("retry-after", str(RETRY_AFTER_SECONDS)))
            return False
        self._body.append(data)
        self._counted += len(data)
        self._buffered.size += len(data)
        return True

    def _send_continue(self) -> None:
        if self._wire.they_are_waiting_for_100_continue:
            self._write(self._wire.send(h11.InformationalResponse(status_code=100, headers=[])))

    def _uncount(self) -> None:
        self._buffered.size -= self._counted
        self._counted = 0

    def _is_too_long(self, head: h11.Request) -> bool:
        length = dict(head.headers).get(b"content-length", b"0")
        return int(length) > MAX_WIRE_BYTES and self._wire.they_are_waiting_for_100_continue

    def _refuse(self, status: int, *headers: Header) -> None:
        self._body = []
        self._uncount()
        if self._wire.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._write(refusal(status, *headers))
        self._transport.close()

    def _start(self) -> None:
        head = self._head
        assert head is not None
        if self._size > MAX_WIRE_BYTES:
            self._refuse(413)
            return
        headers = joined_headers(head)
        path, _, query = head.target.decode("latin-1").partition("?")
        parameters = dict(part.partition("=")[::2] for part in query.split("&") if part)
        method = head.method.decode("latin-1")
        request = HttpRequest(method, path, parameters, headers, b"".join(self._body))
        self._head, self._body, self._size = None, [], 0
        self._uncount()
        self._task = asyncio.get_running_loop().create_task(self._answer(request))

    async def _answer(self, request: HttpRequest) -> None:
        reply = Reply(self)
        try:
            await self._handle(request, reply)
        except asyncio.CancelledError:
            self.abort()
            raise
        except ConnectionError:
            self.abort()  # the client has gone
        except Exception as error:  # noqa: BLE001 - one request must not end the server
            self._on_fault(error)
            self.abort()
        finally:
            self._task = None
            self._since, self._received = self._crowd.time(), 0
        self._next()

    def _next(self) -> None:
        if self._transport.is_closing():
            return
        if self._wire.our_state is not h11.DONE or self._wire.their_state is not h11.DONE:
            self._transport.close()
            return
        self._wire.start_next_cycle()
        self._transport.resume_reading()
        self._read()

    # Replies.

    def encode_head(self, status: int, headers: Iterable[Header]) -> bytes:
        """Return the bytes of a reply's head."""
        lines = tuple((name.encode(), value.encode("latin-1")) for name, value in headers)
        return self._wire.send(_response_head(status, lines)) or b""

    def encode_data(self, data: bytes) -> bytes:
        """Return the bytes of a piece of the body."""
        return self._wire.send(h11.Data(data)) or b""

    def encode_end(self) -> bytes:
        """Return the bytes that end a reply."""
        return self._wire.send(h11.EndOfMessage()) or b""

    def write(self, data: bytes) -> None:
        """Send; raises ConnectionError when the client has gone."""
        if self._transport.is_closing():
            raise ConnectionError
        self._transport.write(data)

    async def drain(self) -> None:
        """Wait until the client has read enough."""
        if not self._may_write.is_set():
            await self._may_write.wait()

    def _write(self, data: bytes | None) -> None:
        if data and not self._transport.is_closing():
            self._transport.write(data)


class Reply:
    """The reply to one request."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._is_open = False
        self.has_begun = False

    async def respond(self, status: int, headers: Mapping[str, str], body: bytes = b"") -> None:
        """Send the whole reply."""
        lines = list(headers.items())
        if status != 204:
            lines.append(("content-length", str(len(body))))
        connection = self._connection
        self.has_begun = True
        head = connection.encode_head(status, lines)
        connection.write(head + connection.encode_data(body) + connection.encode_end())
        await connection.drain()

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head of a reply whose body is sent piece by piece."""
        self.has_begun = True
        self._connection.write(self._connection.encode_head(status, headers.items()))
        self._is_open = True

    @property
    def is_open(self) -> bool:
        """True while more can be sent."""
        return self._is_open

    async def send(self, data: bytes) -> None:
        """Send a piece; does nothing once the reply has ended."""
        if self._is_open:
            self._connection.write(self._connection.encode_data(data))
            await self._connection.drain()

    async def end(self) -> None:
        """End a reply that was sent piece by piece."""
        if self._is_open:
            self._is_open = False
            self._connection.write(self._connection.encode_end())

    def abort(self) -> None:
        """Close the connection, so that the client sees that the reply is incomplete."""
        self._is_open = False
        self._connection.abort()


@lru_cache(maxsize=256)
def _response_head(status: int, headers: tuple[tuple[bytes, bytes], ...]) -> h11.Response:
    """Return the checked head of a response. Most heads are like an earlier one."""
    return h11.Response(status_code=status, headers=list(headers))
