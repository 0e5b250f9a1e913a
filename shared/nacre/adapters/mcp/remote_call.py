"""One call of another server, between the loop that it runs in and the loop of its caller."""

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
from nacre.ports.other_programs.upstream import Asked, Event, Logged, Progressed


class RemoteCall:
    """A call that runs in the sessions' loop; its events are delivered in the caller's loop."""

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
        self.session = session  # the one whose offer was compared
        self.changes = changes  # how often the server's lists had changed when the call was made
        self.params = params
        self.wants_progress = wants_progress
        self.log_level = log_level
        self.task: asyncio.Task[None] | None = None
        self.was_cancelled = False
        self.has_expired = False
        self._loop = loop
        self._server = server
        self._seconds = seconds
        self._guard = threading.Lock()
        self._events: deque[Event | Exception] = deque()
        self._waiter: tuple[asyncio.AbstractEventLoop, asyncio.Future[None]] | None = None
        # Used in the sessions' loop only.
        self._reason: str | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._until: float | None = None
        self._asked: dict[int, asyncio.Future[Mapping[str, Any] | None]] = {}
        self._number = 0
        self._is_over = False

    # The caller.

    async def next(self) -> Event:
        """Return the next event."""
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

    def answer(self, question: Asked, result: Mapping[str, Any] | None) -> None:
        """Send the client's answer to the server."""
        self._loop.soon(self._answered, question.number, result)

    def cancel(self) -> None:
        """Cancel the call."""
        self._loop.soon(self._cancelled)

    # The sessions' loop.

    def deliver(self, event: Event | Exception) -> None:
        """Deliver an event to the caller; the last one is `Done` or an exception.

        Progress and log entries are dropped if the caller does not read fast enough.
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
        """Start the call's timeout again."""
        self.stop_clock()
        loop = asyncio.get_running_loop()
        if self._until is None:
            self._until = loop.time() + max(self._seconds, UPSTREAM_LONGEST_SECONDS)
        seconds = min(self._seconds, max(0.0, self._until - loop.time()))
        self._timer = loop.call_later(seconds, self._expired)

    def stop_clock(self) -> None:
        """Stop the call's timeout."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def progressed(self, progress: float, total: float | None, message: str | None) -> None:
        """Deliver the progress of the call, which also restarts its timeout."""
        if not self._asked:
            self.start_clock()
        self.deliver(Progressed(progress, total, message))

    async def ask(self, method: str, params: dict[str, Any]) -> Mapping[str, Any] | None:
        """Return the client's answer to a question of the server; None declines it."""
        if self._number >= UPSTREAM_QUESTIONS:
            return None
        self._number += 1
        number = self._number
        waiting = asyncio.get_running_loop().create_future()
        self._asked[number] = waiting
        self.stop_clock()  # a person may take longer than a server
        self.deliver(Asked(number, method, params))
        try:
            answer: Mapping[str, Any] | None = await waiting
        finally:
            self._asked.pop(number, None)
        if not self._is_over and not self._asked:
            self.start_clock()
        return answer

    def lose(self, reason: str) -> None:
        """End the call, because its session has ended."""
        if self.task is not None and not self.task.done():
            self._reason = self._reason or reason
            self.task.cancel()

    def ending(self) -> UpstreamError:
        """Return the error of a call that was cancelled."""
        return UpstreamError(
            self._server, self._reason or "was given up", is_fault=self._reason is not None
        )

    def over(self) -> None:
        """Stop the timeout, and decline the open questions.

        They are not cancelled, because the waiting tasks belong to the session.
        """
        self._is_over = True
        self.stop_clock()
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_result(None)

    def _expired(self) -> None:
        self.was_cancelled = self.has_expired = True
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
