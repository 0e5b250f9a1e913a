"""One connection to a server, and the responses that arrive on it piece by piece."""

import asyncio
import select
from collections.abc import Callable
from time import monotonic
from typing import TypeAlias

import h11

from nacre.core.errors import TooLargeError
from nacre.core.limits import MAX_HEAD_BYTES, MAX_WIRE_BYTES
from nacre.http_client.address import Address
from nacre.http_client.errors import CompressedError, HttpError, ReadTimeoutError
from nacre.http_client.proxies import Proxy

CHUNK_BYTES = 64 * 1024
_MAX_KEEP_ALIVE_SECONDS = 60.0

Keep: TypeAlias = "Callable[[Connection], None]"
"""Takes a connection that is ready for the next request."""


class Response:
    """The response to one request. The body arrives piece by piece; close() drops the rest."""

    def __init__(
        self, head: h11.Response, connection: "Connection", seconds: float, keep: Keep
    ) -> None:
        self.status: int = head.status_code
        self.raw_headers = head.headers
        self.headers = joined_headers(head)
        content_type = self.headers.get("content-type", "")
        self.content_type = content_type.partition(";")[0].strip().lower()
        self._connection: Connection | None = connection
        self._seconds = seconds
        self._keep = keep
        self._peeked: bytes | None = None

    def remove_timeout(self) -> None:
        """Wait for the rest of the body without a limit."""
        self._seconds = 0

    async def next_chunk(self) -> bytes:
        """Return the next piece of the body, empty at its end; raises HttpError."""
        connection = self._connection
        if connection is None:
            return b""
        if self.headers.get("content-encoding", "identity").lower() != "identity":
            self.close()
            authority = connection.address.authority
            raise CompressedError(f"{authority} sends compressed answers, which were not asked for")
        try:
            event = await connection.next_event(self._seconds)
        except BaseException:
            self.close()
            raise
        if isinstance(event, h11.Data):
            return bytes(event.data)
        self._connection = None
        if connection.make_reusable():
            self._keep(connection)
        else:
            connection.abort()
        return b""

    async def read(self, limit: int = MAX_WIRE_BYTES) -> bytes:
        """Return the whole body; raises HttpError, and TooLargeError above the limit."""
        if self._peeked is not None:
            return self._peeked
        chunk = await self.next_chunk()
        chunks, size = [chunk], len(chunk)
        while chunk:
            if size > limit:
                self.close()
                raise TooLargeError("the server's answer", limit=limit)
            chunk = await self.next_chunk()
            chunks.append(chunk)
            size += len(chunk)
        return b"".join(chunks)

    async def peek(self, limit: int) -> bytes:
        """Return the whole body, and keep it for the next `read`."""
        self._peeked = await self.read(limit)
        return self._peeked

    def close(self) -> None:
        """Close the connection, unless the body was read to its end."""
        if self._connection is not None:
            self._connection.abort()
            self._connection = None


class Connection:
    """One connection, which carries one request after another."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        address: Address,
        *,
        proxy: Proxy | None = None,
        idle_seconds: float,
        timeout_hint: str,
    ) -> None:
        self.address = address
        self.proxy = proxy  # that passes requests on in the clear, not in a tunnel
        self._reader = reader
        self._writer = writer
        self._idle_seconds = idle_seconds
        self._timeout_hint = timeout_hint
        self._wire = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._usable_until = 0.0
        self._has_ended = False

    def is_usable(self) -> bool:
        """Tell whether a request may be sent: the connection is open, and will be for a while."""
        return (
            monotonic() < self._usable_until
            and not self._reader.at_eof()
            and not self._writer.is_closing()
            and not self._has_unread_bytes()
        )

    def make_reusable(self) -> bool:
        """Prepare for the next request; return False if the connection cannot carry one."""
        if self._wire.our_state is not h11.DONE or self._wire.their_state is not h11.DONE:
            return False
        if self._wire.trailing_data[0]:
            return False
        self._wire.start_next_cycle()
        return True

    async def send(self, head: h11.Request, body: bytes, seconds: float, keep: Keep) -> Response:
        """Send a request and return the response, whose body is unread; raises HttpError."""
        request = self._wire.send(head)
        assert request is not None
        if body:
            request += self._wire.send(h11.Data(body)) or b""
        request += self._wire.send(h11.EndOfMessage()) or b""
        try:
            self._writer.write(request)
            if len(request) > CHUNK_BYTES:
                # A server may refuse a request before it has read all of it.
                draining = asyncio.ensure_future(self._writer.drain())
                draining.add_done_callback(lambda task: task.cancelled() or task.exception())
        except OSError as error:
            raise self._broken(error) from error
        while not isinstance(event := await self.next_event(seconds), h11.Response):
            if not isinstance(event, h11.InformationalResponse):
                raise self._broken(None)
        response = Response(event, self, seconds, keep)
        keep_alive = _keep_alive_seconds(response.headers.get("keep-alive", ""))
        self._usable_until = monotonic() + (
            self._idle_seconds if keep_alive is None else keep_alive
        )
        return response

    async def next_event(self, seconds: float) -> h11.Event | type[h11.PAUSED]:
        """Return the next part of the response; `seconds` of 0 waits without a limit."""
        try:
            while (event := self._wire.next_event()) is h11.NEED_DATA:
                if seconds:
                    async with asyncio.timeout(seconds):
                        received = await self._reader.read(CHUNK_BYTES)
                else:
                    received = await self._reader.read(CHUNK_BYTES)
                self._has_ended = not received
                self._wire.receive_data(received)
        except TimeoutError as error:
            raise ReadTimeoutError(
                f"{self._peer} did not answer within {seconds:g} s{self._timeout_hint}"
            ) from error
        except (OSError, h11.RemoteProtocolError) as error:
            raise self._broken(error) from error
        if isinstance(event, h11.ConnectionClosed):
            raise self._broken(None)
        assert event is not h11.NEED_DATA
        return event  # type: ignore[return-value]  # h11 spells its sentinels as types

    def abort(self) -> None:
        """Close at once."""
        self._writer.transport.abort()

    def _has_unread_bytes(self) -> bool:
        """Tell whether bytes arrived between requests, which means that the server is closing."""
        socket = self._writer.get_extra_info("socket")
        if socket is None or not hasattr(select, "poll"):  # Windows
            return socket is None
        poll = select.poll()
        poll.register(socket, select.POLLIN)
        return bool(poll.poll(0))

    def _broken(self, error: Exception | None) -> HttpError:
        if isinstance(error, h11.RemoteProtocolError) and not self._has_ended:
            return HttpError(f"{self._peer} sends data that is not HTTP/1.1")
        return HttpError(f"{self._peer} closed the connection before its answer was complete")

    @property
    def _peer(self) -> str:
        """The server, and the proxy that may be at fault in its place."""
        through = "" if self.proxy is None else f" through the proxy {self.proxy.authority}"
        return f"{self.address.authority}{through}"


def joined_headers(head: h11.Request | h11.Response) -> dict[str, str]:
    """Return the headers by their names in lower case, repeated ones joined by a comma."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in head.headers:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _keep_alive_seconds(keep_alive: str) -> float | None:
    """Return the seconds for which to reuse a connection, or None if the server gives none.

    That is a second less than the server keeps it open.
    """
    _, is_given, value = keep_alive.lower().partition("timeout=")
    digits = value.partition(",")[0].strip()
    if not is_given or not digits.isdigit():
        return None
    return min(float(digits[:6]) - 1.0, _MAX_KEEP_ALIVE_SECONDS)
