"""The event loop of the sessions with other servers, in a separate thread."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from nacre.core.limits import UPSTREAM_CLOSE_SECONDS

T = TypeVar("T")

# The official client logs what callers learn anyway, together with addresses and contents.
_SILENCED_LOGGERS = ("mcp", "client", "httpx2")


class UpstreamLoop:
    """An event loop that the first call starts and `close` ends."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        for name in _SILENCED_LOGGERS:
            logger = logging.getLogger(name)
            logger.addHandler(logging.NullHandler())
            logger.propagate = False

    def run(self, coroutine: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run a coroutine in the loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop())

    def soon(self, action: Callable[..., object], *arguments: Any) -> None:
        """Call a function in the loop; does nothing once the loop has ended."""
        with contextlib.suppress(RuntimeError):
            self.loop().call_soon_threadsafe(action, *arguments)

    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the loop, after starting it if necessary."""
        with self._guard:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_run, args=(self._loop,), name="upstreams", daemon=True
                )
                self._thread.start()
            return self._loop

    def close(self) -> None:
        """Cancel the tasks, and end the loop."""
        with self._guard:
            loop, thread = self._loop, self._thread
        if loop is None or thread is None or not thread.is_alive():
            return
        with contextlib.suppress(Exception):
            asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result(UPSTREAM_CLOSE_SECONDS)
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(loop.stop)
        thread.join(UPSTREAM_CLOSE_SECONDS)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _cancel_all() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
