"""The log levels that legacy clients of a stack chose, as items.

A Lambda execution environment does not last, and the next request may reach another one. Reads
and writes are signed requests, because loading boto3 would delay the call.
"""

import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Protocol

from nacre.core.bounded_cache import BoundedCache
from nacre.core.clock import Clock
from nacre.core.errors import NacreError
from nacre.core.limits import LOG_LEVEL_DAYS, LOG_LEVEL_SECONDS, REMEMBERED_PEERS
from nacre.ports.items.table import EXPIRES_AT, SCHEMA, Item, Key, Put

_SCHEMA_1 = 1
_DAY = 24 * 60 * 60


class Reads(Protocol):
    """Reads one item."""

    def get(self, key: tuple[str, str]) -> Mapping[str, Any] | None:
        """Return the item, or None."""
        ...


class Writes(Protocol):
    """Writes items."""

    def transact(self, writes: list[Put]) -> None:
        """Apply all writes or none."""
        ...


class StoredLogLevels:
    """One small item for each client that chose a level; others see it within seconds."""

    def __init__(
        self,
        reads: Reads,
        writes: Writes,
        clock: Clock,
        *,
        tick: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reads = reads
        self._writes = writes
        self._clock = clock
        self._tick = tick
        self._known: BoundedCache[tuple[str, str], tuple[float, str | None]] = BoundedCache(
            REMEMBERED_PEERS
        )

    def chosen(self, subject: str, client: str) -> str | None:
        """Return the client's level; None if it chose none, or the store does not answer."""
        key = _key(subject, client)
        entry = self._known.get(key)
        if entry is not None and self._tick() - entry[0] < LOG_LEVEL_SECONDS:
            return entry[1]
        try:
            item = self._reads.get(key)
        except NacreError:
            return None  # a call does not fail because of its log level
        level = None if item is None else str(item["level"])
        self._remember(key, level)
        return level

    def choose(self, subject: str, client: str, level: str) -> None:
        """Keep the client's level."""
        key = _key(subject, client)
        expires = int(self._clock().timestamp()) + LOG_LEVEL_DAYS * _DAY
        level_now: Item = {SCHEMA: _SCHEMA_1, "level": level, EXPIRES_AT: expires}
        self._writes.transact([Put({**key.attributes(), **level_now})])
        self._remember(key, level)

    def _remember(self, key: tuple[str, str], level: str | None) -> None:
        self._known[key] = (self._tick(), level)


def _key(subject: str, client: str) -> Key:
    return Key(f"CLIENT#{subject}", f"LOG#{sha256(client.encode()).hexdigest()[:32]}")
