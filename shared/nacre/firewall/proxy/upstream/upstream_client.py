"""A remote server over HTTP: requests out, answers back piece by piece, connections kept."""

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import h11

from nacre.core.errors import InvalidInputError
from nacre.core.limits import (
    UPSTREAM_CONNECT_SECONDS,
    UPSTREAM_REDIRECTS,
)
from nacre.firewall.proxy.upstream.address import Address
from nacre.firewall.proxy.upstream.connection import Connection, UpstreamAnswer, UpstreamError
from nacre.firewall.proxy.upstream.heads import request_head

_PIECE = 64 * 1024
_KEPT: Final = 32


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
        self._kept: list[Connection] = []

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
            request = request_head(method, place.target, tuple(lines))
        except (h11.LocalProtocolError, UnicodeError) as error:
            raise InvalidInputError("a header cannot be sent on as it is") from error
        connection = await self._connection(place)
        try:
            return await connection.ask(request, body, wait, self._keep)
        except BaseException:
            connection.abort()
            raise

    async def _connection(self, place: Address) -> "Connection":
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
            raise UpstreamError(f"{place.authority} cannot be reached ({_why(error)})") from error
        return Connection(reader, writer, place.authority)

    def _keep(self, connection: "Connection") -> None:
        if len(self._kept) < _KEPT:
            self._kept.append(connection)
        else:
            connection.abort()


def _why(error: OSError | UnicodeError) -> str:
    if isinstance(error, socket.gaierror | UnicodeError):
        return "there is no host of that name"
    # What asyncio says itself repeats the address.
    return os.strerror(error.errno) if error.errno else "none of its addresses answers"
