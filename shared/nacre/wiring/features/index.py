"""What keeps and searches memories: in the store's own file, in Qdrant, or in the items."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any

from nacre.being.memory.index.cluster_vectors import ClusterMeans
from nacre.being.memory.index.jobs import IndexJobs, WorkHere
from nacre.being.memory.index.maintenance import Upkeep
from nacre.being.memory.index.sync import Indexing
from nacre.being.memory.store.nodes import Nodes
from nacre.core.clock import Clock
from nacre.core.errors import ConfigurationError
from nacre.ports.embedder import Embedder
from nacre.ports.items.table import Table
from nacre.ports.queue import Queue
from nacre.ports.vectors import VectorIndex
from nacre.wiring.features.embeddings import builtin_embedder
from nacre.wiring.settings import Settings

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

    from nacre.adapters.qdrant.calls import QdrantCalls
    from nacre.adapters.sqlite.database import SqliteDatabase
    from nacre.jobs.lease import Leases


@dataclass(frozen=True, slots=True)
class SearchIndex:
    """The index of every Being of a store: what writes and reads it, and what looks after it."""

    indexing: Indexing
    upkeep: Upkeep
    jobs: IndexJobs

    def work(self, leases: "Leases") -> WorkHere:
        """Return what does tasks for a whole Being in this process."""
        return WorkHere(self.upkeep, leases)


def laptop_index(
    database: "SqliteDatabase",
    queue: Queue,
    embedder: Embedder | None,
    settings: Settings,
    *,
    clock: Clock,
    rng: Random,
) -> SearchIndex:
    """Return the index beside the items, or in the Qdrant of the settings."""
    from nacre.adapters.sqlite.table import SqliteTable

    def local(emb_id: str) -> VectorIndex:
        from nacre.adapters.sqlite.vectors import LocalVectors

        return LocalVectors(database, emb_id)

    table = SqliteTable(database, "data", now=clock)
    # What follows from durable items may be lost and made again; it waits for no disk.
    relaxed = SqliteTable(database, "data", now=clock, durable=False)
    indexes = _qdrant(settings) or local
    return _search_index(table, queue, indexes, embedder, clock=clock, rng=rng, relaxed=relaxed)


def stack_index(
    table: Table,
    queue: Queue,
    embedder: Embedder | None,
    settings: Settings,
    *,
    clock: Clock,
    rng: Random,
    key: Callable[[], str] = str,
) -> SearchIndex:
    """Return the index in the Qdrant of the settings; without one, the items are searched.

    `key` gives the server's key where no setting does, and is asked with the first request.
    """

    def items(emb_id: str) -> VectorIndex:
        from nacre.adapters.vectors.item_vectors import ItemVectors

        return ItemVectors(table, emb_id)

    indexes = _qdrant(settings, key) or items
    return _search_index(table, queue, indexes, embedder, clock=clock, rng=rng)


def stack_secret(client: "Callable[[str], Any]", place: str) -> str:
    """Return a secret of the stack by its place; empty where the settings name none."""
    if not place:
        return ""
    from nacre.adapters.aws.ssm_secrets import SsmSecrets

    prefix, _, name = place.rpartition("/")
    value = SsmSecrets(client("ssm"), prefix=prefix, key_arn="").get(name)
    if value is None:
        raise ConfigurationError(
            f"the secret {name} is not set; set it with: nacre secret set {name} --stack STACK"
        )
    return value


def _search_index(
    table: Table,
    queue: Queue,
    indexes: Callable[[str], VectorIndex],
    embedder: Embedder | None,
    *,
    clock: Clock,
    rng: Random,
    relaxed: Table | None = None,
) -> SearchIndex:
    jobs = IndexJobs(table, queue, clock=clock)
    indexing = Indexing(
        table,
        indexes,
        embedder,
        clock=clock,
        rng=rng,
        other=builtin_embedder,
        relaxed=relaxed,
        failed=jobs.repair_later,
    )
    means = ClusterMeans(table, Nodes(table, indexing, clock=clock), indexing)
    return SearchIndex(indexing, Upkeep(indexing, means.renew), jobs)


def _qdrant(
    settings: Settings, key: Callable[[], str] = str
) -> Callable[[str], VectorIndex] | None:
    if not settings.qdrant_url:
        return None

    @cache
    def connection() -> "tuple[QdrantClient, QdrantCalls]":
        try:
            from nacre.adapters.qdrant.calls import QdrantCalls, connect
        except ImportError:
            raise ConfigurationError(
                "NACRE_QDRANT_URL: the client for Qdrant is not installed; "
                "in the clone: make setup, or pip install '.[qdrant]'"
            ) from None
        client = connect(settings.qdrant_url, settings.qdrant_api_key.reveal() or key())
        return client, QdrantCalls()

    def index(emb_id: str) -> VectorIndex:
        client, call = connection()
        from nacre.adapters.qdrant.vectors import QdrantVectors

        return QdrantVectors(client, emb_id, call=call)

    return index
