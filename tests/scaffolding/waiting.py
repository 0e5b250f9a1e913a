"""Waiting for something that another thread or process does."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_SECONDS = 60


def until(condition: Callable[[], T], description: object = None) -> T:
    """Return the first true value of a condition, as late as a busy machine may need."""
    end = time.monotonic() + _SECONDS
    while not (value := condition()):
        assert time.monotonic() < end, description
        time.sleep(0.01)
    return value
