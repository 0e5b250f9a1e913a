"""Where the calls of the stdio server run."""

import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from nacre.core.coroutines import step
from nacre.core.limits import STDIO_THREADS
from nacre.protocol.replies import Answer

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from concurrent.futures import Future

    from nacre.faces.call_threads import CallThreads


class Workers:
    """Where calls run: threads for blocking ones, a loop for the others, both on demand."""

    def __init__(self) -> None:
        self._threads: CallThreads | None = None
        self._loop: AbstractEventLoop | None = None

    def start(
        self, begin: Callable[[], Coroutine[Any, Any, Answer]], *, blocking: bool
    ) -> "Future[Answer]":
        """Run the call to its answer."""
        if blocking:
            from nacre.faces.call_threads import CallThreads  # noqa: PLC0415 - not needed to start

            self._threads = self._threads or CallThreads(STDIO_THREADS)
            return self._threads.submit(lambda: step(begin()))
        import asyncio  # noqa: PLC0415 - costs more than the start of the whole server

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=_run_loop, args=(self._loop,), daemon=True).start()

        async def main() -> Answer:
            return await begin()

        return asyncio.run_coroutine_threadsafe(main(), self._loop)

    def close(self) -> None:
        """Stop the loop; threads that still run are left behind."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)


def _run_loop(loop: "AbstractEventLoop") -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()
