"""One collection of Qdrant for each embedding, behind an alias with its name."""

import hashlib
import re
import warnings

from qdrant_client import QdrantClient, models

from nacre.adapters.qdrant.calls import QdrantCalls
from nacre.core.errors import UnavailableError
from nacre.ports.vectors.vector_index import dimension_of

DENSE = "dense"
SPARSE = "sparse"

_LAYOUT = 1  # the layout of this file; another layout needs another collection
_KEYWORDS = ("kind", "state", "cluster_id")
# No graph over all points: each Being has a graph, because every question names a Being.
_GRAPH = models.HnswConfigDiff(m=0, payload_m=16)


def alias_of(emb_id: str, *, prefix: str) -> str:
    """Return the alias of an embedding's collection: readable, and different for each embedding."""
    readable = re.sub(r"[^a-z0-9]+", "-", emb_id.lower()).strip("-")[:60]
    return f"{prefix}-{readable}-{hashlib.sha256(emb_id.encode()).hexdigest()[:8]}"


def make_collection(
    client: QdrantClient, emb_id: str, *, prefix: str, call: QdrantCalls | None = None
) -> None:
    """Create an embedding's collection if it is missing; the alias comes last, when it is ready."""
    call = call or QdrantCalls()
    alias = alias_of(emb_id, prefix=prefix)
    name = f"{alias}-v{_LAYOUT}"
    if not call("collection_exists", lambda: client.collection_exists(name)):
        _create(client, name, dimension_of(emb_id), call)
    _index_payload(client, name, call)
    aliases = call("get_aliases", client.get_aliases).aliases
    if not any(entry.alias_name == alias for entry in aliases):
        operation = models.CreateAliasOperation(
            create_alias=models.CreateAlias(collection_name=name, alias_name=alias)
        )
        call("update_collection_aliases", lambda: client.update_collection_aliases([operation]))


def _create(client: QdrantClient, name: str, dimension: int, call: QdrantCalls) -> None:
    # Vectors have length 1, so DOT is the cosine, also for a vector of zeros.
    dense = models.VectorParams(size=dimension, distance=models.Distance.DOT)
    sparse = models.SparseVectorParams(modifier=models.Modifier.IDF)
    try:
        call(
            "create_collection",
            lambda: client.create_collection(
                name,
                vectors_config={DENSE: dense} if dimension else {},
                sparse_vectors_config={SPARSE: sparse},
                hnsw_config=_GRAPH,
            ),
        )
    except UnavailableError:
        # The server also refuses if another process has just created it.
        if not call("collection_exists", lambda: client.collection_exists(name)):
            raise


def _index_payload(client: QdrantClient, name: str, call: QdrantCalls) -> None:
    tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
    fields: dict[str, models.PayloadFieldSchema] = {"being_id": tenant}
    fields |= dict.fromkeys(_KEYWORDS, models.PayloadSchemaType.KEYWORD)
    fields["days"] = models.PayloadSchemaType.INTEGER
    with warnings.catch_warnings():
        # The client's local mode warns each time that it ignores these.
        warnings.filterwarnings("ignore", "Payload indexes have no effect")
        for field, schema in fields.items():
            call(
                "create_payload_index",
                lambda field=field, schema=schema: client.create_payload_index(  # type: ignore[misc]
                    name, field_name=field, field_schema=schema
                ),
            )
