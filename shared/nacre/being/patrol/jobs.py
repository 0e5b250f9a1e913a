"""The patrol as the worker's job: runs, and what `nacre patrol` asks a stack for."""

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from nacre.being.memory.model.counters import counters
from nacre.being.memory.patrol_trigger import KIND, PatrolTrigger, Swept
from nacre.being.patrol.patrol import Patrol
from nacre.being.patrol.planning.model_choice import Thinkers
from nacre.being.patrol.run.runs import runs
from nacre.core.clock import Clock
from nacre.core.errors import NacreError, NotFoundError, ToolError, UnavailableError
from nacre.core.limits import MAX_RECEIVES, PATROL_SLICE_SECONDS
from nacre.jobs.job import encode_job
from nacre.jobs.worker import Work, Worker
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Change, Item, Key, Table
from nacre.ports.queue import Queue

LEASE = "PATROL"
TASK = ItemSchema("patrol task", 1)
_MOST_SLICES = 10


@dataclass(frozen=True, slots=True)
class PatrolJobs:
    """The worker's side: does the jobs of patrols, each under the Being's lease."""

    patrol: Patrol
    table: Table
    queue: Queue
    thinkers: Thinkers
    trigger: PatrolTrigger
    clock: Clock

    def register(self, worker: Worker) -> None:
        """Let a worker know the jobs of patrols."""
        worker.register(KIND, self.do, lease=LEASE)

    def sweep(self) -> Swept:
        """Have a patrol look after every Being that has work and no job."""
        return self.trigger.sweep()

    def do(self, work: Work) -> None:
        """Do one job; a run that could not go on counts as done, for the sweep comes back to it.

        A job for a Being that is gone has nothing to do any more.
        """
        being_id = work.job.being_id
        assert being_id is not None  # a kind with a lease has one
        with suppress(NotFoundError):
            if "result" in work.job.refs:
                self._do_task(being_id, work)
            else:
                self._do_run(being_id, work)

    def _do_run(self, being_id: str, work: Work) -> None:
        meta = counters(self.table, being_id)
        slices = int(work.job.refs.get("slices", "0"))
        if "gsi1pk" in meta or "always" in work.job.refs:  # else another job has done it all
            try:
                self.patrol.run(
                    being_id,
                    trigger=work.job.refs.get("trigger", "auto"),
                    keep=work.keep,
                    thinking=self.thinkers.for_job(being_id, work.job),
                    lease=work.lease,
                    # A run that gets no further in that way takes what time it needs.
                    told=_Slice(self.clock) if slices < _MOST_SLICES else _whole,
                )
            except _SliceOverError:
                # What the job was given goes with it.
                refs = {**work.job.refs, "slices": str(slices + 1)}
                self.queue.send(encode_job(replace(work.job, refs=refs)), group=being_id)
                return
            except Exception:
                if work.attempt >= MAX_RECEIVES:
                    self.thinkers.job_ended(being_id, work.job)
                raise
        self.thinkers.job_ended(being_id, work.job)

    def _do_task(self, being_id: str, work: Work) -> None:
        refs = work.job.refs
        place = Key(tasks(being_id), refs["result"])
        asked = self.table.get(place)
        if asked is None or "report" in asked:
            return  # whoever asked has stopped waiting, or has the answer
        said: Item
        try:
            said = {"report": self._report(being_id, refs.get("task", ""), refs.get("run", ""))}
        except UnavailableError as error:
            if work.attempt < MAX_RECEIVES:
                raise
            said = {"problem": str(error)}
        except NacreError as error:
            said = {"problem": str(error), "missing": isinstance(error, NotFoundError)}
        self.table.update(place, Change(set=said))

    def _report(self, being_id: str, task: str, run_id: str) -> dict[str, Any]:
        match task:
            case "dry-run":
                thinking = self.thinkers.for_call(being_id, None)
                return self.patrol.dry_run(being_id, thinking).to_plain()
            case "undo":
                return undo_report(self.patrol, being_id, run_id)
            case _:
                raise ToolError("the worker does not know this task: deploy a newer version")


def undo_report(patrol: Patrol, being_id: str, run_id: str) -> dict[str, Any]:
    """Take a run back and return what came of it, as JSON has it."""
    done = patrol.undo(being_id, run_id)
    return {
        "run_id": done.run_id,
        "undone": list(done.undone),
        "not_undone": dict(done.not_undone),
    }


def tasks(being_id: str) -> str:
    """Return the partition of what a stack was asked for, beside the runs."""
    return runs(being_id)


class _SliceOverError(ToolError):
    """A worker's time is bounded: the rest is another job."""


def _whole(_step: str) -> None:
    return


@dataclass(slots=True)
class _Slice:
    """Ends a job between two steps of its run once it has taken long.

    Never within a step, whose questions to a model would be asked again, and never before a
    job has done two: the one that the run was at, and another.
    """

    clock: Clock
    begun: datetime | None = None
    steps: int = 0

    def __call__(self, _step: str) -> None:
        now = self.clock()
        self.begun = self.begun or now
        self.steps += 1
        if self.steps > 2 and now - self.begun >= timedelta(seconds=PATROL_SLICE_SECONDS):
            raise _SliceOverError("the rest is another job")
