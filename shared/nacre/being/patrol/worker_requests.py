"""Asking a worker for what is beside patrols: what one would do now, or to take one back."""

from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any

from nacre.being.memory.model.counters import counters
from nacre.being.memory.patrol_trigger import PatrolTrigger
from nacre.being.patrol.jobs import TASK, tasks
from nacre.core.clock import Clock
from nacre.core.errors import NotFoundError, UnavailableError
from nacre.core.ids import short_id
from nacre.core.limits import PATROL_REPORT_DAYS
from nacre.ports.items.table import EXPIRES_AT, Item, Key, Table

_TASK = "TASK#"


@dataclass(frozen=True, slots=True)
class Tasks:
    """Sends tasks to the worker, and reads what it has written about them."""

    table: Table
    trigger: PatrolTrigger
    clock: Clock
    rng: Random

    def begin(self, being_id: str, **refs: str) -> str:
        """Ask for a task, and return its id; raises NotFoundError when there is no such Being."""
        counters(self.table, being_id)
        task = short_id(self.rng)
        key = _key(being_id, task)
        until = int((self.clock() + timedelta(days=PATROL_REPORT_DAYS)).timestamp())
        item: Item = {"pk": key.pk, "sk": key.sk, EXPIRES_AT: until}
        self.table.put(TASK.stamp(item))
        self.trigger.ask(being_id, **refs, result=key.sk)
        return task

    def report(self, being_id: str, task: str) -> dict[str, Any] | None:
        """Return what came of a task, None as long as it is not done.

        Raises NotFoundError or UnavailableError with the problem that the worker met.
        """
        found = self.table.get(_key(being_id, task))
        if found is None:
            raise UnavailableError("the worker has forgotten what it was asked; ask again")
        if isinstance(problem := found.get("problem"), str):
            missing = found.get("missing") is True
            raise NotFoundError(problem) if missing else UnavailableError(problem)
        report = found.get("report")
        return dict(report) if isinstance(report, dict) else None


def _key(being_id: str, task: str) -> Key:
    return Key(tasks(being_id), _TASK + task)
