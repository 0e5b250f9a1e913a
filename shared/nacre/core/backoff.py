"""Pauses that grow with each failure, and differ a little, so that not all end at once."""

from collections.abc import Callable

from nacre.core.limits import UPSTREAM_PAUSE_SPREAD

Chance = Callable[[], float]
"""Returns a number from 0 up to 1, such as Random.random."""


def even() -> float:
    """Return the middle of all chances: pauses without a spread."""
    return 0.5


def pause(failures: int, *, first: float, longest: float, chance: Chance = even) -> float:
    """Return the seconds to wait after so many failures in a row, never more than `longest`."""
    doublings = min(max(failures, 1) - 1, 32)  # more would only overflow
    seconds = min(longest, first * 2.0**doublings)
    return float(min(longest, seconds * (1 + UPSTREAM_PAUSE_SPREAD * (2 * chance() - 1))))
