"""Metadata documents of OAuth clients, fetched over HTTPS from public addresses only."""

import asyncio
import ssl
from collections.abc import Callable, Collection
from time import monotonic
from urllib.parse import urlsplit

from nacre.adapters.bounded_time import within
from nacre.core.errors import InvalidInputError, UnavailableError
from nacre.core.limits import CLIENT_DOCUMENT_BYTES, CLIENT_FETCH_SECONDS
from nacre.http_client.address import Address
from nacre.http_client.client import HttpClient
from nacre.http_client.errors import HttpError
from nacre.http_client.outgoing import DIRECT, Outgoing
from nacre.http_client.public_addresses import Network, Resolve, checked_addresses, resolved

_HEADERS = (
    (b"accept", b"application/json"),
    (b"accept-encoding", b"identity"),
    (b"user-agent", b"nacre"),
    (b"connection", b"close"),
)


class HttpsClientDocuments:
    """Fetches documents; each step may take three seconds, and all steps together six.

    The parameters let tests use a local server.
    """

    def __init__(
        self,
        *,
        allowed: Collection[Network] = (),
        resolve: Resolve = resolved,
        port: int = 443,
        now: Callable[[], float] = monotonic,
        outgoing: Outgoing = DIRECT,
        tls: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        self._allowed = allowed
        self._lookup = resolve
        self._port = port
        self._now = now
        self._outgoing = outgoing
        self._tls = tls

    def fetch(self, url: str) -> bytes:
        """Return the document; raises ForbiddenError or UnavailableError."""
        parts = urlsplit(url)
        address = Address(True, parts.hostname or "", self._port, parts.path or "/")
        try:
            return within(
                2 * CLIENT_FETCH_SECONDS,
                lambda: asyncio.run(self._fetch(address)),
                late="the document does not arrive in time",
            )
        except (OSError, HttpError, InvalidInputError, ValueError) as error:
            raise UnavailableError(f"the document at {url[:200]} cannot be fetched") from error

    def _resolve(self, host: str, port: int) -> list[str]:
        return checked_addresses(host, port, allowed=self._allowed, resolve=self._lookup)

    async def _fetch(self, address: Address) -> bytes:
        client = HttpClient(
            resolve=self._resolve,
            outgoing=self._outgoing,
            tls=self._tls,
            connect_seconds=CLIENT_FETCH_SECONDS,
        )
        headers = ((b"host", address.authority.encode()), *_HEADERS)
        response = await client.send("GET", address, headers, seconds=CLIENT_FETCH_SECONDS)
        try:
            kind = response.content_type
            if response.status != 200 or not (kind == "application/json" or kind.endswith("+json")):
                raise UnavailableError("the document does not exist, or is not JSON")
            body = b""
            end = self._now() + CLIENT_FETCH_SECONDS
            # A server that sends a byte now and then must not hold the fetch open.
            while chunk := await response.next_chunk():
                body += chunk
                if len(body) > CLIENT_DOCUMENT_BYTES or self._now() > end:
                    raise UnavailableError("the document is too long, or arrives too slowly")
            return body
        finally:
            response.close()
