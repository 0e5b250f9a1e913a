"""Waiting for something while the client may give up, time may run out, or it wants to hear."""

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
_LOOK_SECONDS = 0.1  # how often it is asked whether anybody still waits


class GivenUpError(ToolError):
    """The client has given the order up."""

    def __init__(self) -> None:
        super().__init__("the order was cancelled")


class OutOfTimeError(ToolError):
    """The order has taken as long as it may."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"the order took longer than {seconds:g} s, which is as long as this server works on"
            " one; ask for less at once, or send it as a task if your client can"
        )


class Patience:
    """How long one order may take, and who waits for it.

    `kept_up` is called now and then meanwhile, for what has to be renewed.
    """

    def __init__(
        self,
        context: Context,
        seconds: float,
        *,
        kept_up: Callable[[], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._context = context
        self._seconds = seconds
        self._kept_up = kept_up
        self._monotonic = monotonic
        self._end = monotonic() + seconds
        self._next_sign = monotonic() + ORDER_HEARTBEAT_SECONDS
        self._signs = 0
        self._doing = "begun"

    def left(self) -> float:
        """Return how many seconds are left, after looking whether anybody still waits."""
        if self._context.cancelled:
            raise GivenUpError
        left = self._end - self._monotonic()
        if left <= 0:
            raise OutOfTimeError(self._seconds)
        return left

    def tell(self, doing: str) -> None:
        """Tell the client what is done now."""
        self._doing = doing
        self._sign()

    async def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what the work returns; it is stopped when nobody waits or time is over."""
        task = asyncio.ensure_future(work)
        try:
            while True:
                done, _ = await asyncio.wait({task}, timeout=min(_LOOK_SECONDS, self.left()))
                if done:
                    return task.result()
                self._look_after()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=_LOOK_SECONDS)

    def hold(self, future: "Future[T]") -> T:
        """Return what comes of the future; this thread is blocked until then."""
        while True:
            done, _ = wait_for_any({future}, timeout=min(_LOOK_SECONDS, self.left()))
            if done:
                return future.result()
            self._look_after()

    async def until(self, attempt: Callable[[], T | None]) -> T:
        """Return what an attempt returns once it is not None."""
        while True:
            self.left()
            found = attempt()
            if found is not None:
                return found
            await asyncio.sleep(_LOOK_SECONDS)
            self._look_after()

    def _look_after(self) -> None:
        if self._monotonic() >= self._next_sign:
            self._kept_up()
            self._sign()

    def _sign(self) -> None:
        self._signs += 1
        self._next_sign = self._monotonic() + ORDER_HEARTBEAT_SECONDS
        self._context.progress(self._signs, message=self._doing)
