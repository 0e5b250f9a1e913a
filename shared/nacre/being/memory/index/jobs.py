"""Work on the search index that takes long: in the queue, or in this process."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Literal, Protocol

from nacre.being.memory.index.maintenance import Progress, Upkeep
from nacre.being.memory.index.marks import Marks, partition
from nacre.being.memory.model import keys
from nacre.core.clock import Clock
from nacre.core.errors import InvalidInputError, NacreError, ToolError, UnavailableError
from nacre.core.ids import short_id
from nacre.core.limits import INDEX_SLICE_SECONDS, JOB_SECONDS
from nacre.jobs.job import Job, encode_job
from nacre.jobs.lease import Leases
from nacre.jobs.worker import Handler, Work, Worker
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import EXPIRES_AT, Change, Item, Key, Table
from nacre.ports.queue import Queue

REPAIR = "repair"
REINDEX = "reindex"
LEASE = "REINDEX"

Task = Literal["check", "repair", "reindex", "erase"]
TASKS: tuple[Task, ...] = ("check", "repair", "reindex", "erase")
Report = dict[str, str | int | bool]

RUN = ItemSchema("index run", 1)
_RUN_DAYS = 7
_POLL_SECONDS = 1.0


def perform(upkeep: Upkeep, being_id: str, task: Task, progress: Progress) -> Report:
    """Do one task and return what came of it."""
    match task:
        case "check" | "repair":
            work = upkeep.check if task == "check" else upkeep.mend
            found = work(being_id, progress)
            return {
                "task": task,
                "embedding": found.emb_id,
                "points": found.points,
                "missing": len(found.missing),
                "stale": len(found.stale),
                "orphaned": len(found.orphaned),
                "without_vector": found.without_vector,
                "sound": found.is_sound,
            }
        case "reindex":
            rebuilt = upkeep.reindex(being_id, progress)
            if rebuilt is None:
                return {"task": task, "changed": False}
            return {
                "task": task,
                "changed": True,
                "embedding": rebuilt.active,
                "before": rebuilt.before,
                "points": rebuilt.points,
            }
        case "erase":
            upkeep.erase(being_id)
            return {"task": task, "changed": True}


class IndexWork(Protocol):
    """Whoever does a task for a Being and tells how far it is."""

    def run(self, being_id: str, task: Task, progress: Progress) -> Report:
        """Do the task to its end; a task that was interrupted goes on where it was."""
        ...


class WorkHere:
    """Does the task in this process, one per Being at a time."""

    def __init__(self, upkeep: Upkeep, leases: Leases) -> None:
        self._upkeep = upkeep
        self._leases = leases

    def run(self, being_id: str, task: Task, progress: Progress) -> Report:
        """Do the task to its end; raises LeaseHeldError while somebody else is at it."""
        if task == "check":  # writes nothing
            return perform(self._upkeep, being_id, task, progress)
        lease = self._leases.take(Key(keys.home(being_id), f"LOCK#{LEASE}"))

        def step(done: int, total: int) -> None:
            self._leases.renew(lease)
            progress(done, total)

        try:
            return perform(self._upkeep, being_id, task, step)
        finally:
            self._leases.give_back(lease)


class WorkThere:
    """Sends the task to the stack's worker and waits for it."""

    def __init__(
        self,
        table: Table,
        queue: Queue,
        *,
        clock: Clock,
        rng: Random,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._table = table
        self._queue = queue
        self._clock = clock
        self._rng = rng
        self._sleep = sleep

    def run(self, being_id: str, task: Task, progress: Progress) -> Report:
        """Have the task done; whoever stops waiting does not stop the work.

        Raises UnavailableError when the worker has said nothing for as long as one may that
        is alive.
        """
        key = Key(partition(being_id), f"RUN#{short_id(self._rng)}")
        until = int((self._clock() + timedelta(days=_RUN_DAYS)).timestamp())
        item: Item = {"pk": key.pk, "sk": key.sk, "task": task, EXPIRES_AT: until}
        self._table.put(RUN.stamp(item))
        job = Job(REINDEX, being_id, {"task": task, "run": key.sk})
        self._queue.send(encode_job(job), group=group_of(being_id))
        shown, heard = (-1, -1), self._clock()
        while True:
            run = self._table.get(key)
            if run is None and task == "erase":
                return {"task": task, "changed": True}  # what tells of it went with the rest
            found = RUN.read(run or RUN.stamp({}))
            if isinstance(problem := found.get("problem"), str):
                raise UnavailableError(problem)
            if isinstance(report := found.get("report"), dict):
                return _report(report)
            now = (_number(found.get("done")), _number(found.get("total")))
            if now != shown:
                progress(*now)
                shown, heard = now, self._clock()
            if self._clock() - heard > timedelta(seconds=JOB_SECONDS):
                raise UnavailableError(
                    f"the stack's worker has said nothing about this for {JOB_SECONDS} s: it is"
                    " busy or has failed, as its log says; the work is still in the queue"
                )
            self._sleep(_POLL_SECONDS)


class IndexJobs:
    """The worker's side: what its jobs about indexes do."""

    def __init__(self, table: Table, queue: Queue, *, clock: Clock) -> None:
        self._table = table
        self._queue = queue
        self._clock = clock

    def repair_later(self, being_id: str) -> None:
        """Have a Being's marks looked at; a queue that is down leaves it to the next sweep."""
        with suppress(UnavailableError):
            self._queue.send(
                encode_job(Job(REPAIR, being_id)), group=group_of(being_id), repeat=REPAIR
            )

    def register(self, worker: Worker, upkeep: Upkeep) -> None:
        """Let a worker know both kinds of jobs."""
        worker.register(REPAIR, self._repairs(upkeep), lease=LEASE)
        worker.register(REINDEX, self._tasks(upkeep), lease=LEASE)

    def sweep(self, marks: Marks) -> int:
        """Have every Being repaired that a write left behind; return how many there are."""
        beings = 0
        for being_id in marks.beings():
            self.repair_later(being_id)
            beings += 1
        return beings

    def _repairs(self, upkeep: Upkeep) -> Handler:
        def repair(work: Work) -> None:
            # The marks stay, and the sweep sends another job. One that failed would hold up
            # all others of its group for hours, as SQS hides it for as long as a job may take.
            with suppress(UnavailableError):
                upkeep.repair(_being_of(work), lambda _done, _total: work.keep())

        return repair

    def _tasks(self, upkeep: Upkeep) -> Handler:
        def run(work: Work) -> None:
            being_id = _being_of(work)
            task, place = work.job.refs.get("task"), work.job.refs.get("run", "")
            if task not in TASKS:
                raise InvalidInputError(f"unknown task {task!r} for an index: upgrade nacre")
            step = _Step(self._table, Key(partition(being_id), place), work, self._clock)
            try:
                report = perform(upkeep, being_id, task, step)
            except _SliceOverError:
                self._queue.send(encode_job(work.job), group=group_of(being_id))
            except NacreError as error:
                step.tell({"problem": str(error)})
            else:
                step.tell({"report": dict(report)})

        return run


class _SliceOverError(ToolError):
    """A worker's time is bounded: the rest is another job."""


@dataclass(slots=True)
class _Step:
    """Keeps the job, and tells whoever waits how far it is."""

    table: Table
    run: Key
    work: Work
    clock: Clock
    until: datetime | None = None

    def __call__(self, done: int, total: int) -> None:
        now = self.clock()
        self.until = self.until or now + timedelta(seconds=INDEX_SLICE_SECONDS)
        self.work.keep()
        self.tell({"done": done, "total": total})
        if self.work.job.refs.get("task") == "reindex" and now >= self.until:
            raise _SliceOverError("the rest is another job")

    def tell(self, says: Item) -> None:
        with suppress(NacreError):  # nobody waits any more
            self.table.update(self.run, Change(set=says))


def group_of(being_id: str) -> str:
    """Return the queue's group for work on an index, which does not hold up a patrol."""
    return f"{being_id}#reindex"


def _being_of(work: Work) -> str:
    assert work.job.being_id is not None  # a kind with a lease has one
    return work.job.being_id


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _report(value: Mapping[str, object]) -> Report:
    return {name: each for name, each in value.items() if isinstance(each, str | int | bool)}
