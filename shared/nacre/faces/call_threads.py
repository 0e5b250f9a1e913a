"""Threads for blocking calls; the end of the server does not wait for them.

The standard pool's threads are joined when the interpreter ends, so that one call that hangs
would keep a server from ever ending.
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class CallThreads(Executor):
    """Runs calls in at most so many threads, each started when no other one is idle."""

    def __init__(self, most: int) -> None:
        self._may_start = most
        self._idle = 0
        self._calls: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._changed = threading.Condition()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run the function in a thread; it waits while all threads are busy."""
        future: Future[T] = Future()
        with self._changed:
            self._calls.append((future, partial(fn, *args, **kwargs)))
            if self._idle < len(self._calls) and self._may_start:
                self._may_start -= 1
                threading.Thread(target=self._serve, name="call", daemon=True).start()
            self._changed.notify()
        return future

    def _serve(self) -> None:
        while True:
            _finish(*self._next())

    def _next(self) -> tuple[Future[Any], Callable[[], Any]]:
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._calls)
            self._idle -= 1
            return self._calls.popleft()


def _finish(future: Future[T], call: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - raised in the thread that waits for the call
        future.set_exception(error)
    else:
        future.set_result(result)
