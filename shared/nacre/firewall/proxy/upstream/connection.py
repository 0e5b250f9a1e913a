"""One connection to a remote server, and the answers that come over it piece by piece."""

import asyncio
from collections.abc import Callable, Mapping
from time import monotonic

import h11

from nacre.core.errors import TooLargeError, UnavailableError
from nacre.core.limits import MAX_HEAD_BYTES, MAX_WIRE_BYTES, UPSTREAM_KEPT_SECONDS

_PIECE = 64 * 1024


class UpstreamError(UnavailableError):
    """A remote server cannot be reached, breaks off or answers with what is not HTTP."""


class UpstreamAnswer:
    """An answer, of which the body comes piece by piece."""

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        connection: "Connection",
        wait: float,
        keep: Callable[["Connection"], None],
    ) -> None:
        self.status = status
        self.headers = headers
        self.kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        self._connection: Connection | None = connection
        self._wait = wait
        self._keep = keep
        self._peeked: bytes | None = None

    def wait_for_ever(self) -> None:
        """Set no bound from here on: what comes now is said when there is something to say."""
        self._wait = 0

    async def piece(self) -> bytes:
        """Return what comes next, nothing at the end; raises UpstreamError."""
        if self._connection is None:
            return b""
        try:
            event = await self._connection.next(self._wait)
        except BaseException:
            self.close()
            raise
        if isinstance(event, h11.Data):
            return bytes(event.data)
        connection, self._connection = self._connection, None
        if connection.is_reusable():
            self._keep(connection)
        else:
            connection.abort()
        return b""

    async def whole(self, limit: int = MAX_WIRE_BYTES) -> bytes:
        """Return all of the body; raises UpstreamError, and TooLargeError above the limit."""
        if self._peeked is not None:
            return self._peeked
        first = await self.piece()
        pieces, size = [first], len(first)
        while first:
            if size > limit:
                self.close()
                raise TooLargeError("the server's answer", limit=limit)
            first = await self.piece()
            pieces.append(first)
            size += len(first)
        return b"".join(pieces)

    async def peek(self, limit: int) -> bytes:
        """Return all of the body, which `whole` will return once more."""
        self._peeked = await self.whole(limit)
        return self._peeked

    def close(self) -> None:
        """Let go of what has not come yet, and of the connection with it."""
        if self._connection is not None:
            self._connection.abort()
            self._connection = None


class Connection:
    """One connection, for one request after another."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, authority: str
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._authority = authority
        self._wire = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._until = 0.0
        self._has_ended = False

    def is_fresh(self) -> bool:
        """Whether a request may be sent: the server has not closed, and will not just now."""
        return not self._reader.at_eof() and monotonic() < self._until

    def is_reusable(self) -> bool:
        """Make ready for a next request, and tell whether there can be one."""
        if self._wire.our_state is not h11.DONE or self._wire.their_state is not h11.DONE:
            return False
        if self._wire.trailing_data[0]:
            return False
        self._wire.start_next_cycle()
        return True

    async def ask(
        self,
        request: h11.Request,
        body: bytes,
        wait: float,
        keep: Callable[["Connection"], None],
    ) -> UpstreamAnswer:
        """Send a request and return the head of its answer; raises UpstreamError."""
        sent = self._wire.send(request)
        assert sent is not None
        if body:
            sent += self._wire.send(h11.Data(body)) or b""
        sent += self._wire.send(h11.EndOfMessage()) or b""
        try:
            self._writer.write(sent)
            if len(sent) > _PIECE:
                # A server may answer, to refuse, before it has read all.
                writing = asyncio.ensure_future(self._writer.drain())
                writing.add_done_callback(lambda done: done.cancelled() or done.exception())
        except OSError as error:
            raise self._broken(error) from error
        while True:
            event = await self.next(wait)
            if isinstance(event, h11.Response):
                break
            if not isinstance(event, h11.InformationalResponse):
                raise self._broken(None)
        headers: dict[str, str] = {}
        for raw_name, raw_value in event.headers:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise UpstreamError(f"{self._authority} sends answers compressed, unasked")
        self._until = monotonic() + _kept_seconds(headers.get("keep-alive", ""))
        return UpstreamAnswer(event.status_code, headers, self, wait, keep)

    async def next(self, wait: float) -> h11.Event | type[h11.PAUSED]:
        """Return what comes next of an answer."""
        try:
            while (event := self._wire.next_event()) is h11.NEED_DATA:
                if wait:
                    async with asyncio.timeout(wait):
                        received = await self._reader.read(_PIECE)
                else:
                    received = await self._reader.read(_PIECE)
                self._has_ended = not received
                self._wire.receive_data(received)
        except TimeoutError as error:
            raise UpstreamError(
                f"{self._authority} did not answer within {wait:g} s; --timeout changes how long"
                " is waited"
            ) from error
        except h11.RemoteProtocolError as error:
            raise self._broken(error) from error
        except OSError as error:
            raise self._broken(error) from error
        if isinstance(event, h11.ConnectionClosed):
            raise self._broken(None)
        assert event is not h11.NEED_DATA
        return event  # type: ignore[return-value]  # h11 spells its sentinels as types

    def abort(self) -> None:
        """Close at once."""
        self._writer.transport.abort()

    def _broken(self, error: Exception | None) -> UpstreamError:
        if isinstance(error, h11.RemoteProtocolError) and not self._has_ended:
            return UpstreamError(f"{self._authority} sends what is not HTTP/1.1")
        return UpstreamError(f"{self._authority} closed the connection before its answer was whole")


def _kept_seconds(keep_alive: str) -> float:
    """Return for how long a connection is used again, less than the server keeps it."""
    _, found, rest = keep_alive.lower().partition("timeout=")
    digits = rest.partition(",")[0].strip()
    if not found or not digits.isdigit():
        return UPSTREAM_KEPT_SECONDS
    return min(float(digits[:6]) - 1.0, 60.0)
