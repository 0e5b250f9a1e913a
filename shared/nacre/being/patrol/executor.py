"""Whoever does what `nacre patrol` asks for: this process, or a stack's worker."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from nacre.being.memory.model.counters import counters
from nacre.being.patrol.jobs import PatrolJobs, undo_report
from nacre.being.patrol.patrol import STEPS
from nacre.being.patrol.run.runs import Receipt
from nacre.being.patrol.trigger import PatrolCalls, Told, lease_of
from nacre.being.patrol.worker_requests import Tasks
from nacre.core.clock import Clock
from nacre.core.errors import NotFoundError
from nacre.jobs.lease import Lease, Leases
from nacre.ports.items.table import Table

_POLL_SECONDS = 1.0


class PatrolWork(Protocol):
    """Does a patrol for a Being, looks what one would do, or takes one back."""

    def run(self, being_id: str, told: Told) -> Receipt:
        """Do a patrol to its end; raises LeaseHeldError while another process does one here."""
        ...

    def dry_run(self, being_id: str) -> dict[str, Any]:
        """Return the receipt that a patrol would have now, as JSON has it."""
        ...

    def undo(self, being_id: str, run_id: str) -> dict[str, Any]:
        """Take back what a run merged; raises NotFoundError when there is no such run."""
        ...


@dataclass(frozen=True, slots=True)
class WorkHere:
    """Patrols in this process, one per Being at a time."""

    jobs: PatrolJobs
    leases: Leases

    def run(self, being_id: str, told: Told) -> Receipt:
        """Do a patrol to its end."""
        counters(self.jobs.table, being_id)
        names = ["claim", *(name for _, name, _ in STEPS), "finish"]

        def say(name: str) -> None:
            told(names.index(name) + 1, len(names), name)

        with self._held(being_id) as lease:
            return self.jobs.patrol.run(
                being_id,
                trigger="manual",
                keep=lambda: self.leases.renew(lease),
                thinking=self.jobs.thinkers.for_call(being_id, None),
                lease=lease,
                told=say,
            )

    def dry_run(self, being_id: str) -> dict[str, Any]:
        """Return the receipt that a patrol would have now."""
        with self._held(being_id):
            thinking = self.jobs.thinkers.for_call(being_id, None)
            return self.jobs.patrol.dry_run(being_id, thinking).to_plain()

    def undo(self, being_id: str, run_id: str) -> dict[str, Any]:
        """Take back what a run merged."""
        with self._held(being_id):
            return undo_report(self.jobs.patrol, being_id, run_id)

    @contextmanager
    def _held(self, being_id: str) -> Iterator[Lease]:
        lease = self.leases.take(lease_of(being_id))
        try:
            yield lease
        finally:
            self.leases.give_back(lease)


@dataclass(frozen=True, slots=True)
class WorkThere:
    """Asks the stack's worker and waits; whoever stops waiting does not stop the work."""

    table: Table
    calls: PatrolCalls
    clock: Clock
    rng: Random
    sleep: Callable[[float], None] = field(default=time.sleep)

    def run(self, being_id: str, told: Told) -> Receipt:
        """Have a patrol done to its end, or wait for the one that runs."""
        asked = self.calls.ask(being_id, always=True)
        assert asked is not None  # asked for whatever waits
        run = self.calls.wait(being_id, asked, told=told)
        if run is None:
            raise NotFoundError("there is no such Being")
        return run.receipt

    def dry_run(self, being_id: str) -> dict[str, Any]:
        """Return the receipt that a patrol would have now."""
        return self._task(being_id, task="dry-run")

    def undo(self, being_id: str, run_id: str) -> dict[str, Any]:
        """Take back what a run merged."""
        return self._task(being_id, task="undo", run=run_id)

    def _task(self, being_id: str, **refs: str) -> dict[str, Any]:
        asked = Tasks(self.table, self.calls.trigger, self.clock, self.rng)
        task = asked.begin(being_id, **refs)
        while (report := asked.report(being_id, task)) is None:
            self.sleep(_POLL_SECONDS)
        return report
