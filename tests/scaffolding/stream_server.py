"""Servers on loopback that leave no connection open.

An open connection that is collected is a warning, which fails whichever test is running then.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ssl import SSLContext

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def protocol_server(
    connection: Callable[[], asyncio.BaseProtocol], *, ssl: SSLContext | None = None
) -> AsyncIterator[int]:
    """Take connections, and yield the port; the caller closes those that were taken."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(connection, "127.0.0.1", 0, ssl=ssl)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        # Python 3.11 loses a connection that it is taking when the server closes.
        loop.remove_reader(server.sockets[0])
        for _ in range(4):
            await asyncio.sleep(0)
        server.close()


@asynccontextmanager
async def stream_server(
    serve: Serve, *, limit: int = 1 << 16, ssl: SSLContext | None = None
) -> AsyncIterator[int]:
    """Serve streams, and yield the port.

    `asyncio.start_server` leaves a connection open if its handler is cancelled before its first
    step.
    """
    transports = list[asyncio.BaseTransport]()

    class Connection(asyncio.StreamReaderProtocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            transports.append(transport)
            super().connection_made(transport)

    def connection() -> Connection:
        return Connection(asyncio.StreamReader(limit), serve)

    try:
        async with protocol_server(connection, ssl=ssl) as port:
            yield port
    finally:
        for transport in transports:
            transport.close()
        await asyncio.sleep(0)  # they close at the next turn
