"""Tunnels to servers through a proxy: a connection to it, the method CONNECT, and TLS inside."""

import asyncio
import ssl

from nacre.http_client.address import Address
from nacre.http_client.errors import ProxyError
from nacre.http_client.proxies import Proxy

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def open_tunnel(
    ip: str,
    proxy: Proxy,
    proxy_tls: ssl.SSLContext | None,
    address: Address,
    tls: ssl.SSLContext,
    *,
    limit: int,
) -> Streams:
    """Return the streams to a server through the proxy at `ip`; raises ProxyError or OSError."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=limit, loop=loop)
    outer = asyncio.StreamReaderProtocol(reader, loop=loop)
    try:
        transport, _ = await loop.create_connection(
            lambda: outer,
            ip,
            proxy.port,
            ssl=proxy_tls,
            server_hostname=None if proxy_tls is None else proxy.host,
        )
    except ssl.SSLCertVerificationError as error:
        raise untrusted_proxy(proxy, error) from error
    try:
        transport.write(_request(proxy, address))
        _check(await _head(reader, proxy), proxy, address)
        # A new reader: bytes that the proxy sent after its answer never count as the server's.
        inner = asyncio.StreamReader(limit=limit, loop=loop)
        protocol = asyncio.StreamReaderProtocol(inner, loop=loop)
        inside = await loop.start_tls(transport, protocol, tls, server_hostname=address.host)
    except BaseException:
        transport.abort()
        raise
    assert inside is not None
    protocol.connection_made(inside)
    return inner, asyncio.StreamWriter(inside, protocol, inner, loop)


def refusal(proxy: Proxy, authority: str, status: int) -> ProxyError:
    """Return the error for a proxy that refuses to reach a server."""
    if status == 407:
        return ProxyError(
            f"the proxy {proxy.authority} rejected the credentials, or needs some (407); put them"
            " in its URL, as in http://NAME:PASSWORD@HOST:PORT"
        )
    return ProxyError(f"the proxy {proxy.authority} does not connect to {authority} ({status})")


def untrusted_proxy(proxy: Proxy, error: ssl.SSLCertVerificationError) -> ProxyError:
    """Return the error for a proxy whose certificate is not trusted."""
    return ProxyError(untrusted(f"the proxy {proxy.authority}", error))


def untrusted(name: str, error: ssl.SSLCertVerificationError) -> str:
    """Return the text of an error for a certificate that is not trusted."""
    return (
        f"{name} has a certificate that is not trusted here ({error.verify_message});"
        " NACRE_CA_FILE can name a file with your authority"
    )


def _request(proxy: Proxy, address: Address) -> bytes:
    host = f"[{address.host}]" if ":" in address.host else address.host
    target = f"{host}:{address.port}".encode()
    lines = [b"CONNECT " + target + b" HTTP/1.1", b"host: " + target]
    lines += [name + b": " + value for name, value in proxy.headers]
    return b"\r\n".join(lines) + b"\r\n\r\n"


async def _head(reader: asyncio.StreamReader, proxy: Proxy) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise _no_proxy(proxy) from error


def _check(head: bytes, proxy: Proxy, address: Address) -> None:
    version, _, rest = head.partition(b" ")
    status = rest[:3]
    if not version.startswith(b"HTTP/1.") or not status.isdigit():
        raise _no_proxy(proxy)
    if not status.startswith(b"2"):
        raise refusal(proxy, address.authority, int(status))


def _no_proxy(proxy: Proxy) -> ProxyError:
    return ProxyError(f"{proxy.authority} does not answer like an HTTP proxy")
