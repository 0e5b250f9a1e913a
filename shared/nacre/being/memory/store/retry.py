"""Retrying a step that reads, decides and writes on condition, when another writer was faster."""

from collections.abc import Callable
from typing import TypeVar

from nacre.core.errors import ConditionFailedError, ConflictError

T = TypeVar("T")

_ROUNDS = 100  # enough for eight writers of one entry, but for one time in a million


def retry_on_conflict(step: Callable[[], T]) -> T:
    """Return the result of the step, which is repeated when a condition of its write fails.

    Raises ConflictError when it fails each time.
    """
    for _ in range(_ROUNDS):
        try:
            return step()
        except ConditionFailedError:
            continue
    raise ConflictError("others keep changing this; nothing was written, try again")
