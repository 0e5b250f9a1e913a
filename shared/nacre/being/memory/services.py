"""The memory as tools and pages use it: its repositories, its searches and its opening context."""

from collections.abc import Callable
from random import Random

from nacre.access.beings import Beings
from nacre.being.memory.conversations.captured_store import CapturedConversations
from nacre.being.memory.index.cluster_vectors import ClusterMeans
from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.repositories import Repositories, open_repositories
from nacre.being.memory.search.browse import MemoryBrowser
from nacre.being.memory.search.candidates import MemoryReader
from nacre.being.memory.search.opening_context import ContextBlocks
from nacre.being.memory.search.queries import MemoryQueries
from nacre.being.memory.search.recent_memories import RecentMemories
from nacre.being.memory.search.search import Search
from nacre.being.memory.search.time_search import TimeSearch
from nacre.being.memory.store.diary import think_notes
from nacre.being.memory.store.kept_questions import KeptQuestions
from nacre.being.memory.store.nodes import Nodes
from nacre.being.memory.store.recall_log import RecallLog
from nacre.being.memory.writer_origins import WriterOrigins
from nacre.core.clock import Clock
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.items.table import Table
from nacre.ports.queue import Queue
from nacre.ports.untrusted_results import NoUntrustedResults, UntrustedResults
from nacre.ports.vectors.embedder import TokenSimilarity


@dataclass(frozen=True, slots=True)
class MemoryServices:
    """The memory of all Beings of a store."""

    memory: Repositories
    search: Search
    queries: MemoryQueries
    context: ContextBlocks
    captured: CapturedConversations
    writers: WriterOrigins


def open_services(
    table: Table,
    queue: Queue,
    indexing: IndexSync,
    tokens: TokenSimilarity | None,
    *,
    clock: Clock,
    rng: Random,
    results: Callable[[], UntrustedResults] = NoUntrustedResults,
) -> MemoryServices:
    """Return the memory over these stores; `tokens`, if any, compares texts word by word.

    `results` opens the ledger of what clients have received from other servers.
    """
    writers = WriterOrigins(results, clock)
    vectors = ClusterMeans(table, Nodes(table, indexing), indexing)
    memory = open_repositories(table, queue, indexing, vectors, clock=clock, rng=rng)
    reader = MemoryReader(table)
    browser = MemoryBrowser(
        table, reader, memory.clusters, memory.scenes, memory.history, clock=clock
    )
    search = Search(reader, indexing.searched_index, tokens=tokens)
    return MemoryServices(
        memory=memory,
        search=search,
        queries=MemoryQueries(
            TimeSearch(search, reader, indexing.searched_index, clock),
            browser,
            # Losing a count to a power cut is better than a recall that waits for the disk.
            RecallLog(indexing.non_durable_table, clock=clock, rng=rng),
            memory.history,
            writers,
            # The same holds for a question.
            KeptQuestions(indexing.non_durable_table, clock=clock),
        ),
        context=ContextBlocks(
            Beings(table, clock=clock, rng=rng),
            memory.entries,
            memory.relations,
            memory.letters,
            memory.nodes,
            memory.clusters,
            RecentMemories(memory.nodes, memory.scenes, clock),
            lambda being_id: think_notes(table, being_id),
            clock=clock,
        ),
        captured=CapturedConversations(table, clock=clock),
        writers=writers,
    )
