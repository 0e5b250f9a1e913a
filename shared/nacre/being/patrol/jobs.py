"""The patrol as the worker's job, and the tasks that `nacre patrol` sends to a stack."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from random import Random
from typing import Any

from nacre.being.memory.model.counters import counters
from nacre.being.memory.patrol_trigger import KIND, PatrolTrigger
from nacre.being.patrol.patrol import Patrol
from nacre.being.patrol.planning.model_choice import ModelAccess
from nacre.being.patrol.run.runs import runs
from nacre.core.clock import Clock
from nacre.core.errors import NacreError, NotFoundError, ToolError, UnavailableError
from nacre.core.ids import short_id
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import MAX_RECEIVES, PATROL_REPORT_DAYS, PATROL_SLICE_SECONDS
from nacre.jobs.job import encode_job
from nacre.jobs.worker import Work, Worker
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import EXPIRES_AT, Change, Item, Key, Table
from nacre.ports.queue import Queue

LEASE = "PATROL"
TASK = ItemSchema("patrol task", 1)
_MAX_SLICES = 10


@dataclass(frozen=True, slots=True)
class PatrolJobs:
    """The jobs of patrols in a worker, each under the lease of its Being."""

    patrol: Patrol
    table: Table
    queue: Queue
    models: ModelAccess
    trigger: PatrolTrigger
    clock: Clock
    count_done: Callable[[], None] = lambda: None

    def register(self, worker: Worker) -> None:
        """Register the job of patrols with a worker."""
        worker.register(KIND, self.do, lease=LEASE)

    def do(self, work: Work) -> None:
        """Do one job. A run that is blocked counts as done: the sweep queues another job for it.

        A job of a Being that is gone does nothing.
        """
        being_id = work.job.being_id
        assert being_id is not None  # a kind with a lease has one
        with suppress(NotFoundError):
            if "result" in work.job.refs:
                self._do_task(being_id, work)
            else:
                self._do_run(being_id, work)
        self.count_done()

    def _do_run(self, being_id: str, work: Work) -> None:
        meta = counters(self.table, being_id)
        slices = int(work.job.refs.get("slices", "0"))
        if "gsi1pk" in meta or "always" in work.job.refs:  # otherwise no work is left
            try:
                self.patrol.run(
                    being_id,
                    trigger=work.job.refs.get("trigger", "auto"),
                    renew_lease=work.keep,
                    planner=self.models.for_job(being_id, work.job),
                    lease=work.lease,
                    # After so many jobs the run takes all the time that it needs.
                    on_step=_Slice(self.clock) if slices < _MAX_SLICES else _no_limit,
                )
            except _SliceOverError:
                refs = {**work.job.refs, "slices": str(slices + 1)}
                self.queue.send(encode_job(replace(work.job, refs=refs)), group=being_id)
                return
            except Exception:
                if work.attempt >= MAX_RECEIVES:
                    self.models.job_ended(being_id, work.job)
                raise
        self.models.job_ended(being_id, work.job)

    def _do_task(self, being_id: str, work: Work) -> None:
        refs = work.job.refs
        place = Key(tasks_partition(being_id), refs["result"])
        task = self.table.get(place)
        if task is None or "report" in task:
            return  # it has expired, or has been done
        outcome: Item
        try:
            outcome = {"report": self._report(being_id, refs.get("task", ""), refs.get("run", ""))}
        except UnavailableError as error:
            if work.attempt < MAX_RECEIVES:
                raise
            outcome = {"problem": str(error)}
        except NacreError as error:
            outcome = {"problem": str(error), "missing": isinstance(error, NotFoundError)}
        self.table.update(place, Change(set=outcome))

    def _report(self, being_id: str, task: str, run_id: str) -> dict[str, Any]:
        match task:
            case "dry-run":
                planner = self.models.for_call(being_id, None)
                return self.patrol.dry_run(being_id, planner).to_plain()
            case "undo":
                return undo_report(self.patrol, being_id, run_id)
            case _:
                raise ToolError("the worker does not know this task: deploy a newer version")


def undo_report(patrol: Patrol, being_id: str, run_id: str) -> dict[str, Any]:
    """Undo a run and return the report, as JSON values."""
    report = patrol.undo(being_id, run_id)
    return {
        "run_id": report.run_id,
        "undone": list(report.undone),
        "not_undone": dict(report.not_undone),
    }


def tasks_partition(being_id: str) -> str:
    """Return the partition of the tasks for a stack's worker, which is that of the runs."""
    return runs(being_id)


@dataclass(frozen=True, slots=True)
class PatrolTasks:
    """Sends tasks to a stack's worker, and reads its reports."""

    table: Table
    trigger: PatrolTrigger
    clock: Clock
    rng: Random

    def begin(self, being_id: str, **refs: str) -> str:
        """Queue a task and return its id; raises NotFoundError if there is no such Being."""
        counters(self.table, being_id)
        task_id = short_id(self.rng)
        key = _task_key(being_id, task_id)
        until = int((self.clock() + timedelta(days=PATROL_REPORT_DAYS)).timestamp())
        item: Item = {**key.attributes(), EXPIRES_AT: until}
        self.table.put(TASK.stamp(item))
        self.trigger.ask(being_id, **refs, result=key.sk)
        return task_id

    def report(self, being_id: str, task_id: str) -> dict[str, Any] | None:
        """Return the report of a task; None until it is done.

        Raises NotFoundError or UnavailableError with the problem that the worker had.
        """
        item = self.table.get(_task_key(being_id, task_id))
        if item is None:
            raise UnavailableError("the worker has forgotten what it was asked; ask again")
        if isinstance(problem := item.get("problem"), str):
            missing = item.get("missing") is True
            raise NotFoundError(problem) if missing else UnavailableError(problem)
        report = item.get("report")
        return dict(report) if isinstance(report, dict) else None


def _task_key(being_id: str, task_id: str) -> Key:
    return Key(tasks_partition(being_id), f"TASK#{task_id}")


class _SliceOverError(ToolError):
    """The time of this job is used up; the rest of the run is another job."""


def _no_limit(_step: str) -> None:
    return


@dataclass(slots=True)
class _Slice:
    """Ends a job between two steps of its run, after it has taken long.

    It never interrupts a step, because its questions to a model would be repeated. Each job does at
    least two steps: the one that the run had reached, and the next.
    """

    clock: Clock
    started: datetime | None = None
    steps: int = 0

    def __call__(self, _step: str) -> None:
        now = self.clock()
        self.started = self.started or now
        self.steps += 1
        if self.steps > 2 and now - self.started >= timedelta(seconds=PATROL_SLICE_SECONDS):
            raise _SliceOverError("the rest is another job")
