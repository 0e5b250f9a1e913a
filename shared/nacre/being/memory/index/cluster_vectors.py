"""The vectors of clusters: the normalized mean of the subject vectors of living members."""

import math
import struct
from collections.abc import Iterable, Sequence

from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.index.vector_items import CLUSTER, VECTOR_OF
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import count_in
from nacre.being.memory.store.nodes import Nodes
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.ports.embedder import Vector
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Absent, Check, Compare, Delete, Item, Key, Put, Table

CLUSTER_VECTOR = ItemSchema("cluster vector", 1)
LENGTH_OF = "len:"  # prefix of the attribute with the length of the mean before normalizing
CIRCUMSTANCES = "people_words"  # the attribute with the mean of the members' people and words


class ClusterMeans:
    """Computes and reads the vectors of clusters, one for each embedding in use."""

    def __init__(self, table: Table, nodes: Nodes, indexing: IndexSync) -> None:
        self._table = table
        self._nodes = nodes
        self._indexing = indexing

    def get(self, being_id: str, cluster_id: str, emb_id: str) -> Vector | None:
        """Return the vector of a cluster in an embedding, or None."""
        item = self._table.get(vector_place(being_id, cluster_id))
        vector = None if item is None else item.get(VECTOR_OF + emb_id)
        return vector if isinstance(vector, bytes) else None

    def renew(self, being_id: str, cluster_id: str, moved: Iterable[str] = ()) -> None:
        """Compute the vector again from the members.

        `moved` are nodes that have just joined or left, because the list of members may lag
        behind. Raises ConflictError when the cluster keeps changing meanwhile.
        """
        node_ids = list(moved)
        retry_on_conflict(lambda: self._renew(being_id, cluster_id, node_ids))

    def item(self, being_id: str, cluster_id: str, members: Sequence[str]) -> Item | None:
        """Return the item with the vectors of a cluster of these members, or None."""
        state, items = self._indexing.read(being_id, members)
        means: Item = {}
        for emb_id in () if state is None else state.emb_ids:
            subjects = [item.subject_vector(emb_id) for item in items.values()]
            mean = mean_of([vector for vector in subjects if vector is not None])
            if mean is not None:
                means[VECTOR_OF + emb_id], means[LENGTH_OF + emb_id] = mean
        return cluster_item(being_id, cluster_id, len(members), means) if means else None

    def _renew(self, being_id: str, cluster_id: str, moved: Sequence[str]) -> None:
        # Every change of the members raises the version, so a mean of former members is refused.
        cluster = self._table.get(Key(keys.clusters(being_id), cluster_id))
        members = self._nodes.living_members(being_id, cluster_id, moved)
        item = self.item(being_id, cluster_id, [node.node_id for node in members])
        is_unchanged = (
            Absent() if cluster is None else Compare("version", "=", count_in(cluster, "version"))
        )
        place = vector_place(being_id, cluster_id)
        self._table.transact(
            [
                Check(Key(keys.clusters(being_id), cluster_id), is_unchanged),
                Delete(place) if item is None else Put(item),
            ]
        )


def cluster_item(being_id: str, cluster_id: str, count: int, means: Item) -> Item:
    """Return the item of a cluster's vectors, with the lengths of the means."""
    return CLUSTER_VECTOR.stamp(
        {**vector_place(being_id, cluster_id).attributes(), "count": count, **means}
    )


def mean_of(vectors: Sequence[Vector]) -> tuple[Vector, float] | None:
    """Return the normalized mean of vectors and its length before, or None if that is zero."""
    if not vectors:
        return None
    form = f"<{len(vectors[0]) // 4}f"
    means = [
        math.fsum(column) / len(vectors)
        for column in zip(*(struct.unpack(form, vector) for vector in vectors), strict=True)
    ]
    length = math.sqrt(math.fsum(part * part for part in means))
    if length == 0:
        return None
    return struct.pack(form, *(part / length for part in means)), length


def vector_place(being_id: str, cluster_id: str) -> Key:
    """Return the key of the vectors of a cluster."""
    return Key(keys.vectors(being_id), CLUSTER + cluster_id)
