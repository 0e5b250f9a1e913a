"""The HTTP client: connections that are kept, addresses that are refused, and failures."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from nacre.core.errors import InvalidInputError, PrivateAddressError, TooLargeError
from nacre.http_client.address import Address, parse_address
from nacre.http_client.client import HttpClient
from nacre.http_client.connection import Response
from nacre.http_client.errors import CompressedError, ConnectError, HttpError, ReadTimeoutError
from nacre.http_client.public_addresses import checked_addresses
from tests.scaffolding.stream_server import stream_server

OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 2\r\n\r\nok"


class Server:
    """Sends the same bytes for every request, and counts its connections."""

    def __init__(
        self, response: bytes, *, closes: bool = False, speaks_first: bool = False
    ) -> None:
        self.response = response
        self.speaks_first = speaks_first
        self.closes = closes
        self.connections = 0
        self.closed = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                if not self.speaks_first:
                    await reader.readuntil(b"\r\n\r\n")
                writer.write(self.response)
                await writer.drain()
                if self.closes:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            self.closed += 1


@asynccontextmanager
async def running(server: Server) -> AsyncIterator[Address]:
    async with stream_server(server.serve) as port:
        yield parse_address(f"http://127.0.0.1:{port}/doc")


async def get(client: HttpClient, address: Address, *, seconds: float = 10) -> Response:
    headers = ((b"host", address.authority.encode()),)
    return await client.send("GET", address, headers, seconds=seconds)


def play(server: Server, scenario: Callable[[HttpClient, Address], Awaitable[None]]) -> None:
    async def main() -> None:
        async with running(server) as address:
            client = HttpClient()
            try:
                async with asyncio.timeout(60):
                    await scenario(client, address)
            finally:
                client.close()

    asyncio.run(main())


def test_requests_to_one_server_share_a_connection() -> None:
    server = Server(OK)

    async def scenario(client: HttpClient, address: Address) -> None:
        for _ in range(3):
            response = await get(client, address)
            assert (response.status, response.content_type) == (200, "text/plain")
            assert await response.read() == b"ok"

    play(server, scenario)
    assert server.connections == 1


def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    server = Server(OK, closes=True)

    async def scenario(client: HttpClient, address: Address) -> None:
        for number in range(3):
            assert await (await get(client, address)).read() == b"ok"
            while server.closed <= number:
                await asyncio.sleep(0.005)

    play(server, scenario)
    assert server.connections == 3


def test_a_connection_whose_body_was_not_read_is_not_used_again() -> None:
    server = Server(OK)

    async def scenario(client: HttpClient, address: Address) -> None:
        for _ in range(2):
            (await get(client, address)).close()

    play(server, scenario)
    assert server.connections == 2


def test_a_server_that_keeps_connections_for_no_time_gets_a_new_one() -> None:
    server = Server(OK.replace(b"content-length", b"keep-alive: timeout=1\r\ncontent-length"))

    async def scenario(client: HttpClient, address: Address) -> None:
        for _ in range(2):
            assert await (await get(client, address)).read() == b"ok"

    play(server, scenario)
    assert server.connections == 2


def test_a_compressed_body_is_refused_before_it_is_read() -> None:
    server = Server(OK.replace(b"content-length", b"content-encoding: gzip\r\ncontent-length"))

    async def scenario(client: HttpClient, address: Address) -> None:
        response = await get(client, address)
        assert response.status == 200
        with pytest.raises(CompressedError):
            await response.read()

    play(server, scenario)


def test_a_body_above_the_limit_is_refused() -> None:
    async def scenario(client: HttpClient, address: Address) -> None:
        response = await get(client, address)
        with pytest.raises(TooLargeError):
            await response.read(limit=1)

    play(Server(OK), scenario)


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (b"", "closed the connection before its answer was complete"),
        (OK[:-1], "closed the connection before its answer was complete"),
        (b"220 mail.example ESMTP\r\n\r\n", "sends data that is not HTTP/1.1"),
    ],
)
def test_a_broken_response_is_an_error(response: bytes, text: str) -> None:
    async def scenario(client: HttpClient, address: Address) -> None:
        with pytest.raises(HttpError, match=text):
            await (await get(client, address)).read()

    play(Server(response, closes=True), scenario)


def test_a_silent_server_is_left() -> None:
    async def scenario(client: HttpClient, address: Address) -> None:
        with pytest.raises(ReadTimeoutError, match=r"did not answer within 0\.01 s$"):
            await get(client, address, seconds=0.01)

    play(Server(b""), scenario)


def test_a_server_without_tls_cannot_be_reached_over_tls() -> None:
    async def scenario(client: HttpClient, address: Address) -> None:
        secure = Address(True, address.host, address.port, address.target)
        with pytest.raises(ConnectError, match=r"cannot be reached \(TLS fails\)"):
            await get(client, secure)

    play(Server(OK, closes=True, speaks_first=True), scenario)


def test_an_unknown_host_cannot_be_reached() -> None:
    address = Address(True, "nowhere.invalid", 443, "/")
    with pytest.raises(ConnectError, match="there is no host of that name"):
        asyncio.run(get(HttpClient(), address))


def test_a_private_address_is_not_connected_to() -> None:
    server = Server(OK)

    async def scenario(_: HttpClient, address: Address) -> None:
        client = HttpClient(resolve=checked_addresses)
        with pytest.raises(PrivateAddressError):
            await get(client, address)

    play(server, scenario)
    assert server.connections == 0


def test_a_header_with_a_line_break_is_refused() -> None:
    async def scenario(client: HttpClient, address: Address) -> None:
        with pytest.raises(InvalidInputError):
            await client.send("GET", address, ((b"host", b"a\r\nb: c"),), seconds=1)

    play(Server(OK), scenario)
