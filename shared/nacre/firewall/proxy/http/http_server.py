"""A small HTTP/1.1 server: whole requests in, answers out whole or piece by piece.

A request whose client goes away is cancelled, so that nobody works for nobody.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

import h11

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
from nacre.firewall.proxy.upstream.heads import response_head
from nacre.protocol.http.connection_limit import Crowd
from nacre.protocol.http.http_messages import HttpRequest
from nacre.protocol.http.strict_http import StrictConnection, refusal

Header = tuple[str, str]
Handler = Callable[[HttpRequest, "Reply"], Awaitable[None]]


class Connections:
    """All connections of a server; `on_fault` hears of what a handler should have caught."""

    def __init__(
        self, handle: Handler, on_fault: Callable[[BaseException], None], crowd: Crowd
    ) -> None:
        self._handle = handle
        self._on_fault = on_fault
        self._crowd = crowd
        self._open: set[Connection] = set()
        self._arriving = Arriving()

    def accept(self) -> "Connection":
        """Return the protocol of one more connection."""
        return Connection(self._handle, self._on_fault, self._open, self._crowd, self._arriving)

    def sweep(self) -> None:
        """Close what has waited for too long; call it every second."""
        self._crowd.sweep()

    def close(self) -> None:
        """Close all connections and cancel what runs for them."""
        for each in list(self._open):
            each.abort()


@dataclass(slots=True)
class Arriving:
    """How many bytes of requests are held that have not arrived whole."""

    size: int = 0


class Connection(asyncio.Protocol):
    """One client's connection, one request after another."""

    def __init__(
        self,
        handle: Handler,
        on_fault: Callable[[BaseException], None],
        opened: "set[Connection]",
        crowd: Crowd,
        arriving: Arriving,
    ) -> None:
        self._arriving = arriving
        self._handle = handle
        self._on_fault = on_fault
        self._opened = opened
        self._crowd = crowd
        self._wire = StrictConnection()
        self._head: h11.Request | None = None
        self._body: list[bytes] = []
        self._held = 0  # bytes of it, as they are counted in all
        self._size = 0
        self._task: asyncio.Task[None] | None = None
        self._since = crowd.time()  # when the client's present turn began
        self._is_new = True  # no request has come yet
        self._received = 0  # bytes in that turn
        self._unread_since: float | None = None
        self._closing_since: float | None = None
        self._is_turned_away = False
        self._may_write = asyncio.Event()
        self._may_write.set()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._opened.add(self)
        self._crowd.enter(self)

    def data_received(self, data: bytes) -> None:
        """Take what the client sent."""
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
        """End, and whatever runs with it."""
        self._opened.discard(self)
        self._crowd.leave(self)
        self._let_go()
        self._may_write.set()
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        """Stop: the client reads slower than we write."""
        self._unread_since = self._crowd.time()
        self._may_write.clear()

    def resume_writing(self) -> None:
        """Go on."""
        self._unread_since = None
        self._may_write.set()

    # What the server calls.

    @property
    def address(self) -> str:
        """The network address of the client."""
        peer = self._transport.get_extra_info("peername")
        return str(peer[0]) if isinstance(peer, tuple) else ""

    @property
    def waits_since(self) -> float | None:
        """Since when the next byte of a request is waited for."""
        return self._since if self._task is None else None

    def drop(self) -> None:
        """Close at once."""
        self.abort()

    def turn_away(self, status: int) -> None:
        """Say when to come again, and read no request."""
        self._is_turned_away = True
        self._write(refusal(status, ("retry-after", str(RETRY_AFTER_SECONDS))))
        if self._transport.can_write_eof():
            self._transport.write_eof()
        asyncio.get_running_loop().call_later(TURNED_AWAY_SECONDS, self._transport.abort)

    def end_if_late(self, now: float) -> str | None:
        """Close when the client takes too long; return what it was too slow with."""
        if self._transport.is_closing():
            self._closing_since = self._closing_since or now
            return self._ended("to close") if now - self._closing_since > CLOSING_SECONDS else None
        if self._unread_since is not None:
            late = now - self._unread_since > UNREAD_ANSWER_SECONDS
            return self._ended("to read its answer") if late else None
        if self._task is not None:
            return None
        waited = now - self._since
        if self._head is not None:
            late = waited > BODY_SECONDS + self._received / BODY_BYTES_A_SECOND
            return self._ended("a body") if late else None
        if self._received or self._is_new:
            return self._ended("a head") if waited > HEAD_SECONDS else None
        if waited > PROXY_IDLE_SECONDS:
            self.abort()
        return None

    def _ended(self, late: str) -> str:
        self.abort()
        return late

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    # Requests.

    def _read(self) -> None:
        try:
            while True:
                event = self._wire.next_event()
                if event is h11.NEED_DATA:
                    self._go_ahead()
                    return
                if isinstance(event, h11.Request):
                    self._head = event
                    self._since, self._received, self._is_new = self._crowd.time(), 0, False
                    if self._is_too_long(event):
                        self._refuse(413)
                        return
                elif isinstance(event, h11.Data):
                    if not self._take(bytes(event.data)):
                        return
                elif isinstance(event, h11.EndOfMessage):
                    self._start()
                    return
                else:  # paused, or the client has closed
                    self._transport.close()
                    return
        except h11.RemoteProtocolError as error:
            self._refuse(error.error_status_hint)

    def _take(self, data: bytes) -> bool:
        """Keep a piece of a body; False when the connection ends with it."""
        self._size += len(data)
        if self._size > MAX_DISCARDED_BYTES:
            self.abort()
            return False
        if self._size > MAX_WIRE_BYTES:
            return True  # it is thrown away, and refused when all has come
        if self._arriving.size + len(data) > PROXY_BODIES_BYTES:
            self._refuse(503, ("retry-after", str(RETRY_AFTER_SECONDS)))
            return False
        self._body.append(data)
        self._held += len(data)
        self._arriving.size += len(data)
        return True

    def _go_ahead(self) -> None:
        if self._wire.they_are_waiting_for_100_continue:
            self._write(self._wire.send(h11.InformationalResponse(status_code=100, headers=[])))

    def _let_go(self) -> None:
        self._arriving.size -= self._held
        self._held = 0

    def _is_too_long(self, head: h11.Request) -> bool:
        length = dict(head.headers).get(b"content-length", b"0")
        return int(length) > MAX_WIRE_BYTES and self._wire.they_are_waiting_for_100_continue

    def _refuse(self, status: int, *headers: Header) -> None:
        self._body = []
        self._let_go()
        if self._wire.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._write(refusal(status, *headers))
        self._transport.close()

    def _start(self) -> None:
        head = self._head
        assert head is not None
        if self._size > MAX_WIRE_BYTES:
            self._refuse(413)
            return
        headers: dict[str, str] = {}
        for raw_name, raw_value in head.headers:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        path, _, query = head.target.decode("latin-1").partition("?")
        named = dict(part.partition("=")[::2] for part in query.split("&") if part)
        request = HttpRequest(
            head.method.decode("latin-1"), path, named, headers, b"".join(self._body)
        )
        self._head, self._body, self._size = None, [], 0
        self._let_go()
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

    # Answers.

    def begin(self, status: int, headers: Iterable[Header]) -> bytes:
        """Return the bytes of an answer's head."""
        lines = tuple((name.encode(), value.encode("latin-1")) for name, value in headers)
        return self._wire.send(response_head(status, lines)) or b""

    def more(self, data: bytes) -> bytes:
        """Return the bytes of a piece of the body."""
        return self._wire.send(h11.Data(data)) or b""

    def end(self) -> bytes:
        """Return the bytes that end an answer."""
        return self._wire.send(h11.EndOfMessage()) or b""

    def write(self, data: bytes) -> None:
        """Send; raises ConnectionError when the client has gone."""
        if self._transport.is_closing():
            raise ConnectionError
        self._transport.write(data)

    async def written(self) -> None:
        """Wait until the client has read enough."""
        if not self._may_write.is_set():
            await self._may_write.wait()

    def _write(self, data: bytes | None) -> None:
        if data and not self._transport.is_closing():
            self._transport.write(data)


class Reply:
    """The answer to one request."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._is_open = False
        self.has_begun = False

    async def whole(self, status: int, headers: Mapping[str, str], body: bytes = b"") -> None:
        """Send all at once."""
        lines = list(headers.items())
        if status != 204:
            lines.append(("content-length", str(len(body))))
        connection = self._connection
        self.has_begun = True
        data = connection.begin(status, lines)
        connection.write(data + connection.more(body) + connection.end())
        await connection.written()

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head of an answer that comes piece by piece."""
        self.has_begun = True
        self._connection.write(self._connection.begin(status, headers.items()))
        self._is_open = True

    @property
    def is_open(self) -> bool:
        """Whether more can be sent."""
        return self._is_open

    async def send(self, data: bytes) -> None:
        """Send a piece; nothing is sent once the answer has ended."""
        if self._is_open:
            self._connection.write(self._connection.more(data))
            await self._connection.written()

    async def end(self) -> None:
        """End it as a whole answer."""
        if self._is_open:
            self._is_open = False
            self._connection.write(self._connection.end())

    def break_off(self) -> None:
        """End it so that the client sees that it is not whole."""
        self._is_open = False
        self._connection.abort()
