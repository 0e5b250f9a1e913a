"""Limits, sign-in and approvals while a clock jumps: nobody is let in, and nobody kept out."""

from contextlib import suppress

import pytest

from nacre.access.rate_limits import RateLimits
from nacre.core.errors import RateLimitedError
from nacre.ports.items.table import Table
from tests.adapters.conftest import StillClock
from tests.scaffolding.two_stores import clock, stack, table

__all__ = ["clock", "stack", "table"]

YEAR = 365 * 86_400


@pytest.mark.parametrize("jump", [YEAR, -YEAR, 3600, -3600])
def test_a_lockout_lasts_for_its_window_whatever_the_clock_does(
    table: Table, clock: StillClock, jump: int
) -> None:
    limits = RateLimits(table, clock=clock)
    who = f"ann {jump}"

    def take() -> None:
        limits.take("attempts", who, most=2, seconds=900)

    right = clock.time
    clock.move(jump)
    with suppress(RateLimitedError):
        for _ in range(5):
            take()
    clock.time = right
    take()  # what was counted elsewhere keeps nobody out
    take()
    for _ in range(3):  # and the limit still holds
        with pytest.raises(RateLimitedError) as refused:
            take()
        assert 0 < refused.value.seconds <= 900
    clock.move(900)
    take()
