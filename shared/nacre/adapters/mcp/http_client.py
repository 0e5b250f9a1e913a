"""The HTTP below a session with another server: checked addresses, bounds, few steps.

The official client sends its requests through this instead of a general HTTP stack: each
connection goes to an address that was looked at, and an answer has a bound.
"""

import asyncio
import select
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import h11
import httpx2

from nacre.adapters.mcp.large_answers import LargeEvents, Shorten
from nacre.core.limits import UPSTREAM_ANSWER_BYTES

Addresses = Callable[[str, int], list[str]]
"""From a host and a port to the addresses to connect to; blocks, and may refuse."""

TOO_LARGE = "the answer is too large"
_PACKED = "the answer is packed, which was not asked for"
_READ = 256 * 1024
_IDLE_SECONDS = 50.0  # load balancers close what was silent for a minute
_MOST_IDLE = 8
_Place = tuple[str, str, int]


class _Connection:
    """One connection, with one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._wire = h11.Connection(h11.CLIENT, max_incomplete_event_size=64 * 1024)
        self.idle_since = 0.0

    @property
    def is_usable(self) -> bool:
        """Whether another request may be sent."""
        return (
            self._wire.our_state is h11.IDLE
            and not self._reader.at_eof()
            and not self._writer.is_closing()
            and not self._has_news()
        )

    def _has_news(self) -> bool:
        """Tell whether something has come, unread yet: between requests, that is its end."""
        plug = self._writer.get_extra_info("socket")
        if plug is None or not hasattr(select, "poll"):  # Windows
            return plug is None
        poll = select.poll()
        poll.register(plug, select.POLLIN)
        return bool(poll.poll(0))

    async def send(self, request: httpx2.Request, body: bytes, seconds: float | None) -> None:
        head = h11.Request(
            method=request.method, target=request.url.raw_path, headers=request.headers.raw
        )
        parts = [self._wire.send(head)]
        if body:
            parts.append(self._wire.send(h11.Data(data=body)))
        parts.append(self._wire.send(h11.EndOfMessage()))
        self._writer.write(b"".join(part for part in parts if part))
        if self._writer.transport.get_write_buffer_size():
            async with asyncio.timeout(seconds):
                await self._writer.drain()

    async def event(self, seconds: float | None) -> Any:
        while True:
            event = self._wire.next_event()
            if event is not h11.NEED_DATA:
                return event
            self._wire.receive_data(await self._data(seconds))

    async def _data(self, seconds: float | None) -> bytes:
        async with asyncio.timeout(seconds):
            return await self._reader.read(_READ)

    def recycle(self) -> bool:
        """Make it ready for another request, where it can be."""
        if self._wire.our_state is h11.DONE and self._wire.their_state is h11.DONE:
            self._wire.start_next_cycle()
        self.idle_since = time.monotonic()
        return self.is_usable

    def close(self) -> None:
        with suppress(Exception):
            self._writer.close()


class UpstreamHttp(httpx2.AsyncBaseTransport):
    """Sends the requests of one session; `refused` is the last status that refused one."""

    def __init__(self, addresses: Addresses, shorten: Shorten | None = None) -> None:
        self._addresses = addresses
        self._shorten = shorten
        self._idle: dict[_Place, list[_Connection]] = {}
        self._tls: ssl.SSLContext | None = None
        self.refused: int | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and return its answer, whose body comes as it is read."""
        limits = request.extensions.get("timeout", {})
        place = _place(request.url)
        body = await _body(request)
        connection = await self._connection(place, limits.get("connect"))
        try:
            await connection.send(request, body, limits.get("write"))
            head = await _head(connection, limits.get("read"))
        except TimeoutError as error:
            connection.close()
            raise httpx2.ReadTimeout("no answer in time", request=request) from error
        except (OSError, h11.ProtocolError) as error:
            connection.close()
            raise httpx2.ReadError("the connection was lost", request=request) from error
        except BaseException:
            connection.close()
            raise
        self._note(head.status_code)
        return httpx2.Response(
            head.status_code,
            # The client would unpack what came, to any size; `_Answer` gives nothing packed.
            headers=[pair for pair in head.headers if bytes(pair[0]) != b"content-encoding"],
            stream=_Answer(connection, head, limits.get("read"), self._kept(place), self._shorten),
        )

    async def aclose(self) -> None:
        """Close what is idle."""
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle.clear()

    def _note(self, status: int) -> None:
        self.refused = status if status >= 400 else None

    def _kept(self, place: _Place) -> Callable[[_Connection], None]:
        def keep(connection: _Connection) -> None:
            idle = self._idle.setdefault(place, [])
            if connection.recycle() and len(idle) < _MOST_IDLE:
                idle.append(connection)
            else:
                connection.close()

        return keep

    async def _connection(self, place: _Place, seconds: float | None) -> _Connection:
        idle = self._idle.get(place, [])
        while idle:
            connection = idle.pop()
            silent = time.monotonic() - connection.idle_since
            if silent < _IDLE_SECONDS and connection.is_usable:
                return connection
            connection.close()
        return await self._connected(place, seconds)

    async def _connected(self, place: _Place, seconds: float | None) -> _Connection:
        scheme, host, port = place
        loop = asyncio.get_running_loop()
        problem: Exception | None = None
        try:
            async with asyncio.timeout(seconds):
                for address in await loop.run_in_executor(None, self._addresses, host, port):
                    try:
                        return _Connection(*await self._opened(scheme, host, address, port))
                    except OSError as error:
                        problem = error
        except TimeoutError as error:
            raise httpx2.ConnectTimeout("it does not answer") from error
        if isinstance(problem, ssl.SSLError):
            raise httpx2.ConnectError("its certificate cannot be trusted") from problem
        raise httpx2.ConnectError("it cannot be reached") from problem

    async def _opened(
        self, scheme: str, host: str, address: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if scheme != "https":
            return await asyncio.open_connection(address, port, limit=_READ)
        self._tls = self._tls or ssl.create_default_context()
        return await asyncio.open_connection(
            address, port, ssl=self._tls, server_hostname=host, limit=_READ
        )


class UpstreamClient(httpx2.AsyncClient):
    """A client that takes the straight way: without authentication flows, hooks and redirects.

    An answer that leads elsewhere is left to the general one.
    """

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request and return its answer, unread."""
        response = await self._transport.handle_async_request(request)
        if response.has_redirect_location or "set-cookie" in response.headers:
            response.request = request
            self.cookies.extract_cookies(response)
        if response.has_redirect_location:
            await response.aclose()
            return await super().send(request, **options)
        response.request = request
        if not options.get("stream"):
            await response.aread()
        return response


class _Answer(httpx2.AsyncByteStream):
    """The body of one answer."""

    def __init__(
        self,
        connection: _Connection,
        head: h11.Response,
        seconds: float | None,
        keep: Callable[[_Connection], None],
        shorten: Shorten | None,
    ) -> None:
        self._shorten = shorten
        self._connection = connection
        self._seconds = seconds
        self._keep = keep
        self._is_whole = False
        self._is_closed = False
        kind = next((value for name, value in head.headers if name == b"content-type"), b"")
        # Events have a bound each; a stream of them may go on for ever.
        self._is_stream = bytes(kind).startswith(b"text/event-stream")
        self._room = None if self._is_stream else UPSTREAM_ANSWER_BYTES
        codings = [value for name, value in head.headers if name == b"content-encoding"]
        self._is_packed = any(bytes(each).strip().lower() != b"identity" for each in codings)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        shorten = self._shorten
        if shorten is None:
            async for part in self._parts():
                yield part
        elif self._is_stream:
            events = LargeEvents(shorten)
            async for part in self._parts():
                if whole := await events.feed(part):
                    yield whole
            if rest := events.rest():
                yield rest
        else:
            yield await shorten(b"".join([part async for part in self._parts()]))

    async def _parts(self) -> AsyncIterator[bytes]:
        if self._is_packed:
            raise httpx2.StreamError(_PACKED)
        try:
            while True:
                event = await self._connection.event(self._seconds)
                if isinstance(event, h11.EndOfMessage):
                    self._is_whole = True
                    return
                if not isinstance(event, h11.Data):
                    raise httpx2.ReadError("the connection was lost")
                self._count(len(event.data))
                yield bytes(event.data)
        except TimeoutError as error:
            raise httpx2.ReadTimeout("no answer in time") from error
        except (OSError, h11.ProtocolError) as error:
            raise httpx2.ReadError("the connection was lost") from error

    async def aclose(self) -> None:
        """Keep the connection where the body was read to its end."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._is_whole:
            self._keep(self._connection)
        else:
            self._connection.close()

    def _count(self, size: int) -> None:
        if self._room is not None:
            self._room -= size
            if self._room < 0:
                raise httpx2.StreamError(TOO_LARGE)


async def _head(connection: _Connection, seconds: float | None) -> h11.Response:
    while True:
        event = await connection.event(seconds)
        if isinstance(event, h11.Response):
            return event
        if not isinstance(event, h11.InformationalResponse):
            raise ConnectionError


async def _body(request: httpx2.Request) -> bytes:
    return b"".join([part async for part in request.stream])  # type: ignore[union-attr]  # an async client's


def _place(url: httpx2.URL) -> _Place:
    return url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80)
