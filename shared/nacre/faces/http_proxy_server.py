"""A small HTTP/1.1 server: whole requests in, answers out whole or piece by piece.

A request whose client goes away is cancelled, so that nobody works for nobody.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from time import monotonic

import h11

from nacre.faces.http_upstream_head import response_head
from nacre.limits import MAX_DISCARDED_BYTES, MAX_HEAD_BYTES, MAX_WIRE_BYTES, PROXY_IDLE_SECONDS
from nacre.protocol.http_messages import HttpRequest

Header = tuple[str, str]
Handler = Callable[[HttpRequest, "Reply"], Awaitable[None]]
_REASONS = {413: b"too large", 400: b"bad request", 431: b"headers too large"}


class Connections:
    """All connections of a server; `on_fault` hears of what a handler should have caught."""

    def __init__(self, handle: Handler, on_fault: Callable[[BaseException], None]) -> None:
        self._handle = handle
        self._on_fault = on_fault
        self._open: set[Connection] = set()

    def accept(self) -> "Connection":
        """Return the protocol of one more connection."""
        return Connection(self._handle, self._on_fault, self._open)

    def sweep(self) -> None:
        """Close what has been idle for too long; call it every few seconds."""
        for each in list(self._open):
            each.close_if_idle()

    def close(self) -> None:
        """Close all connections and cancel what runs for them."""
        for each in list(self._open):
            each.abort()


class Connection(asyncio.Protocol):
    """One client's connection, one request after another."""

    def __init__(
        self, handle: Handler, on_fault: Callable[[BaseException], None], opened: "set[Connection]"
    ) -> None:
        self._handle = handle
        self._on_fault = on_fault
        self._opened = opened
        self._wire = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._head: h11.Request | None = None
        self._body: list[bytes] = []
        self._size = 0
        self._task: asyncio.Task[None] | None = None
        self._idle_since = monotonic()
        self._may_write = asyncio.Event()
        self._may_write.set()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._opened.add(self)

    def data_received(self, data: bytes) -> None:
        """Take what the client sent."""
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
        self._may_write.set()
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        """Stop: the client reads slower than we write."""
        self._may_write.clear()

    def resume_writing(self) -> None:
        """Go on."""
        self._may_write.set()

    # What the server calls.

    def close_if_idle(self) -> None:
        """Close unless a request runs or came just now."""
        if self._task is None and monotonic() - self._idle_since > PROXY_IDLE_SECONDS:
            self.abort()

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
                elif isinstance(event, h11.Data):
                    self._size += len(event.data)
                    if self._size <= MAX_WIRE_BYTES:
                        self._body.append(bytes(event.data))
                    elif self._size > MAX_DISCARDED_BYTES:
                        self.abort()
                        return
                elif isinstance(event, h11.EndOfMessage):
                    self._start()
                    return
                else:  # paused, or the client has closed
                    self._transport.close()
                    return
        except h11.RemoteProtocolError as error:
            self._refuse(error.error_status_hint)

    def _go_ahead(self) -> None:
        if self._wire.they_are_waiting_for_100_continue:
            self._write(self._wire.send(h11.InformationalResponse(status_code=100, headers=[])))

    def _refuse(self, status: int) -> None:
        if self._wire.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            text = _REASONS.get(status, b"bad request")
            head = h11.Response(
                status_code=status,
                headers=[("content-length", str(len(text))), ("connection", "close")],
            )
            with contextlib.suppress(h11.LocalProtocolError):
                for event in (head, h11.Data(text), h11.EndOfMessage()):
                    self._write(self._wire.send(event))
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
            self._idle_since = monotonic()
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
