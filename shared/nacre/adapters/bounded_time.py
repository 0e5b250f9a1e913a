"""Blocking work with a time limit, such as a name lookup, which has none by itself."""

import threading
from collections.abc import Callable
from typing import TypeVar

from nacre.core.errors import UnavailableError

T = TypeVar("T")


def within(seconds: float, work: Callable[[], T], *, late: str) -> T:
    """Return the result of the work; raises UnavailableError(late) when it takes longer.

    The work runs in a thread that ends by itself.
    """
    results: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the waiting thread
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failures:
        raise failures[0]
    if not results:
        raise UnavailableError(late)
    return results[0]
