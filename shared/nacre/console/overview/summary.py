"""A Being at a glance: how much it remembers, and what it remembered last."""

from dataclasses import dataclass

from nacre.being.memory.model.counters import (
    PENDING_MESSAGES,
    PENDING_SCENES,
    UNREAD,
    count_in,
    counters,
)
from nacre.being.memory.model.types import Cluster
from nacre.being.memory.search.candidates import Remembered, Shelf
from nacre.being.memory.services import Mind
from nacre.being.memory.store import targets
from nacre.being.memory.store.entries import Entry
from nacre.being.memory.store.merges import CLOCK
from nacre.being.patrol.run.runs import Run, Runs
from nacre.ports.items.table import Table
from nacre.ports.vectors import Kind

_GROUPS = 8
_RECENT = 6


@dataclass(frozen=True, slots=True)
class Glance:
    """What the overview shows."""

    memories: int  # in groups; those that no patrol has grouped are counted apart
    ungrouped: int
    groups: tuple[Cluster, ...]
    group_count: int
    scenes: int
    messages: int
    unread: int
    notes: int
    relations: int
    days: int  # active ones
    recent: tuple[Remembered, ...]
    waiting: tuple[Remembered, ...]  # scenes that no patrol has taken, the newest first
    diary: Entry | None
    last_run: Run | None

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever noted."""
        return not (self.memories or self.ungrouped or self.scenes or self.notes or self.days)


def glance(table: Table, mind: Mind, being_id: str) -> Glance:
    """Return a Being at a glance; looking counts as no recall."""
    memory = mind.memory
    meta = counters(table, being_id)
    groups = memory.clusters.active(being_id)
    recent = memory.nodes.recent(being_id, limit=_RECENT).nodes
    shown: dict[str, Kind] = {node.node_id: "node" for node in recent}
    pending = memory.scenes.pending(being_id, limit=_RECENT).scenes
    scenes: dict[str, Kind] = dict.fromkeys((each.scene_id for each in pending), "scene")
    loose = [node for node in memory.nodes.in_cluster(being_id, None).nodes if node.is_living]
    diary = memory.profile.page(being_id, targets.DIARY, newest_first=True, limit=1).entries
    return Glance(
        memories=sum(group.n_active for group in groups),
        ungrouped=len(loose),
        groups=tuple(groups[:_GROUPS]),
        group_count=len(groups),
        scenes=count_in(meta, PENDING_SCENES),
        messages=count_in(meta, PENDING_MESSAGES),
        unread=count_in(meta, UNREAD),
        notes=count_in(meta, targets.NOTES.counter),
        relations=count_in(meta, "n_relations"),
        days=count_in(meta, CLOCK),
        recent=tuple(Shelf(table).read(being_id, shown)),
        waiting=tuple(Shelf(table).read(being_id, scenes)),
        diary=memory.profile.with_text(being_id, targets.DIARY, diary[0]) if diary else None,
        last_run=next(iter(Runs(table).page(being_id, limit=1).runs), None),
    )
