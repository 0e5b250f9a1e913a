"""How things stand with a Being's patrols: what waits, what runs, and what ran last."""

from dataclasses import dataclass
from typing import Any

from nacre.being.memory.model.counters import (
    PENDING_MESSAGES,
    PENDING_SCENES,
    QUEUED_AT,
    count_in,
    counters,
)
from nacre.being.memory.store.merges import CLOCK
from nacre.being.patrol.run.runs import Run, Runs
from nacre.ports.items.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What the Being's item and its newest runs say."""

    scenes: int
    messages: int
    queued_at: str | None
    clock: int
    open: Run | None
    last: Run | None

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "pending_scenes": self.scenes,
            "pending_messages": self.messages,
            "queued_at": self.queued_at,
            "clock": self.clock,
            "open": None if self.open is None else self.open.receipt.to_plain(),
            "last": None if self.last is None else self.last.receipt.to_plain(),
        }


def standing_of(table: Table, being_id: str) -> Standing:
    """Return how things stand; raises NotFoundError when there is no such Being."""
    meta = counters(table, being_id)
    queued_at = meta.get(QUEUED_AT)
    runs = Runs(table)
    return Standing(
        scenes=count_in(meta, PENDING_SCENES),
        messages=count_in(meta, PENDING_MESSAGES),
        queued_at=queued_at if isinstance(queued_at, str) else None,
        clock=count_in(meta, CLOCK),
        open=runs.open(being_id),
        last=runs.latest(being_id),
    )
