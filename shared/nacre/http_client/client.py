"""Requests to other servers over HTTP/1.1, on connections that are kept for the next request."""

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import h11

from nacre.core.errors import InvalidInputError
from nacre.core.limits import UPSTREAM_CONNECT_SECONDS, UPSTREAM_KEPT_SECONDS
from nacre.http_client.address import Address
from nacre.http_client.connection import CHUNK_BYTES, Connection, Response
from nacre.http_client.errors import CertificateError, ConnectError, ConnectTimeoutError, ProxyError
from nacre.http_client.outgoing import DIRECT, Outgoing
from nacre.http_client.proxies import Proxy
from nacre.http_client.public_addresses import Resolve, refuse_private, resolved
from nacre.http_client.tunnel import Streams, open_tunnel, refusal, untrusted, untrusted_proxy

_BUFFER_BYTES: Final = 2 * CHUNK_BYTES
_MAX_IDLE: Final = 32  # connections that wait for a next request to the same server

HeaderLines = tuple[tuple[bytes, bytes], ...]


class HttpClient:
    """Sends requests, and keeps idle connections for the next ones.

    `outgoing` has the proxies and the trusted authorities; `tls` replaces its settings of TLS.
    `resolve` returns the addresses of a host; it runs in a thread and may refuse the host. Through
    a proxy, a host is refused where `refuse_private` can tell.
    `idle_seconds` holds for servers that do not say how long they keep a connection open.
    `timeout_hint` is added to the error of a server that is silent for too long.
    """

    def __init__(
        self,
        *,
        resolve: Resolve = resolved,
        outgoing: Outgoing = DIRECT,
        tls: Callable[[], ssl.SSLContext] | None = None,
        connect_seconds: float = UPSTREAM_CONNECT_SECONDS,
        idle_seconds: float = UPSTREAM_KEPT_SECONDS,
        timeout_hint: str = "",
    ) -> None:
        self._resolve = resolve
        self._outgoing = outgoing
        self._make_tls = tls or outgoing.tls
        self._tls: ssl.SSLContext | None = None
        self._proxy_tls: ssl.SSLContext | None = None
        self._connect_seconds = connect_seconds
        self._idle_seconds = idle_seconds
        self._timeout_hint = timeout_hint
        self._idle: dict[tuple[bool, str, int], list[Connection]] = {}

    async def send(
        self,
        method: str,
        address: Address,
        headers: HeaderLines,
        body: bytes = b"",
        *,
        seconds: float,
    ) -> Response:
        """Send a request and return the response, whose body is unread; raises HttpError.

        `headers` are complete: the client adds none. `seconds` limits the wait for the response
        and for each piece of its body; 0 sets no limit.
        """
        try:
            head = _request_head(method, address.target, headers)
        except h11.LocalProtocolError as error:
            raise InvalidInputError("a header cannot be sent on as it is") from error
        connection = self._idle_connection(address) or await self._open_connection(address)
        proxy = connection.proxy
        try:
            if proxy is not None:
                url = f"http://{address.authority}{address.target}"
                head = _request_head(method, url, (*headers, *proxy.headers))
            response = await connection.send(head, body, seconds, self._keep)
        except BaseException:
            connection.abort()
            raise
        if proxy is not None and response.status == 407:
            connection.abort()
            raise refusal(proxy, address.authority, response.status)
        return response

    def close(self) -> None:
        """Close the idle connections."""
        for connections in self._idle.values():
            while connections:
                connections.pop().abort()

    def _idle_connection(self, address: Address) -> Connection | None:
        connections = self._idle.get(address.origin, [])
        while connections:
            connection = connections.pop()
            if connection.is_usable():
                return connection
            connection.abort()
        return None

    def _keep(self, connection: Connection) -> None:
        connections = self._idle.setdefault(connection.address.origin, [])
        if len(connections) < _MAX_IDLE:
            connections.append(connection)
        else:
            connection.abort()

    async def _open_connection(self, address: Address) -> Connection:
        proxy = self._outgoing.proxies.route(address)
        if address.is_tls and self._tls is None:
            self._tls = self._make_tls()
        if proxy is not None and proxy.is_tls and self._proxy_tls is None:
            self._proxy_tls = self._outgoing.proxy_tls()
        failure: OSError | UnicodeError | None = None
        try:
            async with asyncio.timeout(self._connect_seconds):
                for ip in await self._addresses(address, proxy):
                    try:
                        return await self._open_at(ip, address, proxy)
                    except OSError as error:
                        failure = error
        except TimeoutError as error:
            raise _timed_out(address, proxy, self._connect_seconds) from error
        except (OSError, UnicodeError) as error:
            failure = error
        raise _unreached(address, proxy, failure) from failure

    async def _addresses(self, address: Address, proxy: Proxy | None) -> list[str]:
        """Return the addresses to connect to: the server's, or the proxy's."""
        loop = asyncio.get_running_loop()
        if proxy is None:
            return await loop.run_in_executor(None, self._resolve, address.host, address.port)
        if self._resolve is not resolved:  # else nothing is refused, and the name is not looked up
            await loop.run_in_executor(
                None, refuse_private, self._resolve, address.host, address.port
            )
        return await loop.run_in_executor(None, resolved, proxy.host, proxy.port)

    async def _open_at(self, ip: str, address: Address, proxy: Proxy | None) -> Connection:
        tls = self._tls if address.is_tls else None
        proxy_tls = self._proxy_tls if proxy is not None and proxy.is_tls else None
        if proxy is None:
            streams = await _open_streams(ip, address.port, address.host, tls)
        elif tls is None:
            streams = await _open_streams(ip, proxy.port, proxy.host, proxy_tls)
        else:
            streams = await open_tunnel(ip, proxy, proxy_tls, address, tls, limit=_BUFFER_BYTES)
        return Connection(
            *streams,
            address,
            proxy=proxy if tls is None else None,
            idle_seconds=self._idle_seconds,
            timeout_hint=self._timeout_hint,
        )


