"""The search index: in the store's own file, in Qdrant, or in the items."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from nacre.being.memory.index.cluster_vectors import ClusterMeans
from nacre.being.memory.index.jobs import IndexJobs, LocalIndexWork
from nacre.being.memory.index.maintenance import IndexMaintenance
from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.store.nodes import Nodes
from nacre.core.errors import ConfigurationError
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.vectors.embedder import Embedder
from nacre.ports.vectors.vector_index import VectorIndex
from nacre.wiring.features.embeddings import builtin_embedder, gives_way
from nacre.wiring.settings import Settings

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

    from nacre.adapters.qdrant.calls import QdrantCalls
    from nacre.jobs.lease import Leases
    from nacre.wiring.ports import Ports


@dataclass(frozen=True, slots=True)
class SearchIndex:
    """The index of every Being of a store, with its maintenance and its jobs."""

    indexing: IndexSync
    maintenance: IndexMaintenance
    jobs: IndexJobs

    def work(self, leases: "Leases") -> LocalIndexWork:
        """Return the work on the index of a whole Being, done in this process."""
        return LocalIndexWork(self.maintenance, leases)


def search_index(ports: "Ports", settings: Settings, embedder: Embedder | None) -> SearchIndex:
    """Return the Qdrant index if configured, else the deployment's own."""
    table, clock = ports.data, ports.clock
    jobs = IndexJobs(table, ports.queue, clock=clock)
    indexing = IndexSync(
        table,
        _qdrant(ports, settings) or ports.vectors,
        embedder,
        clock=clock,
        rng=ports.rng,
        load_embedder=builtin_embedder,
        # Derived data can be rebuilt, so these writes do not wait for the disk.
        non_durable_table=ports.non_durable_data,
        failed=jobs.repair_later,
        gives_way=gives_way,
        outdated=jobs.reindex_later,
    )
    means = ClusterMeans(table, Nodes(table, indexing), indexing)
    return SearchIndex(indexing, IndexMaintenance(indexing, means.renew), jobs)


def _qdrant(ports: "Ports", settings: Settings) -> Callable[[str], VectorIndex] | None:
    if not settings.qdrant_url:
        return None

    @cache
    def connection() -> "tuple[QdrantClient, QdrantCalls]":
        try:
            from nacre.adapters.qdrant.calls import QdrantCalls, connect
        except ImportError:
            raise ConfigurationError(
                "NACRE_QDRANT_URL: Qdrant support is not installed; "
                "in your clone run 'make setup', or pip install '.[qdrant]'"
            ) from None
        key = settings.qdrant_api_key.reveal() or ports.secret_at(settings.qdrant_secret)
        from nacre.wiring.outgoing import outgoing_of

        return connect(settings.qdrant_url, key, outgoing_of(settings)), QdrantCalls()

    def index(emb_id: str) -> VectorIndex:
        client, call = connection()
        from nacre.adapters.qdrant.vectors import QdrantVectors

        return QdrantVectors(client, emb_id, call=call)

    return index
