"""One round of the patrol: what all its steps work with."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from nacre.being.memory.index.sync import Indexing
from nacre.being.memory.repositories import Memory
from nacre.being.patrol.compare.nearest import Nearest
from nacre.being.patrol.compare.scene_decision import Deciding
from nacre.being.patrol.compare.space import Space, space_of
from nacre.being.patrol.planning.plans import Thinking
from nacre.being.patrol.run.index_updates import Telling
from nacre.being.patrol.run.ledger import Ledger
from nacre.being.patrol.run.runs import Run, Runs
from nacre.ports.items.table import Table
from nacre.ports.queue import Queue


@dataclass(frozen=True)
class Round:
    """A Being's run at work."""

    being_id: str
    run: Run  # as it was when this worker took it up
    ledger: Ledger
    table: Table
    queue: Queue
    memory: Memory
    indexing: Indexing
    thinking: Thinking | None
    keep: Callable[[], None]

    @cached_property
    def space(self) -> Space:
        """Return what vectors mean here; the same from the first step that asks to the end."""
        return space_of(self.table, self.indexing, self.being_id)

    @cached_property
    def nearest(self) -> Nearest:
        """Return what looks around a note."""
        return Nearest(self.table, self.memory.nodes, self.indexing, self.being_id)

    @cached_property
    def deciding(self) -> Deciding:
        """Return what decides about scenes."""
        return Deciding(self.table, self.being_id, self.space, self.nearest, self.memory.nodes)

    @cached_property
    def telling(self) -> Telling:
        """Return what tells the index."""
        return Telling(self.indexing, self.being_id)

    @cached_property
    def runs(self) -> Runs:
        """Return what reads runs and their plans."""
        return Runs(self.table)
