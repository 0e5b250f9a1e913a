"""Threads that nobody waits for: work that blocks is left behind when it is given up."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def begun(work: Callable[[], T]) -> "Future[T]":
    """Begin the work in a thread, and return what will come of it.

    The end of an event loop waits for the threads of its own pool, so that one slow endpoint
    would keep an order that its client has given up.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            found = work()
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            future.set_exception(error)
        else:
            future.set_result(found)

    threading.Thread(target=run, name="order", daemon=True).start()
    return future
