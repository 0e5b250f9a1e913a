"""A summary of a Being: how much it remembers, and its latest memories."""

from nacre.being.memory.model.counters import (
    CLOCK,
    PENDING_MESSAGES,
    PENDING_SCENES,
    UNREAD,
    count_in,
    counters,
)
from nacre.being.memory.model.types import Cluster
from nacre.being.memory.search.candidates import Memory, MemoryReader
from nacre.being.memory.services import MemoryServices
from nacre.being.memory.store import targets
from nacre.being.memory.store.entry_items import Entry
from nacre.being.patrol.run.runs import Run, Runs
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.items.table import Table
from nacre.ports.vectors.vector_index import Kind

_CLUSTERS = 8
_RECENT = 6


@dataclass(frozen=True, slots=True)
class Summary:
    """The values that the overview shows."""

    memories: int  # in clusters; the others are counted apart
    ungrouped: int
    clusters: tuple[Cluster, ...]
    cluster_count: int
    scenes: int
    messages: int
    unread: int
    notes: int
    relations: int
    days: int  # active ones
    recent: tuple[Memory, ...]
    waiting: tuple[Memory, ...]  # scenes that no patrol has processed, newest first
    diary: Entry | None
    last_run: Run | None

    @property
    def is_new(self) -> bool:
        """Tell whether nothing was ever noted."""
        return not (self.memories or self.ungrouped or self.scenes or self.notes or self.days)


def summarize(table: Table, services: MemoryServices, being_id: str) -> Summary:
    """Return the summary of a Being; this does not count as a recall."""
    memory = services.memory
    meta = counters(table, being_id)
    # One whose memories were merged or forgotten is on no map until a patrol takes it away.
    clusters = [cluster for cluster in memory.clusters.active(being_id) if cluster.n_active]
    recent = memory.nodes.recent(being_id, limit=_RECENT).nodes
    nodes: dict[str, Kind] = {node.node_id: "node" for node in recent}
    pending = memory.scenes.pending(being_id, limit=_RECENT).scenes
    scenes: dict[str, Kind] = dict.fromkeys((scene.scene_id for scene in pending), "scene")
    loose = [node for node in memory.nodes.in_cluster(being_id, None).nodes if node.is_living]
    diary = memory.entries.page(being_id, targets.DIARY, newest_first=True, limit=1).entries
    return Summary(
        memories=sum(cluster.n_active for cluster in clusters),
        ungrouped=len(loose),
        clusters=tuple(clusters[:_CLUSTERS]),
        cluster_count=len(clusters),
        scenes=count_in(meta, PENDING_SCENES),
        messages=count_in(meta, PENDING_MESSAGES),
        unread=count_in(meta, UNREAD),
        notes=count_in(meta, targets.NOTES.counter),
        relations=count_in(meta, "n_relations"),
        days=count_in(meta, CLOCK),
        recent=tuple(MemoryReader(table).read(being_id, nodes)),
        waiting=tuple(MemoryReader(table).read(being_id, scenes)),
        diary=memory.entries.with_text(being_id, targets.DIARY, diary[0]) if diary else None,
        last_run=next(iter(Runs(table).page(being_id, limit=1).runs), None),
    )
