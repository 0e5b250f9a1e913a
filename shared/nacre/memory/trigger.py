"""When a patrol is due: at ten waiting scenes by itself, or when somebody asks."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from nacre.clock import Clock
from nacre.errors import ConditionFailedError, UnavailableError
from nacre.jobs.job import Job, encode_job
from nacre.jobs.worker import Work
from nacre.limits import PATROL_AGAIN_SECONDS, PATROL_AT
from nacre.memory import keys
from nacre.memory.counters import PENDING_MESSAGES, PENDING_SCENES, QUEUED_AT, count_in, counters
from nacre.memory.model import moment
from nacre.ports.queue import Queue
from nacre.ports.table import Absent, Change, Compare, Either, Every, Item, Table

KIND = "patrol"

Patrol = Literal["not due", "queued", "queued before", "not queued"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many scenes wait, if that is known, and what became of the patrol that takes them."""

    scenes: int | None
    patrol: Patrol


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
        try:
            self._send(being_id)
        except UnavailableError:
            self._release(being_id)
            return Waiting(waiting, "not queued")
        return Waiting(waiting, "queued")

    def pending(self, being_id: str) -> tuple[int, int]:
        """Return how many scenes and how many messages wait."""
        item = counters(self._table, being_id)
        return count_in(item, PENDING_SCENES), count_in(item, PENDING_MESSAGES)

    def ask(self, being_id: str) -> None:
        """Send a patrol's job now, whatever waits; raises UnavailableError as the queue does."""
        self._send(being_id)
        self._claim(being_id, least=0)  # so that the next scenes send no second one

    def _send(self, being_id: str) -> None:
        self._queue.send(encode_job(Job(KIND, being_id)), group=being_id)

    def _claim(self, being_id: str, *, least: int) -> bool:
        free = Either((Absent(QUEUED_AT), Compare(QUEUED_AT, "<", self._lost_before())))
        enough = Compare(PENDING_SCENES, ">=", least)
        change = Change(set={QUEUED_AT: moment(self._clock())})
        try:
            self._table.update(
                keys.meta(being_id), change, when=Every((free, enough)) if least else free
            )
        except ConditionFailedError:
            return False
        return True

    def _release(self, being_id: str) -> None:
        with suppress(ConditionFailedError):  # the Being is gone
            self._table.update(keys.meta(being_id), Change(remove=frozenset({QUEUED_AT})))

    def _is_queued(self, item: Item) -> bool:
        queued_at = item.get(QUEUED_AT)
        return isinstance(queued_at, str) and queued_at >= self._lost_before()

    def _lost_before(self) -> str:
        return moment(self._clock() - timedelta(seconds=PATROL_AGAIN_SECONDS))


def leave_waiting(_work: Work) -> None:
    """Take a patrol's job off the queue where no patrol can run: the scenes go on waiting.

    They are found by every search meanwhile, and the next trigger sends another job.
    """
