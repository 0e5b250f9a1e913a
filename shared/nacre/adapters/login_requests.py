"""Requests to authorization servers; no server can direct them to a private address."""

import asyncio
import ssl
from collections.abc import Callable, Collection, Mapping
from ipaddress import ip_network
from time import monotonic

from nacre.adapters.bounded_time import within
from nacre.core.errors import UnavailableError
from nacre.core.limits import LOGIN_DOCUMENT_BYTES, LOGIN_STEP_SECONDS
from nacre.http_client.address import Address, parse_address
from nacre.http_client.client import HttpClient
from nacre.http_client.outgoing import DIRECT, Outgoing
from nacre.http_client.public_addresses import (
    Network,
    Resolve,
    checked_addresses,
    refuse_private,
    resolved,
)
from nacre.ports.other_programs.login_requests import Reply


class HttpLoginRequests:
    """Sends the requests of logins to one MCP server.

    `allowed` are networks that may be connected to although they are private. With `trusts_server`
    the addresses of the MCP server itself may be too: its owner has named it.
    """

    def __init__(
        self,
        server_url: str,
        *,
        allowed: Collection[Network] = (),
        trusts_server: bool,
        resolve: Resolve = resolved,
        outgoing: Outgoing = DIRECT,
        tls: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        self._server = parse_address(server_url)
        self._allowed = tuple(allowed)
        self._trusts_server = trusts_server
        self._lookup = resolve
        self._outgoing = outgoing
        self._tls = tls

    def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"") -> Reply:
        """Return the answer; raises UnavailableError or PrivateAddressError."""
        address = parse_address(url)
        return within(
            2 * LOGIN_STEP_SECONDS,
            lambda: asyncio.run(self._send(method, address, headers, body)),
            late=f"{address.authority} does not answer in time",
        )

    def check(self, url: str) -> None:
        """Raise PrivateAddressError or UnavailableError for an address that may not be used."""
        address = parse_address(url)
        is_direct = self._outgoing.proxies.route(address) is None
        within(
            LOGIN_STEP_SECONDS,
            lambda: (
                self._resolve(address.host, address.port)
                if is_direct
                else refuse_private(self._resolve, address.host, address.port)
            ),
            late=f"the address of {address.authority} is not found in time",
        )

    def _resolve(self, host: str, port: int) -> list[str]:
        allowed = self._allowed
        if self._trusts_server:
            try:
                own = self._lookup(self._server.host, self._server.port)
            except (OSError, UnicodeError):  # only a proxy knows the name
                own = []
            allowed += tuple(ip_network(ip.partition("%")[0]) for ip in own)
        return checked_addresses(host, port, allowed=allowed, resolve=self._lookup)

    async def _send(
        self, method: str, address: Address, headers: Mapping[str, str], body: bytes
    ) -> Reply:
        client = HttpClient(
            resolve=self._resolve,
            outgoing=self._outgoing,
            tls=self._tls,
            connect_seconds=LOGIN_STEP_SECONDS,
        )
        lines = [(b"host", address.authority.encode())]
        lines += [(name.encode(), value.encode()) for name, value in headers.items()]
        lines += [
            (b"content-length", str(len(body)).encode()),
            (b"accept-encoding", b"identity"),
            (b"user-agent", b"nacre"),
            (b"connection", b"close"),
        ]
        response = await client.send(
            method, address, tuple(lines), body, seconds=LOGIN_STEP_SECONDS
        )
        try:
            content = b""
            end = monotonic() + LOGIN_STEP_SECONDS
            # A refusal of the MCP server may be a stream that never ends.
            while len(content) <= LOGIN_DOCUMENT_BYTES and (chunk := await response.next_chunk()):
                content += chunk
                if monotonic() > end:
                    raise UnavailableError(f"{address.authority} answers too slowly")
            if len(content) > LOGIN_DOCUMENT_BYTES:
                raise UnavailableError(f"the answer of {address.authority} is too long")
            return Reply(response.status, response.headers, content)
        finally:
            response.close()
