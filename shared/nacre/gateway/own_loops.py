"""Event loops for a user's own tools, apart from the server's.

An async function may block all the same: it reads a large file or calls a library that waits.
In the server's loop it would stop every other call. Here it stops the own tools that run in the
same loop, and new calls get another loop once this one does not react.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Generic, TypeVar

from nacre.limits import OWN_LOOP_SECONDS, OWN_LOOPS
from nacre.protocol.context import Channel, Context

T = TypeVar("T")


class OwnLoops:
    """Runs coroutines of own tools in a loop that reacts."""

    def __init__(self, *, seconds: float = OWN_LOOP_SECONDS, most: int = OWN_LOOPS) -> None:
        self._seconds = seconds
        self._most = most
        self._guard = threading.Lock()
        self._loops: list[_Loop] = []  # the last one takes new calls

    async def run(self, work: Callable[[Context], Awaitable[T]], context: Context) -> T:
        """Return what the work returns; its messages to the client go the usual way."""
        home = asyncio.get_running_loop()
        there = replace(context, channel=_FarChannel(context.channel, home))
        while True:
            loop = self._newest()
            job: _Job[T] = _Job(lambda: work(there))
            loop.begin(job)
            waiting = asyncio.wrap_future(job.result)
            try:
                done, _ = await asyncio.wait({waiting}, timeout=self._seconds)
                if done or not (self._may_replace(loop) and job.withdraw()):
                    return await waiting
            except asyncio.CancelledError:
                job.cancel()
                raise
            waiting.cancel()
            loop.retire()

    def _newest(self) -> "_Loop":
        with self._guard:
            self._loops = [loop for loop in self._loops if loop.is_alive()]
            if not self._loops or self._loops[-1].is_retired:
                self._loops.append(_Loop())
            return self._loops[-1]

    def _may_replace(self, loop: "_Loop") -> bool:
        with self._guard:
            return len(self._loops) < self._most or loop is not self._loops[-1]


class _Loop:
    """One loop in a thread of its own, which ends once it is retired and has nothing to do."""

    def __init__(self) -> None:
        self.is_retired = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="own-tools", daemon=True)
        self._thread.start()

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def retire(self) -> None:
        """Take no more calls, and end after those that run."""
        self.is_retired = True
        self._loop.call_soon_threadsafe(self._ended)

    def begin(self, job: "_Job[Any]") -> None:
        self._loop.call_soon_threadsafe(self._start, job)

    def _start(self, job: "_Job[Any]") -> None:
        job.start(self._loop).add_done_callback(lambda _: self._ended())

    def _ended(self) -> None:
        if self.is_retired and not asyncio.all_tasks(self._loop):
            self._loop.stop()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()


class _Job(Generic[T]):
    """One call, which is withdrawn or started, whichever comes first."""

    def __init__(self, work: Callable[[], Awaitable[T]]) -> None:
        self.result: Future[T] = Future()
        self._work = work
        self._guard = threading.Lock()
        self._is_begun = self._is_withdrawn = False
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> "asyncio.Task[None]":
        self._loop = loop
        self._task = loop.create_task(self._run())
        return self._task

    def withdraw(self) -> bool:
        """Take it back; False when it has begun."""
        with self._guard:
            self._is_withdrawn = not self._is_begun
            return self._is_withdrawn

    def cancel(self) -> None:
        """Stop it where it awaits something."""
        if not self.withdraw() and self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        with self._guard:
            if self._is_withdrawn:
                return
            self._is_begun = True  # a task that was only made may be behind one that blocks
        try:
            outcome = await self._work()
        except BaseException as error:  # noqa: BLE001 - whoever waits for the call gets it
            if isinstance(error, asyncio.CancelledError):
                self.result.cancel()
            elif not self.result.cancelled():
                self.result.set_exception(error)
        else:
            if not self.result.cancelled():
                self.result.set_result(outcome)


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