async def _open_streams(ip: str, port: int, name: str, tls: ssl.SSLContext | None) -> Streams:
    return await asyncio.open_connection(
        ip,
        port,
        ssl=tls,
        server_hostname=None if tls is None else name,
        limit=_BUFFER_BYTES,
    )


@lru_cache(maxsize=256)
def _request_head(method: str, target: str, headers: HeaderLines) -> h11.Request:
    """Return the checked head of a request. Most heads are like an earlier one."""
    return h11.Request(method=method, target=target, headers=list(headers))


def _timed_out(address: Address, proxy: Proxy | None, seconds: float) -> ConnectError:
    limit = f"(no connection within {seconds:.0f} s)"
    if proxy is None:
        return ConnectTimeoutError(f"{address.authority} does not answer {limit}")
    return ProxyError(
        f"{address.authority} does not answer through the proxy {proxy.authority} {limit}"
    )


def _unreached(
    address: Address, proxy: Proxy | None, error: OSError | UnicodeError | None
) -> ConnectError:
    authority = address.authority
    if isinstance(error, ssl.SSLCertVerificationError):
        if proxy is not None and not address.is_tls:
            return untrusted_proxy(proxy, error)
        return CertificateError(untrusted(authority, error))
    if proxy is not None:
        return ProxyError(
            f"{authority} cannot be reached through the proxy {proxy.authority} ({_reason(error)})"
        )
    return ConnectError(f"{authority} cannot be reached ({_reason(error)})")


def _reason(error: OSError | UnicodeError | None) -> str:
    match error:
        case None:
            return "it has no address"
        case socket.gaierror() | UnicodeError():
            return "there is no host of that name"
        case ssl.SSLError():
            return "TLS fails"
        case _:
            # asyncio's own text repeats the address.
            return os.strerror(error.errno) if error.errno else "none of its addresses answers"
