"""Steps that read, decide and write on condition: repeated while others are faster."""

from collections.abc import Callable
from typing import TypeVar

from nacre.core.errors import ConditionFailedError, ConflictError

T = TypeVar("T")

_ROUNDS = 100  # of eight writers at one entry each gets there, but for one time in a million


def settled(step: Callable[[], T]) -> T:
    """Return what the step returns; it starts anew when a condition of its write failed.

    Raises ConflictError when that never ends.
    """
    for _ in range(_ROUNDS):
        try:
            return step()
        except ConditionFailedError:
            continue
    raise ConflictError("others keep changing this; nothing was written, try again")
