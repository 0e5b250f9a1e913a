"""When a patrol is due: at ten waiting scenes, every hour for what waits, or when somebody asks."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
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
_PAGE = 100  # Beings of one shard that are read at once

Patrol = Literal["not due", "queued", "queued before", "not queued"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many scenes wait, if that is known, and what became of the patrol that takes them."""

    scenes: int | None
    patrol: Patrol


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep found: Beings with work, jobs sent for them, and how long the oldest waits."""

    beings: int
    sent: int
    lag_seconds: float


class PatrolTrigger:
    """Sends the job of a patrol, once for as many scenes as have gathered."""

    def __init__(self, table: Table, queue: Queue, *, clock: Clock) -> None:
        self._table = table
        self._queue = queue
        self._clock = clock

    def after_scenes(self, being_id: str) -> Waiting:
        """Send a patrol's job if enough scenes wait and nobody has sent one.

        Of several writers that see the tenth scene one sends it. A queue that cannot answer
        leaves it to the next scene: the scenes themselves are stored.
        """
        item = counters(self._table, being_id)
        waiting = count_in(item, PENDING_SCENES)
        if waiting < PATROL_AT:
            return Waiting(waiting, "not due")
        if self._is_queued(item) or not self._claim(being_id, least=PATROL_AT):
            return Waiting(waiting, "queued before")
        return Waiting(waiting, "queued" if self._sent(being_id, "auto") else "not queued")

    def sweep(self) -> Swept:
        """Send a patrol's job for every Being that has work and no job.

        Only the list of those that have work is read, however many Beings there are.
        """
        beings, sent, now = 0, 0, self._clock()
        oldest = now
        for item in self._with_work():
            beings += 1
            queued_at = item.get(QUEUED_AT)
            if isinstance(queued_at, str):
                oldest = min(oldest, datetime.fromisoformat(queued_at))
            if self._is_queued(item):
                continue
            being_id = str(item["gsi1sk"])
            if self._claim(being_id, least=0) and self._sent(being_id, "sweep"):
                sent += 1
        return Swept(beings, sent, (now - oldest).total_seconds())

    def pending(self, being_id: str) -> tuple[int, int]:
        """Return how many scenes and how many messages wait."""
        item = counters(self._table, being_id)
        return count_in(item, PENDING_SCENES), count_in(item, PENDING_MESSAGES)

    def ask(self, being_id: str, *, repeat: str | None = None, **refs: str) -> None:
        """Send a patrol's job now, whatever waits; raises UnavailableError as the queue does.

        Of several with the same `repeat` within five minutes one is sent.
        The tenth scene sends its own all the same: this one may have begun before that scene.
        """
        self._send(being_id, {"trigger": "manual", **refs}, repeat)

    def _with_work(self) -> Iterator[Item]:
        for partition in keys.work_partitions():
            yield from every_item(self._table, partition, index="gsi1", at_once=_PAGE)

    def _sent(self, being_id: str, trigger: str) -> bool:
        try:
            self._send(being_id, {"trigger": trigger})
        except UnavailableError:
            self._release(being_id)
            return False
        return True

    def _send(self, being_id: str, refs: Mapping[str, str], repeat: str | None = None) -> None:
        self._queue.send(encode_job(Job(KIND, being_id, refs)), group=being_id, repeat=repeat)

    def _claim(self, being_id: str, *, least: int) -> bool:
        lost = (
            Compare(QUEUED_AT, "<", self._lost_before()),
            Compare(QUEUED_AT, ">", self._latest()),
        )
        free = Either((Absent(QUEUED_AT), *lost))
        # The sweep's list lags behind on AWS and may name a Being that was erased.
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
        """Return the moment after which something was only sent before the clock was set back."""
        return moment(self._clock() + timedelta(seconds=CLOCK_TOLERANCE_SECONDS))
