"""The background work on memories, and the settings of numpy."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.being.memory.sweep_jobs import SweepJobs
    from nacre.being.patrol.jobs import PatrolJobs
    from nacre.jobs.worker import Worker
    from nacre.wiring.features.index import SearchIndex


def register_memory_jobs(
    worker: "Worker", index: "SearchIndex", patrols: "PatrolJobs", sweep: "SweepJobs"
) -> None:
    """Let a worker do the jobs of memories."""
    index.jobs.register(worker, index.maintenance)
    patrols.register(worker)
    sweep.register(worker)


def sweep_jobs(index: "SearchIndex", patrols: "PatrolJobs", *, stack: str = "") -> "SweepJobs":
    """Return the sweep; its results are counted in the metrics of `stack`."""
    from nacre.being.memory.sweep_jobs import SweepJobs, SweepTotals
    from nacre.core.metrics import INDEX_DRIFT, PATROL_BACKLOG, PATROL_LAG, count

    def report(totals: SweepTotals) -> None:
        figures = {
            PATROL_LAG: round(totals.patrols.lag_seconds),
            PATROL_BACKLOG: totals.patrols.beings,
            INDEX_DRIFT: totals.repairs.beings,
        }
        count(stack, "sweep", figures)

    return SweepJobs(
        patrols.trigger,
        index.jobs,
        index.indexing.marks,
        patrols.queue,
        patrols.clock,
        report,
    )


def calm_numpy() -> None:
    """Let numpy work in the calling thread: its own threads cost more than a search is worth.

    numpy starts them when it is loaded, so call this before.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")
