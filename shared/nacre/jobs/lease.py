"""A lease: one worker at a time, until it gives back or its time runs out."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, LeaseHeldError, LeaseLostError, NacreError
from nacre.core.limits import CLOCK_TOLERANCE_SECONDS, JOB_SECONDS
from nacre.ports.items.table import (
    SCHEMA,
    Absent,
    Change,
    Check,
    Compare,
    Either,
    Every,
    Item,
    Key,
    Present,
    Table,
)
from nacre.ports.processes import Holders

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

    With `holders` a lease names the process that has it, and one whose process has certainly
    ended is free at once. `wake` gets what a waiter left with `wait`, once the lease is given
    back.
    """

    def __init__(
        self,
        table: Table,
        *,
        now: Clock,
        duration: timedelta = timedelta(seconds=JOB_SECONDS),
        holders: Holders | None = None,
        wake: Callable[[str], None] | None = None,
    ) -> None:
        self._wake = wake
        self._table = table
        self._clock = now
        self._duration = duration
        self._holders = holders

    def take(self, key: Key) -> Lease:
        """Take the lease; raise LeaseHeldError while someone else has it."""
        now = self._now()
        change = self._taking(now)
        # An end so far ahead was set before the clock was set back.
        latest = self._end(now) + CLOCK_TOLERANCE_SECONDS * 1000
        free = Either((Absent("until"), Compare("until", "<=", now), Compare("until", ">", latest)))
        try:
            item = self._table.update(key, change, when=free)
        except ConditionFailedError as error:
            held = self._table.get(key) or {}
            taken = self._left_behind(key, held, change)
            if taken is None:
                raise LeaseHeldError(key.sk, seconds=_left(held, now)) from error
            item = taken
        fence = item["fence"]
        assert isinstance(fence, int)
        return Lease(key, fence)

    def is_held(self, key: Key) -> bool:
        """Whether someone has the lease now, as far as can be told."""
        held = self._table.get(key) or {}
        name = held.get("holder")
        if self._holders is not None and isinstance(name, str) and self._holders.is_gone(name):
            return False
        return _left(held, self._now()) > 0

    def times_taken(self, key: Key) -> int:
        """Return how often the lease was taken so far."""
        fence = (self._table.get(key) or {}).get("fence", 0)
        assert isinstance(fence, int)
        return fence

    def renew(self, lease: Lease) -> None:
        """Hold it for its whole time again; raise LeaseLostError when it is not ours any more."""
        mine = Every((Compare("fence", "=", lease.fence), Present("until")))
        try:
            self._table.update(lease.key, Change(set={"until": self._end(self._now())}), when=mine)
        except ConditionFailedError as error:
            raise LeaseLostError(f"{lease.key.sk} was given back or taken over") from error

    def wait(self, key: Key, waiter: str) -> bool:
        """Have the holder wake a waiter when it gives back; return False if the lease is free.

        The last one who waits is woken. A holder that dies wakes nobody.
        """
        try:
            self._table.update(key, Change(set={"waiter": waiter}), when=Present("until"))
        except ConditionFailedError:
            return False
        return True

    def give_back(self, lease: Lease) -> None:
        """Let others take it and wake who waits; nothing happens when someone else has taken it."""
        with suppress(ConditionFailedError):
            left = self._table.update(
                lease.key,
                Change(remove=frozenset({"until", "holder"})),
                when=Compare("fence", "=", lease.fence),
            )
            self._tell(lease.key, left.get("waiter"))

    def _tell(self, key: Key, waiter: object) -> None:
        if self._wake is None or not isinstance(waiter, str):
            return
        with suppress(NacreError):  # the waiter comes back by itself, only later
            self._wake(waiter)
            same = Compare("waiter", "=", waiter)
            self._table.update(key, Change(remove=frozenset({"waiter"})), when=same)

    def _taking(self, now: int) -> Change:
        says: Item = {SCHEMA: _SCHEMA_VERSION, "until": self._end(now)}
        me = None if self._holders is None else self._holders.me
        if me is None:
            return Change(set=says, add={"fence": 1}, remove=frozenset({"holder"}))
        return Change(set={**says, "holder": me}, add={"fence": 1})

    def _left_behind(self, key: Key, held: Item, change: Change) -> Item | None:
        """Take over from a process that has ended; None where its holder may be alive."""
        name = held.get("holder")
        if self._holders is None or not isinstance(name, str) or not self._holders.is_gone(name):
            return None
        fence = held["fence"]
        assert isinstance(fence, int)
        with suppress(ConditionFailedError):  # another one was faster
            unchanged = Every((Compare("fence", "=", fence), Present("until")))
            return self._table.update(key, change, when=unchanged)
        return None

    def _end(self, now: int) -> int:
        return now + int(self._duration.total_seconds() * 1000)

    def _now(self) -> int:
        return int(self._clock().timestamp() * 1000)


def _left(held: Item, now: int) -> float:
    until = held.get("until", now)
    assert isinstance(until, int)
    return max(0, until - now) / 1000
