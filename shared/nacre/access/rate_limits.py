"""Rate limits of sign-ins, registrations and token requests, which a restart does not reset.

Time is divided into windows that start at multiples of their length, alike in every process.
"""

import hashlib

from nacre.core.clock import Clock
from nacre.core.errors import RateLimitedError
from nacre.ports.items.table import EXPIRES_AT, SCHEMA, Change, Key, Table

_SCHEMA_VERSION = 1


class RateLimits:
    """Counts attempts and refuses them above a limit."""

    def __init__(self, table: Table, *, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def take(self, attempts: str, caller: str, *, most: int, seconds: int) -> None:
        """Count one attempt; raises RateLimitedError above `most` attempts in a window.

        `attempts` names them in the plural, for the error message.
        """
        now = int(self._clock().timestamp())
        window = now // seconds
        change = Change(
            set={SCHEMA: _SCHEMA_VERSION, EXPIRES_AT: (window + 2) * seconds}, add={"count": 1}
        )
        count = self._table.update(_key(attempts, caller, window), change)["count"]
        assert isinstance(count, int | float)
        if count > most:
            raise RateLimitedError(attempts, seconds=(window + 1) * seconds - now)

    def forget(self, attempts: str, caller: str, *, seconds: int) -> None:
        """Reset the count, after an attempt that succeeded."""
        window = int(self._clock().timestamp()) // seconds
        self._table.delete(_key(attempts, caller, window))


def _key(attempts: str, caller: str, window: int) -> Key:
    # The caller is hashed, so that no network address is stored.
    mark = hashlib.sha256(f"{attempts}\0{caller}".encode()).hexdigest()[:32]
    return Key(f"RL#{mark}", f"{window}")
