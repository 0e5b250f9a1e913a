"""A remote server over HTTP: requests out, answers back piece by piece, connections kept."""

import asyncio
import ssl
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Final

import h11

from nacre.errors import InvalidInputError, TooLargeError, UnavailableError
from nacre.faces.http_upstream_head import checked
from nacre.faces.http_upstream_url import Address
from nacre.limits import (
    MAX_WIRE_BYTES,
    UPSTREAM_CONNECT_SECONDS,
    UPSTREAM_KEPT_SECONDS,
    UPSTREAM_REDIRECTS,
)

_PIECE = 64 * 1024
_KEPT: Final = 32
_HEAD_BYTES = 64 * 1024


class UpstreamError(UnavailableError):
    """A remote server cannot be reached, breaks off or answers with what is not HTTP."""


class Upstream:
    """One remote server. `headers` go with every request and win over a client's."""

    def __init__(
        self,
        address: Address,
        *,
        headers: Sequence[tuple[str, str]] = (),
        seconds: float,
        tls: Callable[[], ssl.SSLContext] = ssl.create_default_context,
    ) -> None:
        self.address = address
        self.seconds = seconds
        self._headers = tuple((name.encode(), value.encode("latin-1")) for name, value in headers)
        self._names = frozenset(name for name, _ in headers)
        self._make_tls = tls
        self._tls: ssl.SSLContext | None = None
        self._kept: list[_Connection] = []

    @property
    def names(self) -> frozenset[str]:
        """The names of the headers that its owner gives."""
        return self._names

    async def send(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        address: Address | None = None,
        seconds: float | None = None,
    ) -> "UpstreamAnswer":
        """Send a request and return the answer's head; raises UpstreamError.

        `seconds` bounds the wait for the answer and for each piece of it; 0 sets no bound.
        """
        wait = self.seconds if seconds is None else seconds
        place = address or self.address
        for _ in range(UPSTREAM_REDIRECTS):
            answer = await self._sent(method, place, headers, body, wait)
            to = answer.headers.get("location")
            if answer.status not in (307, 308) or to is None:
                return answer
            answer.close()
            try:
                place = place.resolve(to)
            except InvalidInputError as error:
                raise UpstreamError(
                    f"{self.address.authority} redirects to another address; if it is the"
                    " server that you mean, give that address with --url"
                ) from error
            if address is None:
                self.address = place
        raise UpstreamError(f"{self.address.authority} redirects in a circle")

    def close(self) -> None:
        """Close the connections that wait for a next request."""
        while self._kept:
            self._kept.pop().abort()

    async def _sent(
        self, method: str, place: Address, headers: Mapping[str, str], body: bytes, wait: float
    ) -> "UpstreamAnswer":
        lines = [(b"host", place.authority.encode()), *self._headers]
        try:
            lines += [
                (name.encode(), value.encode("latin-1"))
                for name, value in headers.items()
                if name not in self._names
            ]
            if body or method == "POST":
                lines.append((b"content-length", str(len(body)).encode()))
            lines.append((b"accept-encoding", b"identity"))
            request = h11.Request(method=method, target=place.target, headers=checked(*lines))
        except (h11.LocalProtocolError, UnicodeError) as error:
            raise InvalidInputError("a header cannot be sent on as it is") from error
        connection = await self._connection(place)
        try:
            return await connection.ask(request, body, wait, self._keep)
        except BaseException:
            connection.abort()
            raise

    async def _connection(self, place: Address) -> "_Connection":
        while self._kept:
            known = self._kept.pop()
            if known.is_fresh():
                return known
            known.abort()
        if place.is_tls and self._tls is None:
            self._tls = self._make_tls()
        try:
            async with asyncio.timeout(UPSTREAM_CONNECT_SECONDS):
                reader, writer = await asyncio.open_connection(
                    place.host,
                    place.port,
                    ssl=self._tls if place.is_tls else None,
                    limit=2 * _PIECE,
                )
        except TimeoutError as error:
            raise UpstreamError(
                f"{place.authority} does not answer (no connection within"
                f" {UPSTREAM_CONNECT_SECONDS:.0f} s)"
            ) from error
        except ssl.SSLCertVerificationError as error:
            raise UpstreamError(
                f"{place.authority} has a certificate that is not trusted here"
                f" ({error.verify_message}); SSL_CERT_FILE can name a file with your authority"
            ) from error
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise UpstreamError(f"{place.authority} cannot be reached ({reason})") from error
        return _Connection(reader, writer, place.authority)

    def _keep(self, connection: "_Connection") -> None:
        if len(self._kept) < _KEPT:
            self._kept.append(connection)
        else:
            connection.abort()


class UpstreamAnswer:
    """An answer, of which the body comes piece by piece."""

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        connection: "_Connection",
        wait: float,
        keep: Callable[["_Connection"], None],
    ) -> None:
        self.status = status
        self.headers = headers
        self.kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        self._connection: _Connection | None = connection
        self._wait = wait
        self._keep = keep

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

    def close(self) -> None:
        """Let go of what has not come yet, and of the connection with it."""
        if self._connection is not None:
            self._connection.abort()
            self._connection = None


class _Connection:
    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, authority: str
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._authority = authority
        self._wire = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_BYTES)
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
        keep: Callable[["_Connection"], None],
    ) -> UpstreamAnswer:
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
