"""Blocking work in a thread that nobody has to wait for."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def in_daemon_thread(work: Callable[[], T]) -> "Future[T]":
    """Start the work in a daemon thread, and return the future of its result.

    When an event loop ends, it waits for the threads of its pool. One slow endpoint would
    then keep an order open that its client has cancelled.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - the waiting caller gets it
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name="order", daemon=True).start()
    return future
