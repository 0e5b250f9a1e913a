"""Event loops for a user's own tools, apart from the server's.

An async function may block all the same: it reads a large file or calls a library that waits.
In the server's loop it would stop every other call. Here it stops the own tools that it shares
a loop with. A call that has not begun is not bound to a loop: it is offered to more of them, and
the first one that reacts runs it.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from typing import Any, Generic, TypeVar

from nacre.core.limits import OWN_LOOP_IDLE_SECONDS, OWN_LOOP_SECONDS, OWN_LOOPS
from nacre.gateway.catalogue.own_code_errors import OwnCodeError
from nacre.protocol.context import Channel, Context

T = TypeVar("T")


class OwnLoops:
    """Runs coroutines of own tools in a loop that reacts.

    Calls share one loop as long as it begins them within `seconds`. Others come to it, up to
    `most`; what had nothing to do for `idle` seconds ends, except the last.
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
        self._loops: list[_Loop] = []  # the last one that began a call comes first

    async def run(self, work: Callable[[Context], Awaitable[T]], context: Context) -> T:
        """Return what the work returns; its messages to the client go the usual way."""
        home = asyncio.get_running_loop()
        there = replace(context, channel=_FarChannel(context.channel, home))
        job: _Job[T] = _Job(lambda: work(there))
        self._offer(job)
        waiting = asyncio.wrap_future(job.result)
        try:
            while True:
                done, _ = await asyncio.wait({waiting}, timeout=self._seconds)
                if done or job.is_begun:
                    return await waiting
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
        """Let the loop have the next calls: it reacts."""
        with self._guard:
            if self._loops[0] is not loop:
                self._loops.remove(loop)
                self._loops.insert(0, loop)

    def may_end(self, loop: "_Loop") -> bool:
        """Let go of a loop that has nothing to do, unless it is the last."""
        with self._guard:
            if len(self._loops) > 1:
                self._loops.remove(loop)
                return True
            return False

    @property
    def idle(self) -> float:
        """How long a loop may have nothing to do."""
        return self._idle


class _Loop:
    """One loop in a thread of its own."""

    def __init__(self, loops: OwnLoops) -> None:
        self._loops = loops
        self._is_over = False
        self._loop = asyncio.new_event_loop()
        self._ending: asyncio.TimerHandle | None = None
        threading.Thread(target=self._serve, name="own-tools", daemon=True).start()

    def offer(self, job: "_Job[Any]") -> None:
        """Begin the call once the loop reacts, unless another has begun it by then."""
        if self not in job.offered:
            job.offered.add(self)
            self._loop.call_soon_threadsafe(self._start, job)

    def _start(self, job: "_Job[Any]") -> None:
        if self._is_over:
            return  # its caller offers it to another
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
            # A task that a tool began may raise KeyboardInterrupt or SystemExit: the loop goes on.
            with suppress(BaseException):
                self._loop.run_forever()
        self._loop.close()


class _Job(Generic[T]):
    """One call, which one of the loops begins, unless it is cancelled before."""

    def __init__(self, work: Callable[[], Awaitable[T]]) -> None:
        self.result: Future[T] = Future()
        self.is_begun = False
        self.offered: set[_Loop] = set()
        self._work = work
        self._guard = threading.Lock()
        self._is_cancelled = False
        self._task: asyncio.Task[Any] | None = None

    def cancel(self) -> None:
        """Stop it where it awaits something; do not begin it any more."""
        with self._guard:
            self._is_cancelled = True
        if self._task is not None:
            with suppress(RuntimeError):  # the loop has ended, and the call with it
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)

    async def run(self, began: Callable[[], None]) -> None:
        """Do the work, if this is the first loop that gets to it."""
        with self._guard:  # here, not where the task is made: it may wait behind one that blocks
            if self.is_begun or self._is_cancelled:
                return
            self.is_begun = True
            self._task = asyncio.current_task()
        began()
        try:
            outcome = await self._work()
        except Exception as error:  # noqa: BLE001 - whoever waits for the call gets it
            self._settle(self.result.set_exception, error)
        except BaseException as error:  # noqa: BLE001 - no exit or interrupt leaves the call
            if isinstance(error, asyncio.CancelledError) and self._is_cancelled:
                self.result.cancel()
            else:
                self._settle(self.result.set_exception, OwnCodeError(error))
        else:
            self._settle(self.result.set_result, outcome)

    def _settle(self, settle: Callable[[Any], None], outcome: Any) -> None:
        if not self.result.cancelled():
            settle(outcome)


class _FarChannel:
    """The way back to the client, for a handler that runs in another loop."""

    def __init__(self, channel: Channel, home: asyncio.AbstractEventLoop) -> None:
        self._channel = channel
        self._home = home

    @property
    def can_ask(self) -> bool:
        return self._channel.can_ask

    @property
    def cancelled(self) -> bool:
        return self._channel.cancelled

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._home.call_soon_threadsafe(self._channel.notify, method, params)

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        asking: Coroutine[Any, Any, dict[str, Any]] = self._channel.ask(method, params)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asking, self._home))
