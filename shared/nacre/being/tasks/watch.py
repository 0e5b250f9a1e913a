"""The watch over one attempt at a task: it renews leases, stores progress and stops the work."""

import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from nacre.core.coroutines import step
from nacre.core.errors import ClientCapabilityError, LeaseLostError, NacreError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import (
    TASK_MESSAGE_CHARS,
    TASK_RENEW_SECONDS,
    TASK_SECONDS,
    TASK_WATCH_SECONDS,
)
from nacre.protocol.context import capability_of

T = TypeVar("T")


class AttemptStopped(Exception):  # noqa: N818 - not an error: the client or a limit stopped it
    """The attempt was stopped before its handler returned."""


@dataclass(slots=True)
class TaskChannel:
    """The channel of a task's handler: its progress is stored, and no client can be asked."""

    can_ask: bool = False
    cancelled: bool = False
    progress: str | None = None

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Remember progress, and drop any other notification."""
        if method == "notifications/progress":
            self.progress = _progress_line(params)

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Raise ClientCapabilityError: questions of a task are stored with it instead."""
        raise ClientCapabilityError(capability_of(method))


def _progress_line(params: dict[str, Any]) -> str:
    progress, total, message = params.get("progress"), params.get("total"), params.get("message")
    amount = f"{progress}" if total is None else f"{progress} of {total}"
    return (f"{amount}: {message}" if message else amount)[:TASK_MESSAGE_CHARS]


@dataclass(slots=True)
class AttemptWatch:
    """A thread beside the handler of one attempt.

    `store_progress` stores a message and returns whether the task is still this worker's; `renew`
    renews its lease and its message in the queue.
    """

    channel: TaskChannel
    store_progress: Callable[[str | None], bool]
    renew: Callable[[], None]
    seconds: float = TASK_SECONDS
    every: float = TASK_WATCH_SECONDS
    monotonic: Callable[[], float] = time.monotonic
    is_too_long: bool = False
    _ended: threading.Event = field(default_factory=threading.Event)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _stop: Callable[[], object] | None = None
    _thread: threading.Thread | None = None

    def __enter__(self) -> "AttemptWatch":
        """Begin to watch."""
        self._thread = threading.Thread(target=self._watch, name="nacre-task", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the watch; it writes nothing afterwards."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def run(self, begin: Callable[[], Coroutine[Any, Any, T]], *, blocking: bool) -> T:
        """Return the result of a handler; raises AttemptStopped if the watch stopped it.

        A blocking handler is not interrupted: it may check whether its call was cancelled.
        """
        if blocking:
            return step(begin())
        import asyncio  # noqa: PLC0415 - most handlers block, and this import is expensive

        async def main() -> T:
            loop = asyncio.get_running_loop()
            work = asyncio.ensure_future(_awaited(begin()))
            self.on_stop(lambda: loop.call_soon_threadsafe(work.cancel))
            try:
                return await work
            except asyncio.CancelledError:
                raise AttemptStopped from None
            finally:
                self.on_stop(lambda: None)

        return asyncio.run(main())

    def on_stop(self, stop: Callable[[], object]) -> None:
        """Set the function that stops the attempt; it is called at once if that is due."""
        with self._guard:
            self._stop = stop
            if self.channel.cancelled:
                stop()

    def _watch(self) -> None:
        started = renewed = self.monotonic()
        stored: str | None = None
        while not self._ended.wait(self.every) and not self.channel.cancelled:
            now = self.monotonic()
            if now - started >= self.seconds:
                self.is_too_long = True
                self._stop_attempt()
                return
            progress = self.channel.progress
            # A store that fails now may answer the next time.
            with suppress(NacreError):
                if not self.store_progress(None if progress == stored else progress):
                    self._stop_attempt()
                    return
                stored = progress
            try:
                if now - renewed >= TASK_RENEW_SECONDS:
                    self.renew()
                    renewed = now
            except LeaseLostError:
                self._stop_attempt()
                return
            except NacreError:
                continue

    def _stop_attempt(self) -> None:
        # Under the guard: after `on_stop` has returned, the earlier function is not called.
        with self._guard:
            self.channel.cancelled = True
            if self._stop is not None:
                self._stop()


async def _awaited(work: Awaitable[T]) -> T:
    return await work
