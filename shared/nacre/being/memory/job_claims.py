"""Claims: which Beings have a job of a kind in the queue, so that none is sent twice."""

from contextlib import suppress
from datetime import timedelta

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import moment
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, UnavailableError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import (
    CLOCK_TOLERANCE_SECONDS,
    JOB_AGAIN_SECONDS,
    JOB_LOST_SECONDS,
    QUEUE_BUSY,
)
from nacre.ports.items.table import (
    Absent,
    Change,
    Compare,
    Condition,
    Either,
    Every,
    Item,
    Present,
    Table,
)
from nacre.ports.queue import Queue


@dataclass(frozen=True, slots=True)
class JobClaims:
    """Claims of one kind of job, each a time in the Being's item.

    A claim ends with its job. A claim older than `lost_seconds` belongs to a lost job.
    """

    table: Table
    clock: Clock
    name: str  # of the attribute

    def take(
        self, being_id: str, *conditions: Condition, lost_seconds: float = JOB_LOST_SECONDS
    ) -> bool:
        """Claim the job of a Being; return False if it is claimed, or if a condition fails."""
        too_old = Compare(self.name, "<", self._lost_before(lost_seconds))
        in_future = Compare(self.name, ">", self._latest())
        free = Either((Absent(self.name), too_old, in_future))
        change = Change(set={self.name: moment(self.clock())})
        # On AWS the lists of a sweep lag behind and may name an erased Being.
        when = Every((Present(), free, *conditions))
        try:
            self.table.update(keys.meta(being_id), change, when=when)
        except ConditionFailedError:
            return False
        return True

    def is_taken(self, item: Item, *, lost_seconds: float = JOB_LOST_SECONDS) -> bool:
        """Return whether the item of a Being has a claim."""
        claimed_at = item.get(self.name)
        return (
            isinstance(claimed_at, str)
            and self._lost_before(lost_seconds) <= claimed_at <= self._latest()
        )

    def release(self, being_id: str) -> None:
        """End a claim."""
        with suppress(ConditionFailedError):  # the Being is gone
            change = Change(remove=frozenset({self.name}))
            self.table.update(keys.meta(being_id), change, when=Present())

    def _lost_before(self, lost_seconds: float) -> str:
        return moment(self.clock() - timedelta(seconds=lost_seconds))

    def _latest(self) -> str:
        """Return the latest possible time; later ones are from a clock that was set back."""
        return moment(self.clock() + timedelta(seconds=CLOCK_TOLERANCE_SECONDS))


@dataclass(slots=True)
class ClaimAge:
    """The age from which a sweep treats the job of a claim as lost.

    While the queue is busy, an old job probably waits in it.
    """

    queue: Queue
    _looks: int = 0
    _lost_seconds: float = JOB_LOST_SECONDS

    def lost_seconds(self) -> float:
        """Return the age in seconds; the queue is asked now and then."""
        if self._looks % QUEUE_BUSY == 0:
            self._lost_seconds = JOB_LOST_SECONDS
            with suppress(UnavailableError):
                if self.queue.waiting() <= QUEUE_BUSY:
                    self._lost_seconds = JOB_AGAIN_SECONDS
        self._looks += 1
        return self._lost_seconds


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The result of a sweep: Beings with work, jobs sent, and how long the oldest job waits."""

    beings: int
    sent: int
    lag_seconds: float
    last: str | None = None  # the last Being if the sweep stopped before the end

    def __add__(self, more: "SweepResult") -> "SweepResult":
        return SweepResult(
            self.beings + more.beings,
            self.sent + more.sent,
            max(self.lag_seconds, more.lag_seconds),
        )
