"""A server that ends leaves no connection open, however far each has come."""

import asyncio
import gc
import socket
import warnings
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from nacre.firewall.proxy.http.http_server import Connections
from tests.firewall.proxy.http_world import Remote
from tests.scaffolding.http_crowd import crowd
from tests.scaffolding.stream_server import protocol_server, stream_server

Serving = Callable[[], AbstractAsyncContextManager[int]]


@asynccontextmanager
async def proxying() -> Any:
    """Serve as the HTTP proxy does, and yield the port."""

    async def handle(*_: Any) -> None:
        raise AssertionError("nobody asks")

    connections = Connections(handle, lambda error: None, crowd())
    async with protocol_server(connections.accept) as port:
        yield port
    connections.close()
    await asyncio.sleep(0)


def remote() -> AbstractAsyncContextManager[int]:
    return stream_server(Remote().serve)


@pytest.mark.parametrize("serving", [proxying, remote])
def test_a_connection_is_closed_at_whichever_step_the_server_ends(serving: Serving) -> None:
    async def end_after(turns: int) -> None:
        async with serving() as port:
            with socket.create_connection(("127.0.0.1", port)):
                for _ in range(turns):
                    await asyncio.sleep(0)

    gc.collect()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for turns in range(10):
            asyncio.run(end_after(turns))
            gc.collect()

    assert [str(warning.message) for warning in said] == []
