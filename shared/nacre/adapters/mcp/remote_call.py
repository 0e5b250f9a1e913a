"""One call of another server, between the thread that waits for it and the loop it runs on."""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Mapping
from typing import Any

from nacre.adapters.mcp.event_loop import UpstreamLoop
from nacre.core.errors import UpstreamError
from nacre.core.limits import (
    UPSTREAM_LONGEST_SECONDS,
    UPSTREAM_QUESTIONS,
    UPSTREAM_UNREAD_EVENTS,
)
from nacre.ports.upstream import Asked, Event, Logged, Progressed


class LiveCall:
    """A call that runs on the sessions' loop; whoever made it hears of it where he is."""

    def __init__(
        self,
        loop: UpstreamLoop,
        server: str,
        seconds: float,
        method: str,
        params: Mapping[str, Any],
        *,
        wants_progress: bool,
        log_level: str | None,
        changes: int = 0,
        session: int = 0,
    ) -> None:
        self.method = method
        self.session = session  # whose offers were compared
        self.changes = changes  # how often the server's offers had changed when it was made
        self.params = params
        self.wants_progress = wants_progress
        self.log_level = log_level
        self.task: asyncio.Task[None] | None = None
        self.was_cancelled = False
        self._loop = loop
        self._server = server
        self._seconds = seconds
        self._guard = threading.Lock()
        self._events: deque[Event | Exception] = deque()
        self._waiter: tuple[asyncio.AbstractEventLoop, asyncio.Future[None]] | None = None
        # What only the loop touches.
        self._reason: str | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._until: float | None = None
        self._asked: dict[int, asyncio.Future[Mapping[str, Any] | None]] = {}
        self._number = 0
        self._is_over = False

    # Whoever made the call.

    async def next(self) -> Event:
        """Return what happens next."""
        while True:
            with self._guard:
                if self._events:
                    event = self._events.popleft()
                    break
                here = asyncio.get_running_loop()
                waiting = here.create_future()
                self._waiter = (here, waiting)
            await waiting
        if isinstance(event, Exception):
            raise event
        return event

    def answer(self, asked: Asked, result: Mapping[str, Any] | None) -> None:
        """Give the server what it asked for."""
        self._loop.soon(self._answered, asked.number, result)

    def cancel(self) -> None:
        """Give the call up."""
        self._loop.soon(self._cancelled)

    # The loop.

    def deliver(self, event: Event | Exception) -> None:
        """Tell of an event; the last one is `Done` or an exception.

        What is only said by the way is let go where nobody reads as fast.
        """
        with self._guard:
            is_full = len(self._events) >= UPSTREAM_UNREAD_EVENTS
            if is_full and isinstance(event, Progressed | Logged):
                return
            self._events.append(event)
            waiting, self._waiter = self._waiter, None
        if waiting is not None:
            with contextlib.suppress(RuntimeError):  # that loop has ended
                waiting[0].call_soon_threadsafe(_wake, waiting[1])

    def start_clock(self) -> None:
        """Give the call its time, from now on."""
        self.stop_clock()
        loop = asyncio.get_running_loop()
        if self._until is None:
            self._until = loop.time() + max(self._seconds, UPSTREAM_LONGEST_SECONDS)
        seconds = min(self._seconds, max(0.0, self._until - loop.time()))
        self._timer = loop.call_later(seconds, self._expired)

    def stop_clock(self) -> None:
        """Let it take as long as it takes."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def progressed(self, progress: float, total: float | None, message: str | None) -> None:
        """Tell how far the call is, which shows that it is alive."""
        if not self._asked:
            self.start_clock()
        self.deliver(Progressed(progress, total, message))

    async def ask(self, method: str, params: dict[str, Any]) -> Mapping[str, Any] | None:
        """Return the client's answer to a question of the server; None declines."""
        if self._number >= UPSTREAM_QUESTIONS:
            return None
        self._number += 1
        number = self._number
        waiting = asyncio.get_running_loop().create_future()
        self._asked[number] = waiting
        self.stop_clock()  # a person may take longer than a server
        self.deliver(Asked(number, method, params))
        try:
            found: Mapping[str, Any] | None = await waiting
        finally:
            self._asked.pop(number, None)
        if not self._is_over and not self._asked:
            self.start_clock()
        return found

    def lose(self, reason: str) -> None:
        """End the call, because its session is over."""
        if self.task is not None and not self.task.done():
            self._reason = self._reason or reason
            self.task.cancel()

    def ending(self) -> UpstreamError:
        """Return why the call was ended from outside."""
        return UpstreamError(
            self._server, self._reason or "was given up", is_fault=self._reason is not None
        )

    def over(self) -> None:
        """Let go of everything; nobody answers any more.

        Not by cancelling: whoever waits for an answer is a task of the session's.
        """
        self._is_over = True
        self.stop_clock()
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_result(None)

    def _expired(self) -> None:
        self.was_cancelled = True
        self.lose(f"did not answer within {self._seconds:g} s")

    def _cancelled(self) -> None:
        self.was_cancelled = True
        if self.task is not None:
            self.task.cancel()

    def _answered(self, number: int, result: Mapping[str, Any] | None) -> None:
        waiting = self._asked.get(number)
        if waiting is not None and not waiting.done():
            waiting.set_result(result)


def _wake(waiting: "asyncio.Future[None]") -> None:
    if not waiting.done():
        waiting.set_result(None)
