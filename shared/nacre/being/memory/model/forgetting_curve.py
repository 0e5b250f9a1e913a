"""The forgetting curve: how well a memory is remembered after a number of active days.

It is a power law as in FSRS, with one parameter for each memory, its stability.
"""

import math

_FACTOR = 19 / 81  # nine tenths are left when as many days as the stability have passed

LONGEST_STABILITY = 3650.0  # ten years of active days
DYING_BELOW = 0.6
DEAD_BELOW = 0.5


def initial_stability(importance: float) -> float:
    """Return the stability of a new memory: 4 active days, or 64 for the most important."""
    return 4.0 * math.exp2(4.0 * importance)


def retention(elapsed: int, stability: float) -> float:
    """Return the retention after this many active days, from 1 down to 0."""
    return 1 / math.sqrt(1 + _FACTOR * max(0, elapsed) / stability) if stability > 0 else 0.0


def refreshed(stability: float, *, elapsed: int, times: int) -> float:
    """Return the stability after some recalls, `elapsed` active days after it was last set.

    A recall adds more when more was forgotten. Many on one day add little more than one.
    """
    gain = 2 * (1 - retention(elapsed, stability)) + 0.05 * min(times, 5)
    return min(LONGEST_STABILITY, stability * (1 + gain))


def clock_below(clock0: int, stability: float, level: float) -> int:
    """Return the first clock at which the retention is below `level`, counted from `clock0`."""
    days = stability * (1 / (level * level) - 1) / _FACTOR
    return clock0 + math.floor(days) + 1
