"""Starting patrols: at ten waiting scenes, every hour if there is work, or on request."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Literal

from nacre.being.memory.job_claims import ClaimAge, JobClaims, SweepResult
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import (
    PENDING_MESSAGES,
    PENDING_SCENES,
    QUEUED_AT,
    count_in,
    counters,
)
from nacre.being.memory.store.recall_log import announce_old_recalls
from nacre.core.clock import Clock
from nacre.core.errors import UnavailableError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import JOB_AGAIN_SECONDS, PATROL_AT
from nacre.jobs.job import Job, encode_job
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Compare, Range, Table
from nacre.ports.queue import Queue

KIND = "patrol"
_PAGE = 100  # Beings of one shard in one read

PatrolState = Literal["not due", "queued", "queued before", "not queued"]


@dataclass(frozen=True, slots=True)
class TriggerResult:
    """The number of scenes that wait, None if it is unknown, and the state of their patrol."""

    scenes: int | None
    patrol: PatrolState


def _never() -> bool:
    return False


class PatrolTrigger:
    """Sends the jobs of patrols, one for all scenes that wait."""

    def __init__(self, table: Table, queue: Queue, *, clock: Clock) -> None:
        self._table = table
        self._queue = queue
        self._clock = clock
        self._claims = JobClaims(table, clock, QUEUED_AT)

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
        enough = Compare(PENDING_SCENES, ">=", PATROL_AT)
        if self._claims.is_taken(item) or not self._claims.take(being_id, enough):
            return TriggerResult(waiting, "queued before")
        return TriggerResult(
            waiting, "queued" if self._try_send(being_id, "auto") else "not queued"
        )

    def sweep(self) -> SweepResult:
        """Send the job of a patrol for every Being that has work and no job."""
        total = SweepResult(0, 0, 0)
        for partition in keys.work_partitions():
            total += self.sweep_shard(partition)
        return total

    def sweep_shard(
        self, partition: str, after: str = "", *, is_over: Callable[[], bool] = _never
    ) -> SweepResult:
        """Sweep one part of the list of Beings with work, after the Being `after`, until `is_over`.

        Only the list is read. A job that has waited for an hour may be lost, so it is sent again.
        While the queue is busy, it is sent again only after a day, because an overload would grow
        otherwise. The sweep of a whole part begins with Beings whose recalls have waited for a day:
        it adds them to the list.
        """
        if not after:
            announce_old_recalls(self._table, partition, self._clock)
        beings, sent, now = 0, 0, self._clock()
        oldest = now
        last, age = after, ClaimAge(self._queue)
        start = Range(low=f"{after}!") if after else None  # sorts behind it, before the next
        for item in every_item(self._table, partition, index="gsi1", keys=start, at_once=_PAGE):
            if is_over():
                return SweepResult(beings, sent, (now - oldest).total_seconds(), last)
            beings += 1
            last = being_id = str(item["gsi1sk"])
            queued_at = item.get(QUEUED_AT)
            if isinstance(queued_at, str):
                oldest = min(oldest, datetime.fromisoformat(queued_at))
            if self._claims.is_taken(item, lost_seconds=JOB_AGAIN_SECONDS):
                continue
            lost_seconds = age.lost_seconds() if isinstance(queued_at, str) else 0
            if self._claims.take(being_id, lost_seconds=lost_seconds):
                sent += self._try_send(being_id, "sweep")
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

    def _try_send(self, being_id: str, trigger: str) -> bool:
        try:
            self._send(being_id, {"trigger": trigger})
        except UnavailableError:
            self._claims.release(being_id)
            return False
        return True

    def _send(self, being_id: str, refs: Mapping[str, str], dedupe_key: str | None = None) -> None:
        self._queue.send(
            encode_job(Job(KIND, being_id, refs)), group=being_id, dedupe_key=dedupe_key
        )
