"""The memory of Beings as one whole: every repository over the same items."""

from dataclasses import dataclass
from random import Random

from nacre.access.beings import Beings
from nacre.being.memory.patrol_trigger import PatrolTrigger
from nacre.being.memory.record_notes import Noting
from nacre.being.memory.search.history_search import Recounting
from nacre.being.memory.store.clusters import Clusters
from nacre.being.memory.store.edits import Amends
from nacre.being.memory.store.history import History
from nacre.being.memory.store.letters import Letters
from nacre.being.memory.store.merges import ClusterVectors, Merges
from nacre.being.memory.store.nodes import Nodes
from nacre.being.memory.store.profile import Profile
from nacre.being.memory.store.relations import Relations
from nacre.being.memory.store.scenes import Scenes
from nacre.being.memory.text.searchable_text import SearchIndex
from nacre.being.memory.updates import Updates
from nacre.core.clock import Clock
from nacre.ports.items.table import Table
from nacre.ports.queue import Queue


@dataclass(frozen=True, slots=True)
class Memory:
    """Every repository; each method takes the Being's id first."""

    profile: Profile
    letters: Letters
    relations: Relations
    scenes: Scenes
    nodes: Nodes
    clusters: Clusters
    merges: Merges
    amends: Amends
    history: History
    trigger: PatrolTrigger
    updates: Updates  # what `update_memory` does
    noting: Noting  # what `update_notes` does
    recounting: Recounting  # what `search_history` does


def memory_over(
    table: Table,
    queue: Queue,
    index: SearchIndex,
    vectors: ClusterVectors,
    *,
    clock: Clock,
    rng: Random,
) -> Memory:
    """Return the memory that these stores hold."""
    profile = Profile(table, clock=clock, rng=rng)
    letters = Letters(table, Beings(table, clock=clock, rng=rng), clock=clock, rng=rng)
    scenes = Scenes(table, index, profile, clock=clock, rng=rng)
    nodes = Nodes(table, index, clock=clock)
    clusters = Clusters(table)
    history = History(table, clock=clock)
    trigger = PatrolTrigger(table, queue, clock=clock)
    return Memory(
        profile=profile,
        letters=letters,
        relations=Relations(table, clock=clock),
        scenes=scenes,
        nodes=nodes,
        clusters=clusters,
        merges=Merges(table, nodes, clusters, index, vectors, clock=clock),
        amends=Amends(table, nodes, clusters, index, vectors),
        history=history,
        trigger=trigger,
        updates=Updates(profile, letters),
        noting=Noting(scenes, trigger),
        recounting=Recounting(history),
    )
