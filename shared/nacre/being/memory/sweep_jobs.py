"""The sweep: looks through lists of Beings for work that no call has queued, or that was lost."""

from collections.abc import Callable
from datetime import timedelta

from nacre.being.memory.index.jobs import IndexJobs
from nacre.being.memory.index.marks import REPAIR_PARTITIONS, Marks
from nacre.being.memory.job_claims import SweepResult
from nacre.being.memory.model import keys
from nacre.being.memory.patrol_trigger import PatrolTrigger
from nacre.core.clock import Clock
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import SWEEP_SHARD_SECONDS, SWEEP_SLICE_SECONDS
from nacre.jobs.job import SWEEP, Job, encode_job
from nacre.jobs.worker import Work, Worker
from nacre.ports.queue import Queue


@dataclass(frozen=True, slots=True)
class SweepTotals:
    """The results of a sweep, or of one of its jobs."""

    patrols: SweepResult
    repairs: SweepResult


@dataclass(frozen=True, slots=True)
class SweepJobs:
    """The sweep, in one pass or as jobs. With many Beings, each shard continues in its own jobs."""

    patrols: PatrolTrigger
    repairs: IndexJobs
    marks: Marks
    queue: Queue
    clock: Clock
    report: Callable[[SweepTotals], None]

    def register(self, worker: Worker) -> None:
        """Register the job of sweeps with a worker."""
        worker.register(SWEEP, self.do)

    def run(self) -> None:
        """Sweep all shards now, however long it takes."""
        self._sweep(_shards(), "", is_over=lambda: False)

    def do(self, work: Work) -> None:
        """Do one job: all shards, or the rest of one. A long sweep continues in other jobs.

        A job that fails is repeated; Beings whose jobs were sent are then skipped.
        """
        shard, after = work.job.refs.get("shard"), work.job.refs.get("after", "")
        seconds = SWEEP_SLICE_SECONDS if shard is None else SWEEP_SHARD_SECONDS
        until = self.clock() + timedelta(seconds=seconds)
        shards = _shards() if shard is None else (shard,)
        rest = self._sweep(shards, after, is_over=lambda: self.clock() >= until)
        for shard, after in rest:
            refs = {"shard": shard, **({"after": after} if after else {})}
            self.queue.send(encode_job(Job(SWEEP, refs=refs)), group=f"{SWEEP}-{shard}")

    def _sweep(
        self, shards: tuple[str, ...], after: str, *, is_over: Callable[[], bool]
    ) -> list[tuple[str, str]]:
        """Sweep shards, and return those that are left with the place to go on from."""
        patrols = repairs = SweepResult(0, 0, 0)
        rest = []
        for shard in shards:
            if is_over():
                rest.append((shard, ""))
                continue
            if shard in REPAIR_PARTITIONS:
                result = self.repairs.sweep_shard(self.marks, shard, after, is_over=is_over)
                repairs += result
            else:
                result = self.patrols.sweep_shard(shard, after, is_over=is_over)
                patrols += result
            if result.last is not None:
                rest.append((shard, result.last))
        self.report(SweepTotals(patrols, repairs))
        return rest


def _shards() -> tuple[str, ...]:
    return (*REPAIR_PARTITIONS, *keys.work_partitions())
