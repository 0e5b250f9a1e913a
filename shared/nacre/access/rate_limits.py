"""Rate limits: counters in the item store, so that a restart does not reset them.

Time is cut into windows that begin at multiples of their length, the same in every process.
"""

import hashlib

from nacre.core.clock import Clock
from nacre.core.errors import RateLimitedError
from nacre.ports.items.table import EXPIRES_AT, SCHEMA, Change, Key, Table

_SCHEMA_VERSION = 1


class RateLimits:
    """Counts attempts and refuses those that are too many."""

    def __init__(self, table: Table, *, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def take(self, what: str, who: str, *, most: int, seconds: int) -> None:
        """Count one attempt; raises RateLimitedError when there were too many.

        `what` names the attempts in the plural, as the message says it.
        """
        now = int(self._clock().timestamp())
        window = now // seconds
        change = Change(
            set={SCHEMA: _SCHEMA_VERSION, EXPIRES_AT: (window + 2) * seconds}, add={"count": 1}
        )
        count = self._table.update(_key(what, who, window), change)["count"]
        assert isinstance(count, int | float)
        if count > most:
            raise RateLimitedError(what, seconds=(window + 1) * seconds - now)

    def forget(self, what: str, who: str, *, seconds: int) -> None:
        """Start anew, after an attempt that succeeded."""
        window = int(self._clock().timestamp()) // seconds
        self._table.delete(_key(what, who, window))


def _key(what: str, who: str, window: int) -> Key:
    # Who it was is hashed: a network address is nobody's business once the window has passed.
    mark = hashlib.sha256(f"{what}\0{who}".encode()).hexdigest()[:32]
    return Key(f"RL#{mark}", f"{window}")
