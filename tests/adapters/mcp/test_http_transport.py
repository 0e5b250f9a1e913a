"""The HTTP of sessions with other servers: large events, and errors without addresses."""

import asyncio

import httpx2
import pytest

from nacre.adapters.mcp.event_loop import UpstreamLoop
from nacre.adapters.mcp.http_transport import HttpTransport
from nacre.adapters.mcp.large_answers import Shorten
from nacre.adapters.mcp.transports import Transports
from nacre.adapters.mcp.upstream import McpUpstream
from nacre.core.errors import UpstreamError
from nacre.core.limits import LARGE_RESULT_BYTES, UPSTREAM_ANSWER_BYTES
from nacre.gateway.servers.config import server_from
from nacre.gateway.servers.references import References
from nacre.http_client.public_addresses import resolved
from tests.scaffolding.stream_server import stream_server

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


async def shorten(raw: bytes) -> bytes:
    return b"{}" if len(raw) >= LARGE_RESULT_BYTES else raw


def fetch(response: bytes, *, shorten: Shorten | None = shorten) -> bytes:
    """Return the body that a client reads of a response."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(response)
        writer.close()

    async def get() -> bytes:
        transport = HttpTransport(resolved, connect_seconds=10, shorten=shorten)
        async with stream_server(serve) as port, httpx2.AsyncClient(transport=transport) as client:
            return (await client.get(f"http://127.0.0.1:{port}/mcp")).content

    return asyncio.run(get())


def test_a_large_event_keeps_its_name_and_id() -> None:
    large = b"x" * LARGE_RESULT_BYTES
    event = b"id: 4\nevent: message\ndata: " + large + b"\ndata:y\n\n"

    body = fetch(STREAM + b": hi\n\ndata: 1\n\n" + event + b"data: 2\n\nda")

    assert body == b":\n\ndata: 1\n\nevent: message\nid: 4\ndata: {}\n\ndata: 2\n\n"


def test_without_another_parser_a_stream_passes_unchanged() -> None:
    stream = b": hi\r\n\r\nevent: message\ndata: 1\n\ndata: 2"

    assert fetch(STREAM + stream, shorten=None) == stream


def test_an_event_above_the_limit_ends_the_stream() -> None:
    with pytest.raises(httpx2.SSEError, match="too large"):
        fetch(STREAM + b"data: " + b"x" * (UPSTREAM_ANSWER_BYTES + 1) + b"\n\n")


def test_a_large_body_is_shortened() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    body = b'"%b"' % (b"x" * LARGE_RESULT_BYTES)

    assert fetch(head % len(body) + body) == b"{}"


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_a_server_at_an_unknown_host_cannot_be_reached(kind: str) -> None:
    config = server_from("far", {"url": "https://nowhere.invalid/mcp", "type": kind})
    transports = Transports(References(lambda _name: None), is_stack=False)
    loop = UpstreamLoop()
    try:
        server = McpUpstream(config, loop, transports, seconds=10, changed=lambda: None)
        with pytest.raises(UpstreamError, match="does not work: it cannot be reached"):
            server.offered()
    finally:
        loop.close()
