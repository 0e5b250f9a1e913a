"""Starting patrols: at ten waiting scenes, every hour if there is work, or on request."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Literal

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import (
    PENDING_MESSAGES,
    PENDING_SCENES,
    QUEUED_AT,
    count_in,
    counters,
)
from nacre.being.memory.model.types import moment
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, UnavailableError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import CLOCK_TOLERANCE_SECONDS, PATROL_AGAIN_SECONDS, PATROL_AT
from nacre.jobs.job import Job, encode_job
from nacre.ports.items.paging import every_item
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

KIND = "patrol"
_PAGE = 100  # Beings of one shard in one read

PatrolState = Literal["not due", "queued", "queued before", "not queued"]


@dataclass(frozen=True, slots=True)
class TriggerResult:
    """The number of scenes that wait, None if it is unknown, and the state of their patrol."""

    scenes: int | None
    patrol: PatrolState


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The result of a sweep: Beings with work, jobs sent, and how long the oldest job waits."""

    beings: int
    sent: int
    lag_seconds: float


class PatrolTrigger:
    """Sends the jobs of patrols, one for all scenes that wait."""

    def __init__(self, table: Table, queue: Queue, *, clock: Clock) -> None:
        self._table = table
        self._queue = queue
        self._clock = clock

    def after_scenes(self, being_id: str) -> TriggerResult:
        """Send the job of a patrol if enough scenes wait and none has been sent.

        When several writers see the tenth scene, one of them sends it. If the store or the queue
        cannot answer, the next scene tries again, because the scenes themselves are stored.
        """
        try:
            return self._after_scenes(being_id)
        except UnavailableError:
            return TriggerResult(None, "not queued")

    def _after_scenes(self, being_id: str) -> TriggerResult:
        item = counters(self._table, being_id)
        waiting = count_in(item, PENDING_SCENES)
        if waiting < PATROL_AT:
            return TriggerResult(waiting, "not due")
        if self._is_queued(item) or not self._claim(being_id, least=PATROL_AT):
            return TriggerResult(waiting, "queued before")
        return TriggerResult(
            waiting, "queued" if self._try_send(being_id, "auto") else "not queued"
        )

    def sweep(self) -> SweepResult:
        """Send the job of a patrol for every Being that has work and no job.

        It reads only the list of Beings with work.
        """
        beings, sent, now = 0, 0, self._clock()
        oldest = now
        for item in self._beings_with_work():
            beings += 1
            queued_at = item.get(QUEUED_AT)
            if isinstance(queued_at, str):
                oldest = min(oldest, datetime.fromisoformat(queued_at))
            if self._is_queued(item):
                continue
            being_id = str(item["gsi1sk"])
            if self._claim(being_id, least=0) and self._try_send(being_id, "sweep"):
                sent += 1
        return SweepResult(beings, sent, (now - oldest).total_seconds())

    def pending(self, being_id: str) -> tuple[int, int]:
        """Return how many scenes and how many messages wait."""
        item = counters(self._table, being_id)
        return count_in(item, PENDING_SCENES), count_in(item, PENDING_MESSAGES)

    def ask(self, being_id: str, *, dedupe_key: str | None = None, **refs: str) -> None:
        """Send the job of a patrol now; raises UnavailableError if the queue cannot answer.

        Jobs with the same `dedupe_key` within five minutes are sent once. The tenth scene still
        sends its own job, because this one may begin before that scene is stored.
        """
        self._send(being_id, {"trigger": "manual", **refs}, dedupe_key)

    def _beings_with_work(self) -> Iterator[Item]:
        for partition in keys.work_partitions():
            yield from every_item(self._table, partition, index="gsi1", at_once=_PAGE)

    def _try_send(self, being_id: str, trigger: str) -> bool:
        try:
            self._send(being_id, {"trigger": trigger})
        except UnavailableError:
            self._release(being_id)
            return False
        return True

    def _send(self, being_id: str, refs: Mapping[str, str], dedupe_key: str | None = None) -> None:
        self._queue.send(
            encode_job(Job(KIND, being_id, refs)), group=being_id, dedupe_key=dedupe_key
        )

    def _claim(self, being_id: str, *, least: int) -> bool:
        too_old = Compare(QUEUED_AT, "<", self._lost_before())
        in_future = Compare(QUEUED_AT, ">", self._latest())
        free = Either((Absent(QUEUED_AT), too_old, in_future))
        # On AWS the list of the sweep lags behind and may name an erased Being.
        conditions: list[Condition] = [Present(), free]
        if least:
            conditions.append(Compare(PENDING_SCENES, ">=", least))
        change = Change(set={QUEUED_AT: moment(self._clock())})
        try:
            self._table.update(keys.meta(being_id), change, when=Every(tuple(conditions)))
        except ConditionFailedError:
            return False
        return True

    def _release(self, being_id: str) -> None:
        with suppress(ConditionFailedError):  # the Being is gone
            change = Change(remove=frozenset({QUEUED_AT}))
            self._table.update(keys.meta(being_id), change, when=Present())

    def _is_queued(self, item: Item) -> bool:
        queued_at = item.get(QUEUED_AT)
        return isinstance(queued_at, str) and self._lost_before() <= queued_at <= self._latest()

    def _lost_before(self) -> str:
        return moment(self._clock() - timedelta(seconds=PATROL_AGAIN_SECONDS))

    def _latest(self) -> str:
        """Return the latest possible time; later ones are from a clock that was set back."""
        return moment(self._clock() + timedelta(seconds=CLOCK_TOLERANCE_SECONDS))
