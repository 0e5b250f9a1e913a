"""Long work on the search index, as jobs in the queue or in this process."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from random import Random
from typing import Literal, Protocol

from nacre.being.memory.index.maintenance import IndexMaintenance, Progress
from nacre.being.memory.index.marks import REPAIR_PARTITIONS, Marks
from nacre.being.memory.job_claims import ClaimAge, JobClaims, SweepResult
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import REPAIR_QUEUED_AT
from nacre.core.bounded_cache import BoundedCache
from nacre.core.clock import Clock
from nacre.core.errors import InvalidInputError, NacreError, ToolError, UnavailableError
from nacre.core.ids import short_id
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import INDEX_SLICE_SECONDS, JOB_SECONDS, QUEUE_DEDUPE_SECONDS
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
_QUEUED = 1000  # Beings for which a process remembers when it queued a change


def perform(maintenance: IndexMaintenance, being_id: str, task: Task, progress: Progress) -> Report:
    """Do one task and return its report."""
    match task:
        case "check" | "repair":
            work = maintenance.check if task == "check" else maintenance.check_and_repair
            differences = work(being_id, progress)
            return {
                "task": task,
                "embedding": differences.emb_id,
                "points": differences.points,
                "missing": len(differences.missing),
                "stale": len(differences.stale),
                "orphaned": len(differences.orphaned),
                "without_vector": differences.without_vector,
                "sound": differences.is_in_sync,
            }
        case "reindex":
            result = maintenance.reindex(being_id, progress)
            if result is None:
                return {"task": task, "changed": False}
            return {
                "task": task,
                "changed": True,
                "embedding": result.active,
                "before": result.before,
                "points": result.points,
            }
        case "erase":
            maintenance.erase(being_id)
            return {"task": task, "changed": True}


class IndexWork(Protocol):
    """Does a task for a Being and reports its progress."""

    def run(self, being_id: str, task: Task, progress: Progress) -> Report:
        """Do the task to its end; an interrupted task continues where it stopped."""
        ...


class LocalIndexWork:
    """Does tasks in this process, one for each Being at a time."""

    def __init__(self, maintenance: IndexMaintenance, leases: Leases) -> None:
        self._maintenance = maintenance
        self._leases = leases

    def run(self, being_id: str, task: Task, progress: Progress) -> Report:
        """Do the task to its end; raises LeaseHeldError while another process does one."""
        if task == "check":  # writes nothing
            return perform(self._maintenance, being_id, task, progress)
        lease = self._leases.take(Key(keys.home(being_id), f"LOCK#{LEASE}"))

        def step(done: int, total: int) -> None:
            self._leases.renew(lease)
            progress(done, total)

        try:
            return perform(self._maintenance, being_id, task, step)
        finally:
            self._leases.give_back(lease)


@dataclass(frozen=True, slots=True)
class QueuedIndexWork:
    """Sends tasks to the worker of a stack and waits for them."""

    table: Table
    queue: Queue
    clock: Clock
    rng: Random
    sleep: Callable[[float], None] = time.sleep

    def run(self, being_id: str, task: Task, progress: Progress) -> Report:
        """Have the worker do the task, which goes on if the caller stops waiting.

        Raises UnavailableError when the worker reports nothing for longer than a job may take.
        """
        key = Key(keys.marks(being_id), f"RUN#{short_id(self.rng)}")
        until = int((self.clock() + timedelta(days=_RUN_DAYS)).timestamp())
        item: Item = {**key.attributes(), "task": task, EXPIRES_AT: until}
        self.table.put(RUN.stamp(item))
        job = Job(REINDEX, being_id, {"task": task, "run": key.sk})
        self.queue.send(encode_job(job), group=group_of(being_id))
        reported, heard_at = (-1, -1), self.clock()
        while True:
            run = self.table.get(key)
            if run is None and task == "erase":
                return {"task": task, "changed": True}  # the item of the run was erased too
            run = RUN.read(run or RUN.stamp({}))
            if isinstance(problem := run.get("problem"), str):
                raise UnavailableError(problem)
            if isinstance(report := run.get("report"), dict):
                return _report(report)
            progressed = (_number(run.get("done")), _number(run.get("total")))
            if progressed != reported:
                progress(*progressed)
                reported, heard_at = progressed, self.clock()
            if self.clock() - heard_at > timedelta(seconds=JOB_SECONDS):
                raise UnavailableError(
                    f"the stack's worker has said nothing about this for {JOB_SECONDS} s: it is"
                    " busy or has failed, as its log says; the work is still in the queue"
                )
            self.sleep(_POLL_SECONDS)


class IndexJobs:
    """The jobs of the worker on indexes."""

    def __init__(self, table: Table, queue: Queue, *, clock: Clock) -> None:
        self._table = table
        self._queue = queue
        self._clock = clock
        self._claims = JobClaims(table, clock, REPAIR_QUEUED_AT)
        self._queued_at: BoundedCache[str, datetime] = BoundedCache(_QUEUED)

    def repair_later(self, being_id: str) -> None:
        """Queue a repair of the marks of a Being; if the queue is down, the next sweep does it."""
        with suppress(UnavailableError):
            self._queue.send(
                encode_job(Job(REPAIR, being_id)), group=group_of(being_id), dedupe_key=REPAIR
            )

    def reindex_later(self, being_id: str, emb_id: str) -> None:
        """Queue a change to the embedding in the settings, at most once in five minutes."""
        now = self._clock()
        last = self._queued_at.get(being_id)
        if last is not None and timedelta(0) <= now - last < timedelta(
            seconds=QUEUE_DEDUPE_SECONDS
        ):
            return
        self._queued_at[being_id] = now
        job = Job(REINDEX, being_id, {"task": REINDEX})
        with suppress(NacreError):  # a later search or write asks again
            self._queue.send(encode_job(job), group=group_of(being_id), dedupe_key=emb_id)

    def register(self, worker: Worker, maintenance: IndexMaintenance) -> None:
        """Register both kinds of jobs with a worker."""
        worker.register(REPAIR, self._repairs(maintenance), lease=LEASE)
        worker.register(REINDEX, self._tasks(maintenance), lease=LEASE)

    def sweep(self, marks: Marks) -> int:
        """Queue a repair for every Being with abandoned marks, and return how many there are."""
        return sum(self.sweep_shard(marks, partition).beings for partition in REPAIR_PARTITIONS)

    def sweep_shard(
        self,
        marks: Marks,
        partition: str,
        after: str = "",
        *,
        is_over: Callable[[], bool] = lambda: False,
    ) -> SweepResult:
        """Sweep one part of the marks, after the place `after`, until `is_over`."""
        beings = sent = 0
        last, age = after, ClaimAge(self._queue)
        for being_id, place in marks.beings_in(partition, after):
            if is_over():
                return SweepResult(beings, sent, 0, last)
            beings, last = beings + 1, place
            if self._claims.take(being_id, lost_seconds=age.lost_seconds()):
                sent += self._send_claimed(being_id)
        return SweepResult(beings, sent, 0)

    def _send_claimed(self, being_id: str) -> bool:
        job = Job(REPAIR, being_id, {"claimed": "yes"})
        try:
            self._queue.send(encode_job(job), group=group_of(being_id))
        except UnavailableError:
            self._claims.release(being_id)
            return False
        return True

    def _repairs(self, maintenance: IndexMaintenance) -> Handler:
        def repair(work: Work) -> None:
            # If the repair fails, the marks stay and the sweep sends another job. A failed job
            # would block its group for hours, because SQS hides it for the longest time of a job.
            being_id = _being_of(work)
            with suppress(UnavailableError):
                maintenance.repair(being_id, lambda _done, _total: work.keep())
            if "claimed" in work.job.refs:
                self._claims.release(being_id)

        return repair

    def _tasks(self, maintenance: IndexMaintenance) -> Handler:
        def perform_task(work: Work) -> None:
            being_id = _being_of(work)
            task, place = work.job.refs.get("task"), work.job.refs.get("run")
            if task not in TASKS:
                raise InvalidInputError(f"unknown task {task!r} for an index: upgrade nacre")
            run = None if place is None else Key(keys.marks(being_id), place)
            step = _Step(self._table, run, work, self._clock)
            try:
                report = perform(maintenance, being_id, task, step)
            except _SliceOverError:
                self._queue.send(encode_job(work.job), group=group_of(being_id))
            except NacreError as error:
                step.store({"problem": str(error)})
            else:
                step.store({"report": dict(report)})

        return perform_task


class _SliceOverError(ToolError):
    """The time of a job is over; another job does the rest."""


@dataclass(slots=True)
class _Step:
    """Keeps the job alive and stores its progress for a waiting caller."""

    table: Table
    run: Key | None  # None if nobody waits
    work: Work
    clock: Clock
    until: datetime | None = None

    def __call__(self, done: int, total: int) -> None:
        now = self.clock()
        self.until = self.until or now + timedelta(seconds=INDEX_SLICE_SECONDS)
        self.work.keep()
        self.store({"done": done, "total": total})
        if self.work.job.refs.get("task") == "reindex" and now >= self.until:
            raise _SliceOverError("the rest is another job")

    def store(self, fields: Item) -> None:
        if self.run is not None:
            with suppress(NacreError):  # nobody waits any more
                self.table.update(self.run, Change(set=fields))


def group_of(being_id: str) -> str:
    """Return the group in the queue for work on an index, which does not block a patrol."""
    return f"{being_id}#reindex"


def _being_of(work: Work) -> str:
    assert work.job.being_id is not None  # a kind with a lease has one
    return work.job.being_id


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _report(value: Mapping[str, object]) -> Report:
    return {name: field for name, field in value.items() if isinstance(field, str | int | bool)}
