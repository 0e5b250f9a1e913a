"""The laptop face on a real socket: uvicorn in a thread."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve an ASGI application on loopback and yield its MCP URL."""
    with served_at(lambda _: app) as url:
        yield url


@contextmanager
def served_at(app_at: Callable[[str], Any]) -> Iterator[str]:
    """Serve an application that knows its own address, and yield its MCP URL."""
    listener = socket.socket(proto=socket.IPPROTO_TCP)  # as the command does it
    listener.bind(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = uvicorn.Server(
        uvicorn.Config(
            app_at(base), log_level="warning", lifespan="on", timeout_graceful_shutdown=5
        )
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        # The socket listens already: a first request waits until uvicorn takes it.
        listener.listen()
        yield f"{base}/mcp"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
