"""Who may come in: owners, sessions and clients over the tables of a place."""

from collections.abc import Callable
from functools import cache
from random import Random
from typing import TYPE_CHECKING

from nacre.clock import Clock
from nacre.ports.table import Table

if TYPE_CHECKING:
    from nacre.access.authority import Authority


def cached_authority(
    tokens: Table, data: Table, *, clock: Clock, rng: Random
) -> "Callable[[], Authority]":
    """Return the authority over two tables; few commands need it, so it loads on first use."""

    @cache
    def opened() -> "Authority":
        from nacre.access.authority import authority

        return authority(tokens, data, clock=clock, rng=rng)

    return opened
