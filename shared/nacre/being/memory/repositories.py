"""All repositories of the memory, over the same items."""

from random import Random

from nacre.access.beings import Beings
from nacre.being.memory.memory_actions import MemoryActions
from nacre.being.memory.patrol_trigger import PatrolTrigger
from nacre.being.memory.store.clusters import Clusters
from nacre.being.memory.store.corrections import Corrections
from nacre.being.memory.store.edits import ClusterVectors, MemoryEdits
from nacre.being.memory.store.entries import Entries
from nacre.being.memory.store.history import History
from nacre.being.memory.store.letters import Letters
from nacre.being.memory.store.nodes import Nodes
from nacre.being.memory.store.recall_log import RecallLog
from nacre.being.memory.store.relations import Relations
from nacre.being.memory.store.scenes import Scenes
from nacre.being.memory.target_actions import TargetActions
from nacre.being.memory.text.searchable_text import SearchIndex
from nacre.core.clock import Clock
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.items.table import Table
from nacre.ports.queue import Queue


@dataclass(frozen=True, slots=True)
class Repositories:
    """All repositories. Each of their methods takes the Being's id first."""

    entries: Entries
    letters: Letters
    relations: Relations
    scenes: Scenes
    nodes: Nodes
    recalls: RecallLog
    clusters: Clusters
    edits: MemoryEdits
    corrections: Corrections
    history: History
    trigger: PatrolTrigger
    target_actions: TargetActions


def open_repositories(
    table: Table,
    queue: Queue,
    index: SearchIndex,
    vectors: ClusterVectors,
    *,
    clock: Clock,
    rng: Random,
) -> Repositories:
    """Return the repositories over these stores."""
    entries = Entries(table, clock=clock, rng=rng)
    letters = Letters(table, Beings(table, clock=clock, rng=rng), clock=clock, rng=rng)
    scenes = Scenes(table, index, entries, clock=clock, rng=rng)
    nodes = Nodes(table, index)
    clusters = Clusters(table)
    history = History(table, clock=clock)
    trigger = PatrolTrigger(table, queue, clock=clock)
    edits = MemoryEdits(table, nodes, clusters, index, vectors, clock=clock)
    corrections = Corrections(edits)
    return Repositories(
        entries=entries,
        letters=letters,
        relations=Relations(table, clock=clock),
        scenes=scenes,
        nodes=nodes,
        recalls=RecallLog(table, clock=clock, rng=rng),
        clusters=clusters,
        edits=edits,
        corrections=corrections,
        history=history,
        trigger=trigger,
        target_actions=TargetActions(entries, letters, MemoryActions(nodes, corrections)),
    )
