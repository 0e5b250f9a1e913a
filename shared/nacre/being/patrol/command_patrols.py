"""The patrols of `nacre patrol`: in this process, or by the worker of a stack."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

from nacre.being.memory.model.counters import counters
from nacre.being.patrol.jobs import PatrolJobs, PatrolTasks, undo_report
from nacre.being.patrol.patrol import STEPS
from nacre.being.patrol.run.runs import Receipt
from nacre.being.patrol.trigger import OnProgress, PatrolRequests, lease_key
from nacre.core.clock import Clock
from nacre.core.errors import NotFoundError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.jobs.lease import Lease, Leases
from nacre.ports.items.table import Table

_POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class LocalPatrols:
    """Patrols in this process, one per Being at a time."""

    jobs: PatrolJobs
    leases: Leases

    def run(self, being_id: str, on_progress: OnProgress) -> Receipt:
        """Run a patrol to its end; raises LeaseHeldError while another process runs one."""
        counters(self.jobs.table, being_id)
        names = ["claim", *(name for _, name, _ in STEPS), "finish"]

        def report_step(name: str) -> None:
            on_progress(names.index(name) + 1, len(names), name)

        with self._lease(being_id) as lease:
            return self.jobs.patrol.run(
                being_id,
                trigger="manual",
                renew_lease=lambda: self.leases.renew(lease),
                planner=self.jobs.models.for_call(being_id, None),
                lease=lease,
                on_step=report_step,
            )

    def dry_run(self, being_id: str) -> dict[str, Any]:
        """Return the receipt that a patrol would have now, as JSON values."""
        with self._lease(being_id):
            planner = self.jobs.models.for_call(being_id, None)
            return self.jobs.patrol.dry_run(being_id, planner).to_plain()

    def undo(self, being_id: str, run_id: str) -> dict[str, Any]:
        """Undo the merges of a run; raises NotFoundError if there is no such run."""
        with self._lease(being_id):
            return undo_report(self.jobs.patrol, being_id, run_id)

    @contextmanager
    def _lease(self, being_id: str) -> Iterator[Lease]:
        lease = self.leases.take(lease_key(being_id))
        try:
            yield lease
        finally:
            self.leases.give_back(lease)


@dataclass(frozen=True, slots=True)
class StackPatrols:
    """Asks the stack's worker and waits; the worker continues if the caller stops waiting."""

    table: Table
    calls: PatrolRequests
    clock: Clock
    rng: Random
    sleep: Callable[[float], None] = field(default=time.sleep)

    def run(self, being_id: str, on_progress: OnProgress) -> Receipt:
        """Request a patrol and wait for its end, or wait for the one that runs."""
        request = self.calls.ask(being_id, always=True)
        assert request is not None  # because of `always`
        run = self.calls.wait(being_id, request, on_progress=on_progress)
        if run is None:
            raise NotFoundError("there is no such Being")
        return run.receipt

    def dry_run(self, being_id: str) -> dict[str, Any]:
        """Return the receipt that a patrol would have now, as JSON values."""
        return self._task(being_id, task="dry-run")

    def undo(self, being_id: str, run_id: str) -> dict[str, Any]:
        """Undo the merges of a run; raises NotFoundError if there is no such run."""
        return self._task(being_id, task="undo", run=run_id)

    def _task(self, being_id: str, **refs: str) -> dict[str, Any]:
        tasks = PatrolTasks(self.table, self.calls.trigger, self.clock, self.rng)
        task = tasks.begin(being_id, **refs)
        while (report := tasks.report(being_id, task)) is None:
            self.sleep(_POLL_SECONDS)
        return report


PatrolExecutor = LocalPatrols | StackPatrols
