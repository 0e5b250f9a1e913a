"""Requests that carry an access token, which is renewed when the server refuses it."""

from collections.abc import Mapping
from typing import Protocol

from nacre.http_client.address import Address
from nacre.http_client.client import HeaderLines, HttpClient
from nacre.http_client.connection import Response

_REFUSALS = (401, 403)


class Bearer(Protocol):
    """Gives the access tokens for one server."""

    async def token(self) -> str | None:
        """Return the token to send, None to send none; raises UnavailableError."""
        ...

    async def refused(
        self, token: str | None, status: int, headers: Mapping[str, str]
    ) -> str | None:
        """Return another token to send the refused request with, None to give up."""
        ...


class BearerClient:
    """Sends requests as HttpClient does. Only those to one origin carry the token."""

    def __init__(self, http: HttpClient, bearer: Bearer, origin: tuple[bool, str, int]) -> None:
        self._http = http
        self._bearer = bearer
        self._origin = origin

    async def send(
        self,
        method: str,
        address: Address,
        headers: HeaderLines,
        body: bytes = b"",
        *,
        seconds: float,
    ) -> Response:
        """Send a request and return the response, whose body is unread; raises HttpError."""
        if address.origin != self._origin:
            return await self._http.send(method, address, headers, body, seconds=seconds)
        token = await self._bearer.token()
        lines = _with_token(headers, token)
        response = await self._http.send(method, address, lines, body, seconds=seconds)
        if response.status not in _REFUSALS:
            return response
        other = await self._bearer.refused(token, response.status, response.headers)
        if other is None:
            return response
        response.close()
        lines = _with_token(headers, other)
        response = await self._http.send(method, address, lines, body, seconds=seconds)
        if response.status in _REFUSALS:
            # A server that refuses a new token is not asked for another one.
            await self._bearer.refused(None, response.status, response.headers)
        return response

    def close(self) -> None:
        """Close the idle connections."""
        self._http.close()


def _with_token(headers: HeaderLines, token: str | None) -> HeaderLines:
    if token is None:
        return headers
    others = tuple(line for line in headers if line[0].lower() != b"authorization")
    return (*others, (b"authorization", f"Bearer {token}".encode()))
