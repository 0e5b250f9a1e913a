"""A lease: held by one worker at a time, until it is given back or expires."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, LeaseHeldError, LeaseLostError, NacreError
from nacre.core.lazy_dataclasses import dataclass
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
_MAX_WAITERS = 10  # a Being has fewer messages in flight
_ATTEMPTS = 3
_RENEWALS = 15  # in the duration of a lease at most: one a minute for a job


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease that is held; `fence` is larger than that of every earlier holder."""

    key: Key
    fence: int

    def still_held(self) -> Check:
        """Return the check that makes a transaction fail once someone else has taken over."""
        return Check(self.key, Compare("fence", "=", self.fence))


class Leases:
    """Leases as items of a table, shared by processes and machines.

    Clocks may differ and may be changed. The fence of its successor stops a holder that was too
    slow, and a holder that died before a clock was set back blocks others no longer than a lease
    lasts. The items have no `expires_at`, because fences must never restart at 0.

    With `holders`, a lease names the process that holds it, and is free at once if that process
    has certainly ended. When a lease is given back, `wake` is called with the first of the
    waiters that were stored by `wait`.
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
        change = self._take_change(now)
        # A lease that ends later than this was taken before the clock was set back.
        latest = self._end(now) + CLOCK_TOLERANCE_SECONDS * 1000
        free = Either((Absent("until"), Compare("until", "<=", now), Compare("until", ">", latest)))
        try:
            item = self._table.update(key, change, when=free)
        except ConditionFailedError as error:
            holder_item = self._table.get(key) or {}
            taken_over = self._take_over(key, holder_item, change)
            if taken_over is None:
                raise LeaseHeldError(key.sk, seconds=_left(holder_item, now)) from error
            item = taken_over
        fence = item["fence"]
        assert isinstance(fence, int)
        return Lease(key, fence)

    def is_held(self, key: Key) -> bool:
        """Tell whether someone seems to hold the lease now."""
        item = self._table.get(key) or {}
        name = item.get("holder")
        if self._holders is not None and isinstance(name, str) and self._holders.is_gone(name):
            return False
        return _left(item, self._now()) > 0

    def times_taken(self, key: Key) -> int:
        """Return how often the lease was taken so far."""
        fence = (self._table.get(key) or {}).get("fence", 0)
        assert isinstance(fence, int)
        return fence

    def renew(self, lease: Lease) -> None:
        """Extend the lease to its full duration; raise LeaseLostError if it is not held."""
        is_held = Every((Compare("fence", "=", lease.fence), Present("until")))
        try:
            self._table.update(
                lease.key, Change(set={"until": self._end(self._now())}), when=is_held
            )
        except ConditionFailedError as error:
            raise LeaseLostError(f"{lease.key.sk} was given back or taken over") from error

    def renewals(self, lease: Lease) -> Callable[[], None]:
        """Return a function that renews a lease that was just taken, for a worker to call often.

        It writes only after a part of the duration. A worker that was stopped until another had
        taken over still learns so at its next call, because that takes the whole duration.
        """
        quiet = self._duration.total_seconds() * 1000 / _RENEWALS
        renewed = self._now()

        def renew() -> None:
            nonlocal renewed
            now = self._now()
            if not 0 <= now - renewed < quiet:
                self.renew(lease)
                renewed = now

        return renew

    def wait(self, key: Key, waiter: str) -> bool:
        """Wake a waiter when its turn comes; return False if it should look again now.

        Each holder that gives the lease back wakes the waiter that came first. A holder that dies
        wakes nobody.
        """
        for _ in range(_ATTEMPTS):
            item = self._table.get(key) or {}
            if "until" not in item:
                return False
            waiters = [*_waiters(item), waiter][-_MAX_WAITERS:]
            with suppress(ConditionFailedError):  # another waiter came, or the lease is free
                self._table.update(
                    key,
                    Change(set={"waiter": "\n".join(waiters)}),
                    when=Every((Present("until"), _is_unchanged(item))),
                )
                return True
        return False

    def give_back(self, lease: Lease) -> None:
        """Free the lease and wake its next waiter; do nothing if someone else has taken it."""
        with suppress(ConditionFailedError):
            item = self._table.update(
                lease.key,
                Change(remove=frozenset({"until", "holder"})),
                when=Compare("fence", "=", lease.fence),
            )
            self._tell(lease.key, item)

    def _tell(self, key: Key, item: Item) -> None:
        waiters = _waiters(item)
        if self._wake is None or not waiters:
            return
        is_woken = False
        while waiters and not is_woken:
            with suppress(NacreError):  # a message that has come back already
                self._wake(waiters.pop(0))
                is_woken = True
        change = (
            Change(set={"waiter": "\n".join(waiters)})
            if waiters
            else Change(remove=frozenset({"waiter"}))
        )
        with suppress(NacreError):  # the others will look again by themselves, only later
            self._table.update(key, change, when=_is_unchanged(item))

    def _take_change(self, now: int) -> Change:
        fields: Item = {SCHEMA: _SCHEMA_VERSION, "until": self._end(now)}
        me = None if self._holders is None else self._holders.me
        if me is None:
            return Change(set=fields, add={"fence": 1}, remove=frozenset({"holder"}))
        return Change(set={**fields, "holder": me}, add={"fence": 1})

    def _take_over(self, key: Key, item: Item, change: Change) -> Item | None:
        """Take over from a process that has ended; return None if the holder may be alive."""
        name = item.get("holder")
        if self._holders is None or not isinstance(name, str) or not self._holders.is_gone(name):
            return None
        fence = item["fence"]
        assert isinstance(fence, int)
        with suppress(ConditionFailedError):  # another process was faster
            unchanged = Every((Compare("fence", "=", fence), Present("until")))
            return self._table.update(key, change, when=unchanged)
        return None

    def _end(self, now: int) -> int:
        return now + int(self._duration.total_seconds() * 1000)

    def _now(self) -> int:
        return int(self._clock().timestamp() * 1000)


def _left(item: Item, now: int) -> float:
    until = item.get("until", now)
    assert isinstance(until, int)
    return max(0, until - now) / 1000


def _waiters(item: Item) -> list[str]:
    """Return the waiters of a lease, the first to wake first."""
    waiters = item.get("waiter")
    return waiters.split("\n") if isinstance(waiters, str) else []


def _is_unchanged(item: Item) -> Absent | Compare:
    """Return the condition that no waiter has come or gone."""
    waiters = item.get("waiter")
    return Compare("waiter", "=", waiters) if isinstance(waiters, str) else Absent("waiter")
