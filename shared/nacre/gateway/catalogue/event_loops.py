"""Event loops for a user's own tools, separate from the server's loop.

An async function may block: it reads a large file or calls a library that waits. In the server's
loop it would stop every other call; here it stops only the tools that share its loop. A call that
has not begun is offered to several loops, and the first one that is free runs it.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Generic, TypeVar

from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import OWN_LOOP_IDLE_SECONDS, OWN_LOOP_SECONDS, OWN_LOOPS
from nacre.gateway.catalogue.own_code_errors import OwnCodeError
from nacre.protocol.context import Context, LoopChannel

T = TypeVar("T")


class OwnLoops:
    """Runs coroutines of a user's tools in a loop that does not block.

    Calls share one loop as long as it begins them within `seconds`. If it does not, more loops are
    started, up to `most`. A loop without work for `idle` seconds ends, except the last.
    """

    def __init__(
        self,
        *,
        seconds: float = OWN_LOOP_SECONDS,
        most: int = OWN_LOOPS,
        idle: float = OWN_LOOP_IDLE_SECONDS,
    ) -> None:
        self._seconds = seconds
        self._most = most
        self._idle = idle
        self._guard = threading.Lock()
        self._loops: list[_Loop] = []  # the one that began the latest call is first

    async def run(self, work: Callable[[Context], Awaitable[T]], context: Context) -> T:
        """Return the result of the work; its messages reach the client through its channel."""
        channel = LoopChannel(context.channel, asyncio.get_running_loop())
        own_context = replace(context, channel=channel)
        job: _Job[T] = _Job(lambda: work(own_context))
        self._offer(job)
        result = asyncio.wrap_future(job.result)
        try:
            while True:
                await asyncio.wait({result}, timeout=self._seconds)
                if result.done() or job.is_begun:
                    return await result
                self._offer_further(job)
        except asyncio.CancelledError:
            job.cancel()
            raise

    def _offer(self, job: "_Job[Any]") -> None:
        with self._guard:
            if not self._loops:
                self._loops.append(_Loop(self))
            self._loops[0].offer(job)

    def _offer_further(self, job: "_Job[Any]") -> None:
        """Offer a call that has not begun to all loops, and to a new one."""
        with self._guard:
            if len(self._loops) < self._most:
                self._loops.append(_Loop(self))
            for loop in self._loops:
                loop.offer(job)

    def began(self, loop: "_Loop") -> None:
        """Give the next calls to this loop, because it does not block."""
        with self._guard:
            if self._loops[0] is not loop:
                self._loops.remove(loop)
                self._loops.insert(0, loop)

    def may_end(self, loop: "_Loop") -> bool:
        """Remove a loop without work; return False if it is the last."""
        with self._guard:
            if len(self._loops) > 1:
                self._loops.remove(loop)
                return True
            return False

    @property
    def idle(self) -> float:
        """The seconds that a loop may be without work."""
        return self._idle


class _Loop:
    """One loop, in a separate thread."""

    def __init__(self, loops: OwnLoops) -> None:
        self._loops = loops
        self._is_over = False
        self._loop = asyncio.new_event_loop()
        self._ending: asyncio.TimerHandle | None = None
        threading.Thread(target=self._serve, name="own-tools", daemon=True).start()

    def offer(self, job: "_Job[Any]") -> None:
        """Begin the call once the loop is free, unless another has begun it by then."""
        if self not in job.offered:
            job.offered.add(self)
            self._loop.call_soon_threadsafe(self._start, job)

    def _start(self, job: "_Job[Any]") -> None:
        if self._is_over:
            return  # the caller offers it to another loop
        task = self._loop.create_task(job.run(lambda: self._loops.began(self)))
        task.add_done_callback(lambda _: self._rest())

    def _rest(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
        self._ending = self._loop.call_later(self._loops.idle, self._end)

    def _end(self) -> None:
        if not asyncio.all_tasks(self._loop) and self._loops.may_end(self):
            self._is_over = True
            self._loop.stop()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        while not self._is_over:
            # The loop survives a KeyboardInterrupt or SystemExit of a task that a tool started.
            with suppress(BaseException):
                self._loop.run_forever()
        self._loop.close()


class _Job(Generic[T]):
    """One call, which one of the loops begins unless it is cancelled first."""

    def __init__(self, work: Callable[[], Awaitable[T]]) -> None:
        self.result: Future[T] = Future()
        self.is_begun = False
        self.offered: set[_Loop] = set()
        self._work = work
        self._guard = threading.Lock()
        self._is_cancelled = False
        self._task: asyncio.Task[Any] | None = None

    def cancel(self) -> None:
        """Cancel the call at its next await, or keep it from beginning."""
        with self._guard:
            self._is_cancelled = True
        if self._task is not None:
            with suppress(RuntimeError):  # the loop has ended, and the call with it
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)

    async def run(self, began: Callable[[], None]) -> None:
        """Do the work, if this is the first loop to begin it."""
        with self._guard:  # not where the task is made: it may wait behind one that blocks
            if self.is_begun or self._is_cancelled:
                return
            self.is_begun = True
            self._task = asyncio.current_task()
        began()
        try:
            outcome = await self._work()
        except Exception as error:  # noqa: BLE001 - raised in the caller
            self._settle(self.result.set_exception, error)
        except BaseException as error:  # noqa: BLE001 - no exit or interrupt ends the loop
            if isinstance(error, asyncio.CancelledError) and self._is_cancelled:
                self.result.cancel()
            else:
                self._settle(self.result.set_exception, OwnCodeError(error))
        else:
            self._settle(self.result.set_result, outcome)

    def _settle(self, settle: Callable[[Any], None], outcome: Any) -> None:
        if not self.result.cancelled():
            settle(outcome)
