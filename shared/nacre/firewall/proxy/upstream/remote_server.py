"""The remote server of a proxy: its address, the owner's headers, redirects and its errors."""

import ssl
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from http import HTTPStatus

from nacre.core.errors import ConfigurationError, InvalidInputError, UnavailableError
from nacre.core.limits import UPSTREAM_REDIRECTS
from nacre.http_client.address import Address
from nacre.http_client.bearer import Bearer, BearerClient
from nacre.http_client.client import HttpClient
from nacre.http_client.connection import Response
from nacre.http_client.errors import HttpError
from nacre.http_client.outgoing import DIRECT, Outgoing
from nacre.protocol.large_calls import whole

SESSION = "mcp-session-id"


class RemoteServer:
    """One remote server. `headers` go with every request and win over a client's."""

    def __init__(
        self,
        address: Address,
        *,
        headers: Sequence[tuple[str, str]] = (),
        seconds: float,
        outgoing: Outgoing = DIRECT,
        tls: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        self.address = address
        self._seconds = seconds
        self._headers = tuple((name.encode(), value.encode("latin-1")) for name, value in headers)
        self._names = frozenset(name for name, _ in headers)
        self._client = HttpClient(
            outgoing=outgoing, tls=tls, timeout_hint="; --timeout changes how long is waited"
        )
        self._http: HttpClient | BearerClient = self._client
        self._more: Mapping[str, str] = {}

    def with_headers(self, headers: Mapping[str, str]) -> "RemoteServer":
        """Return the same server for a caller whose headers go with each request."""
        server = copy(self)
        server._more = headers
        return server

    def use_login(self, bearer: Bearer) -> None:
        """Send the tokens of a login with every request, unless a header gives one."""
        if "authorization" not in self._names:
            self._http = BearerClient(self._client, bearer, self.address.origin)

    async def send(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        address: Address | None = None,
        seconds: float | None = None,
    ) -> Response:
        """Send a request and return the response, whose body is unread; raises HttpError.

        `seconds` limits the wait for the response and for each piece of it; 0 sets no limit.
        """
        wait = self._seconds if seconds is None else seconds
        target, body = address or self.address, whole(body)
        if self._more:
            headers = {**self._more, **headers}
        for _ in range(UPSTREAM_REDIRECTS):
            lines = self._lines(method, target, headers, body)
            try:
                response = await self._http.send(method, target, lines, body, seconds=wait)
            except HttpError:
                raise
            except (ConfigurationError, UnavailableError) as error:
                # The settings of the network are wrong, or the login cannot be renewed now.
                raise HttpError(str(error)) from error
            location = response.headers.get("location")
            if response.status not in (307, 308) or location is None:
                return response
            response.close()
            try:
                target = target.resolve(location)
            except InvalidInputError as error:
                raise HttpError(
                    f"{self.address.authority} redirects to another address; if it is the"
                    " server that you mean, give that address with --url"
                ) from error
            if address is None:
                self.address = target
        raise HttpError(f"{self.address.authority} redirects in a circle")

    def close(self) -> None:
        """Close the idle connections."""
        self._http.close()

    def _lines(
        self, method: str, address: Address, headers: Mapping[str, str], body: bytes
    ) -> tuple[tuple[bytes, bytes], ...]:
        lines = [(b"host", address.authority.encode()), *self._headers]
        try:
            lines += [
                (name.encode(), value.encode("latin-1"))
                for name, value in headers.items()
                if name not in self._names
            ]
        except UnicodeError as error:
            raise InvalidInputError("a header cannot be sent on as it is") from error
        if body or method == "POST":
            lines.append((b"content-length", str(len(body)).encode()))
        lines.append((b"accept-encoding", b"identity"))
        return tuple(lines)


def not_mcp_text(authority: str, content_type: str) -> str:
    """Return one line for the operator that explains a response without an MCP message."""
    return f"{authority} answers with {content_type[:60]}, which is not MCP; look at --url"


def status_text(authority: str, status: int) -> str:
    """Return one line for the operator that explains a server's HTTP status."""
    try:
        phrase = f" {HTTPStatus(status).phrase}"
    except ValueError:
        phrase = ""
    text = f"{authority} answered {status}{phrase}"
    match status:
        case 401:
            return (
                f"{text}: it wants a token, or another; log in with 'nacre server login URL', or"
                " give one with --bearer-env VARIABLE"
            )
        case 403:
            return f"{text}: what --header gives does not suffice, or it serves only some callers"
        case 301 | 302 | 303 | 307 | 308:
            return f"{text}: it has moved; look up its present address and give that with --url"
        case _:
            return text
