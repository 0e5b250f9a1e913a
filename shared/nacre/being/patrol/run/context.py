"""The context of one run, which all its steps share."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.repositories import Repositories
from nacre.being.patrol.compare.neighbours import NeighbourSearch
from nacre.being.patrol.compare.scene_decision import SceneDecider
from nacre.being.patrol.compare.space import Space, space_of
from nacre.being.patrol.planning.plans import Planner
from nacre.being.patrol.run.index_updates import IndexUpdates
from nacre.being.patrol.run.ledger import Ledger
from nacre.being.patrol.run.runs import Run, Runs
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.items.table import Key, Table, Write
from nacre.ports.queue import Queue


@dataclass(frozen=True)
class RunContext:
    """One run of a Being's patrol, and all that its steps need."""

    being_id: str
    run: Run  # as it was when this worker began or resumed it
    ledger: Ledger
    table: Table
    queue: Queue
    memory: Repositories
    indexing: IndexSync
    planner: Planner | None
    renew_lease: Callable[[], None]
    heard_facts: int = 0  # the most that rules may find in the messages of a day
    captured_facts: int = 0  # the same in messages that were captured from clients

    @cached_property
    def space(self) -> Space:
        """The vector space of the Being, read once."""
        return space_of(self.table, self.indexing, self.being_id)

    @cached_property
    def neighbours(self) -> NeighbourSearch:
        """The search for memories and clusters near a note."""
        return NeighbourSearch(self.table, self.memory.nodes, self.indexing, self.being_id)

    @cached_property
    def decider(self) -> SceneDecider:
        """The decisions about scenes."""
        return SceneDecider(
            self.table, self.being_id, self.space, self.neighbours, self.memory.nodes
        )

    @cached_property
    def index_updates(self) -> IndexUpdates:
        """The updates of the search index."""
        return IndexUpdates(self.indexing, self.being_id)

    @cached_property
    def recalled(self) -> set[str]:
        """The ids of nodes whose recalls were just counted: an index may not list them yet."""
        return set()

    @cached_property
    def runs(self) -> Runs:
        """The stored runs and their plans."""
        return Runs(self.table)

    def commit(
        self,
        writes: Sequence[Write],
        *,
        counts: Mapping[str, int],
        reasons: Sequence[str] = (),
        meta: Mapping[str, int] | None = None,
    ) -> None:
        """Commit writes through the ledger, then apply their index updates."""
        self.ledger.commit(writes, counts=counts, reasons=reasons, meta=meta)
        self.index_updates.apply(writes)
        if "neighbours" in self.__dict__:
            self.neighbours.follow(writes)

    def plan(self, name: str) -> list[Any] | None:
        """Return the stored plan of this run with this name; None before it is stored."""
        return self.runs.plan(self.being_id, self.run.seq, name)

    def scene_ids(self) -> list[str]:
        """Return the run's scenes in order: those that waited, then those found in messages."""
        waiting = [entry["scene"] for entry in self.plan("INPUT") or [] if entry.get("scene")]
        extracted = self.plan("EXTRACT") or []
        return [*waiting, *(entry["scene_id"] for entry in extracted if entry.get("scene_id"))]

    def message_keys(self) -> list[Key]:
        """Return the keys of the run's messages."""
        entries = self.plan("INPUT") or []
        return [Key(*entry["message"]) for entry in entries if entry.get("message")]
