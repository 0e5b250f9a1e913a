"""A lease: one worker at a time, until it gives back or its time runs out."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from nacre.clock import Clock
from nacre.errors import ConditionFailedError, LeaseHeldError, LeaseLostError
from nacre.limits import CLOCK_TOLERANCE_SECONDS, JOB_SECONDS
from nacre.ports.table import (
    SCHEMA,
    Absent,
    Change,
    Check,
    Compare,
    Either,
    Every,
    Key,
    Present,
    Table,
)

_SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease that was taken; `fence` is larger than that of every earlier holder."""

    key: Key
    fence: int

    def still_held(self) -> Check:
        """Return what makes a transaction fail once someone else has taken over."""
        return Check(self.key, Compare("fence", "=", self.fence))


class Leases:
    """Leases as items of a table, good across processes and machines.

    Clocks may differ and be set: a holder that was too slow meets the fence of its successor,
    and one that died before a clock was set back blocks nobody for longer than a lease lasts. The
    items have no `expires_at`, because a fence must never begin anew.
    """

    def __init__(
        self, table: Table, *, now: Clock, duration: timedelta = timedelta(seconds=JOB_SECONDS)
    ) -> None:
        self._table = table
        self._clock = now
        self._duration = duration

    def take(self, key: Key) -> Lease:
        """Take the lease; raise LeaseHeldError while someone else has it."""
        now = self._now()
        change = Change(set={SCHEMA: _SCHEMA_VERSION, "until": self._end(now)}, add={"fence": 1})
        # An end so far ahead was set before the clock was set back.
        latest = self._end(now) + CLOCK_TOLERANCE_SECONDS * 1000
        free = Either((Absent("until"), Compare("until", "<=", now), Compare("until", ">", latest)))
        try:
            item = self._table.update(key, change, when=free)
        except ConditionFailedError as error:
            raise LeaseHeldError(key.sk, seconds=self._left(key, now)) from error
        fence = item["fence"]
        assert isinstance(fence, int)
        return Lease(key, fence)

    def renew(self, lease: Lease) -> None:
        """Hold it for its whole time again; raise LeaseLostError when it is not ours any more."""
        mine = Every((Compare("fence", "=", lease.fence), Present("until")))
        try:
            self._table.update(lease.key, Change(set={"until": self._end(self._now())}), when=mine)
        except ConditionFailedError as error:
            raise LeaseLostError(f"{lease.key.sk} was given back or taken over") from error

    def give_back(self, lease: Lease) -> None:
        """Let others take it; nothing happens when someone else already has."""
        with suppress(ConditionFailedError):
            self._table.update(
                lease.key,
                Change(remove=frozenset({"until"})),
                when=Compare("fence", "=", lease.fence),
            )

    def _left(self, key: Key, now: int) -> float:
        item = self._table.get(key)
        until = now if item is None else item.get("until", now)
        assert isinstance(until, int)
        return max(0, until - now) / 1000

    def _end(self, now: int) -> int:
        return now + int(self._duration.total_seconds() * 1000)

    def _now(self) -> int:
        return int(self._clock().timestamp() * 1000)
