"""A hook's call to a server behind a proxy, with the HTTP client that knows proxies."""

import asyncio

from nacre.core.errors import NacreError, TooLargeError
from nacre.http_client.address import Address
from nacre.http_client.client import HeaderLines, HttpClient
from nacre.http_client.outgoing import Outgoing


def post(
    outgoing: Outgoing,
    address: Address,
    headers: HeaderLines,
    body: bytes,
    *,
    seconds: float,
    most: int,
) -> tuple[int, bytes]:
    """Return the status and the body of the answer; raises NacreError or TimeoutError."""
    lines = (
        (b"host", address.authority.encode()),
        (b"content-length", str(len(body)).encode()),
        *headers,
    )

    async def send() -> tuple[int, bytes]:
        client = HttpClient(outgoing=outgoing, connect_seconds=seconds)
        async with asyncio.timeout(seconds):
            response = await client.send("POST", address, lines, body, seconds=seconds)
            try:
                return response.status, await response.read(most)
            except TooLargeError as error:
                raise NacreError("the server's answer is too long") from error
            finally:
                response.close()

    return asyncio.run(send())
