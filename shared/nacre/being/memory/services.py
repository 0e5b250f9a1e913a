"""All that the tools of a Being stand on: what it keeps, how it finds it, how it presents it."""

from dataclasses import dataclass
from random import Random

from nacre.access.beings import Beings
from nacre.being.memory.index.cluster_vectors import ClusterMeans
from nacre.being.memory.index.sync import Indexing
from nacre.being.memory.repositories import Memory, memory_over
from nacre.being.memory.search.browse import Explore
from nacre.being.memory.search.candidates import Shelf
from nacre.being.memory.search.opening_context import ContextBlocks
from nacre.being.memory.search.recall import Recollection
from nacre.being.memory.search.search import Search
from nacre.being.memory.store.nodes import Nodes
from nacre.being.memory.store.think_notes import think_notes
from nacre.core.clock import Clock
from nacre.ports.embedder import TokenSimilarity
from nacre.ports.items.table import Table
from nacre.ports.queue import Queue


@dataclass(frozen=True, slots=True)
class Mind:
    """The memory of every Being of a store, to be written, read and presented."""

    memory: Memory
    search: Search
    recollection: Recollection
    context: ContextBlocks


def mind_over(
    table: Table,
    queue: Queue,
    indexing: Indexing,
    tokens: TokenSimilarity | None,
    *,
    clock: Clock,
    rng: Random,
) -> Mind:
    """Return the mind over these stores; `tokens` compares texts word by word, where it can."""
    vectors = ClusterMeans(table, Nodes(table, indexing, clock=clock), indexing)
    memory = memory_over(table, queue, indexing, vectors, clock=clock, rng=rng)
    shelf = Shelf(table)
    explore = Explore(table, shelf, memory.clusters, memory.scenes, memory.history)
    search = Search(shelf, indexing.reading, tokens=tokens)
    return Mind(
        memory=memory,
        search=search,
        # A count that a power cut takes costs less than every recall waiting for the disk.
        recollection=Recollection(search, explore, Nodes(indexing.relaxed, indexing, clock=clock)),
        context=ContextBlocks(
            Beings(table, clock=clock, rng=rng),
            memory.profile,
            memory.relations,
            memory.letters,
            memory.nodes,
            memory.clusters,
            lambda being_id: think_notes(table, being_id),
            clock=clock,
        ),
    )
