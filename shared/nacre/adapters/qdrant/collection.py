"""One collection of Qdrant for each embedding, behind an alias that says which."""

import hashlib
import re
import warnings

from qdrant_client import QdrantClient, models

from nacre.adapters.qdrant.calls import QdrantCalls
from nacre.core.errors import UnavailableError
from nacre.ports.vectors import dimension_of

DENSE = "dense"
SPARSE = "sparse"

_LAYOUT = 1  # what follows from this file; another one gets a collection of its own
_KEYWORDS = ("kind", "state", "cluster_id")
# No graph over all points: each Being gets one of its own, as every question names a Being.
_GRAPH = models.HnswConfigDiff(m=0, payload_m=16)


def alias_of(emb_id: str, *, prefix: str) -> str:
    """Return the name under which an embedding's collection is reached.

    It can be read, and no two embeddings share it.
    """
    readable = re.sub(r"[^a-z0-9]+", "-", emb_id.lower()).strip("-")[:60]
    return f"{prefix}-{readable}-{hashlib.sha256(emb_id.encode()).hexdigest()[:8]}"


def make_collection(
    client: QdrantClient, emb_id: str, *, prefix: str, call: QdrantCalls | None = None
) -> None:
    """Make an embedding's collection where it is not; the alias comes last, so it means ready."""
    call = call or QdrantCalls()
    alias = alias_of(emb_id, prefix=prefix)
    name = f"{alias}-v{_LAYOUT}"
    if not call("collection_exists", lambda: client.collection_exists(name)):
        _create(client, name, dimension_of(emb_id), call)
    _index_payload(client, name, call)
    there = call("get_aliases", client.get_aliases).aliases
    if not any(each.alias_name == alias for each in there):
        operation = models.CreateAliasOperation(
            create_alias=models.CreateAlias(collection_name=name, alias_name=alias)
        )
        call("update_collection_aliases", lambda: client.update_collection_aliases([operation]))


def _create(client: QdrantClient, name: str, dimension: int, call: QdrantCalls) -> None:
    # Vectors have length 1, so DOT is the cosine and leaves a vector of zeros alone.
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
        # Another process may have been faster, and the server then refuses.
        if not call("collection_exists", lambda: client.collection_exists(name)):
            raise


def _index_payload(client: QdrantClient, name: str, call: QdrantCalls) -> None:
    tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
    fields: dict[str, models.PayloadFieldSchema] = {"being_id": tenant}
    fields |= dict.fromkeys(_KEYWORDS, models.PayloadSchemaType.KEYWORD)
    fields["days"] = models.PayloadSchemaType.INTEGER
    with warnings.catch_warnings():
        # The client's local mode says each time that it has no use for these.
        warnings.filterwarnings("ignore", "Payload indexes have no effect")
        for field, schema in fields.items():
            call(
                "create_payload_index",
                lambda field=field, schema=schema: client.create_payload_index(  # type: ignore[misc]
                    name, field_name=field, field_schema=schema
                ),
            )
