"""HTTP for the official MCP client in sessions with other servers, through Nacre's own client."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2

from nacre.adapters.mcp.large_answers import Fill, Shorten
from nacre.core.errors import ConfigurationError, TooLargeError, UnavailableError
from nacre.core.limits import LARGE_RESULT_BYTES, UPSTREAM_ANSWER_BYTES
from nacre.http_client.address import Address, parse_address
from nacre.http_client.bearer import Bearer, BearerClient
from nacre.http_client.client import HttpClient
from nacre.http_client.connection import Response
from nacre.http_client.errors import (
    CertificateError,
    CompressedError,
    ConnectError,
    ConnectTimeoutError,
    HttpError,
    ProxyError,
    ReadTimeoutError,
)
from nacre.http_client.outgoing import DIRECT, Outgoing
from nacre.http_client.public_addresses import Resolve
from nacre.http_client.server_sent_events import ResponseEvents
from nacre.protocol.http.http_messages import STREAM

TOO_LARGE = "the answer is too large"
_IDLE_SECONDS = 50.0  # load balancers close connections that were silent for a minute


class HttpTransport(httpx2.AsyncBaseTransport):
    """Sends the requests of one session; `refused` is the last status that refused one."""

    def __init__(
        self,
        resolve: Resolve,
        *,
        connect_seconds: float,
        outgoing: Outgoing = DIRECT,
        shorten: Shorten | None = None,
        fill: Fill | None = None,
        bearer: Bearer | None = None,
        url: str = "",
    ) -> None:
        http = HttpClient(
            resolve=resolve,
            outgoing=outgoing,
            connect_seconds=connect_seconds,
            idle_seconds=_IDLE_SECONDS,
        )
        self._http: HttpClient | BearerClient = http
        if bearer is not None:  # `url` is that of the server, and nobody else gets its token
            self._http = BearerClient(http, bearer, parse_address(url).origin)
        self._shorten = shorten
        self._fill = fill
        self.refused: int | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and return its answer, whose body comes as it is read."""
        body = b"".join([chunk async for chunk in request.stream])  # type: ignore[union-attr]  # an async client's
        seconds = request.extensions.get("timeout", {}).get("read") or 0
        headers = tuple(request.headers.raw)
        if self._fill is not None and (filled := self._fill(body, is_line=False)) is not body:
            body, length = filled, (b"content-length", str(len(filled)).encode())
            headers = (*(pair for pair in headers if pair[0].lower() != length[0]), length)
        try:
            response = await self._http.send(
                request.method, _address(request.url), headers, body, seconds=seconds
            )
        except HttpError as error:
            raise _httpx_error(error) from error
        except (ConfigurationError, UnavailableError) as error:
            # The settings of the network are wrong, or the login cannot be renewed now.
            raise httpx2.ConnectError(str(error)) from error
        self.refused = response.status if response.status >= 400 else None
        return httpx2.Response(
            response.status,
            # httpx would decompress the body to any size; `_Body` yields nothing compressed.
            headers=[pair for pair in response.raw_headers if pair[0] != b"content-encoding"],
            stream=_Body(response, self._shorten),
        )

    async def aclose(self) -> None:
        """Close the idle connections."""
        self._http.close()


class PlainClient(httpx2.AsyncClient):
    """A client that sends requests directly, without authentication flows and hooks.

    A redirect is left to the general client.
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


class _Body(httpx2.AsyncByteStream):
    """The body of one answer."""

    def __init__(self, response: Response, shorten: Shorten | None) -> None:
        self._response = response
        self._shorten = shorten

    async def __aiter__(self) -> AsyncIterator[bytes]:
        response, shorten = self._response, self._shorten
        try:
            if response.content_type != STREAM:
                body = await response.read(UPSTREAM_ANSWER_BYTES)
                yield body if shorten is None else await shorten(body)
                return
            if shorten is None:
                while chunk := await response.next_chunk():
                    yield chunk
                return
            # Each event has a limit; a stream of them may be endless.
            async for event in ResponseEvents(response):
                if event.too_long:
                    raise httpx2.SSEError(TOO_LARGE)
                is_large = event.data is not None and len(event.data) >= LARGE_RESULT_BYTES
                yield event.encode(await shorten(event.data or b"") if is_large else None)
        except TooLargeError as error:
            raise httpx2.StreamError(TOO_LARGE) from error
        except HttpError as error:
            raise _httpx_error(error) from error

    async def aclose(self) -> None:
        """Drop the rest; the connection is reused if the body was read to its end."""
        self._response.close()


def _httpx_error(error: HttpError) -> Exception:
    """Return the corresponding error of httpx, without the server's address."""
    match error:
        case ConnectTimeoutError():
            return httpx2.ConnectTimeout("it does not answer")
        case CertificateError():
            return httpx2.ConnectError("its certificate cannot be trusted")
        case ProxyError():
            return httpx2.ConnectError(str(error))
        case ConnectError():
            return httpx2.ConnectError("it cannot be reached")
        case ReadTimeoutError():
            return httpx2.ReadTimeout("no answer in time")
        case CompressedError():
            return httpx2.StreamError("the answer is compressed, which was not asked for")
        case _:
            return httpx2.ReadError("the connection was lost")


def _address(url: httpx2.URL) -> Address:
    is_tls = url.scheme == "https"
    port = url.port or (443 if is_tls else 80)
    return Address(is_tls, url.raw_host.decode(), port, url.raw_path.decode("ascii"))
