"""The background work on memories, and the settings of numpy."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.being.patrol.jobs import PatrolJobs
    from nacre.jobs.worker import Worker
    from nacre.wiring.features.index import SearchIndex


def register_memory_jobs(
    worker: "Worker", index: "SearchIndex", patrols: "PatrolJobs", *, stack: str = ""
) -> None:
    """Let a worker do the jobs of memories; sweeps are counted in the metrics of `stack`."""
    from nacre.jobs.job import SWEEP

    index.jobs.register(worker, index.maintenance)
    patrols.register(worker)
    worker.register(SWEEP, lambda _: sweep_memories(index, patrols, stack=stack))


def sweep_memories(index: "SearchIndex", patrols: "PatrolJobs", *, stack: str = "") -> None:
    """Send jobs for work that no call has queued, or that was lost."""
    from nacre.core.metrics import INDEX_DRIFT, PATROL_BACKLOG, PATROL_LAG, count

    drifting = index.jobs.sweep(index.indexing.marks)
    swept = patrols.sweep()
    figures = {
        PATROL_LAG: round(swept.lag_seconds),
        PATROL_BACKLOG: swept.beings,
        INDEX_DRIFT: drifting,
    }
    count(stack, "sweep", figures)


def calm_numpy() -> None:
    """Let numpy work in the calling thread: its own threads cost more than a search is worth.

    numpy starts them when it is loaded, so call this before.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")
