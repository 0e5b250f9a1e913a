"""Waiting within the time of an order, with cancellation and progress."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_any
from typing import Any, TypeVar

from nacre.core.errors import ToolError
from nacre.core.limits import ORDER_HEARTBEAT_SECONDS
from nacre.protocol.context import Context

T = TypeVar("T")
_POLL_SECONDS = 0.1  # how often cancellation and the deadline are checked


class OrderCancelledError(ToolError):
    """The client has cancelled the order."""

    def __init__(self) -> None:
        super().__init__("the order was cancelled")


class OrderTimeoutError(ToolError):
    """The order has taken as long as it may."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"the order took longer than the {seconds:g} s that this server allows; ask for less"
            " at once, or send it as a task if your client can"
        )


class OrderDeadline:
    """The time limit of one order, its heartbeat, and the client that may cancel it.

    `renew` is called with each heartbeat, for leases that must not expire meanwhile.
    """

    def __init__(
        self,
        context: Context,
        seconds: float,
        *,
        renew: Callable[[], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._context = context
        self._seconds = seconds
        self._renew = renew
        self._monotonic = monotonic
        self._end = monotonic() + seconds
        self._next_heartbeat = monotonic() + ORDER_HEARTBEAT_SECONDS
        self._reports = 0
        self._activity = "begun"

    def seconds_left(self) -> float:
        """Return the remaining seconds.

        Raises OrderCancelledError when the client has cancelled the order, and OrderTimeoutError
        when no time is left.
        """
        if self._context.cancelled:
            raise OrderCancelledError
        seconds = self._end - self._monotonic()
        if seconds <= 0:
            raise OrderTimeoutError(self._seconds)
        return seconds

    def report(self, activity: str) -> None:
        """Tell the client the current activity of the order."""
        self._activity = activity
        self._send_progress()

    async def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of the work, which is stopped on cancellation and on timeout."""
        task = asyncio.ensure_future(work)
        try:
            while True:
                finished, _ = await asyncio.wait({task}, timeout=self._poll_seconds())
                if finished:
                    return task.result()
                self._beat()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=_POLL_SECONDS)

    def block(self, future: "Future[T]") -> T:
        """Return the result of the future; this thread is blocked until then."""
        while True:
            finished, _ = wait_for_any({future}, timeout=self._poll_seconds())
            if finished:
                return future.result()
            self._beat()

    async def retry(self, attempt: Callable[[], T | None]) -> T:
        """Repeat an attempt until it returns something else than None, and return that."""
        while True:
            self.seconds_left()
            result = attempt()
            if result is not None:
                return result
            await asyncio.sleep(_POLL_SECONDS)
            self._beat()

    def _poll_seconds(self) -> float:
        return min(_POLL_SECONDS, self.seconds_left())

    def _beat(self) -> None:
        if self._monotonic() >= self._next_heartbeat:
            self._renew()
            self._send_progress()

    def _send_progress(self) -> None:
        self._reports += 1
        self._next_heartbeat = self._monotonic() + ORDER_HEARTBEAT_SECONDS
        self._context.progress(self._reports, message=self._activity)
