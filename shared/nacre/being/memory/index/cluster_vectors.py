"""The vector of a cluster: the mean of its living members' subjects, of length 1."""

import math
import struct
from collections.abc import Iterable, Sequence

from nacre.being.memory.index.sync import Indexing
from nacre.being.memory.index.vector_items import CLUSTER, VECTOR_OF, vectors
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import count_in
from nacre.being.memory.model.types import Node, NodeStatus
from nacre.being.memory.store.nodes import Nodes
from nacre.being.memory.store.retry import settled
from nacre.ports.embedder import Vector
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Absent, Check, Compare, Delete, Item, Key, Put, Table

CLUSTER_VECTOR = ItemSchema("cluster vector", 1)
LENGTH_OF = "len:"  # before the embedding's id: how long the mean was before it was made 1
_LIVING: tuple[NodeStatus, ...] = ("active", "dying")


class ClusterMeans:
    """Makes and reads the vectors of clusters, one in each embedding that is in use."""

    def __init__(self, table: Table, nodes: Nodes, indexing: Indexing) -> None:
        self._table = table
        self._nodes = nodes
        self._indexing = indexing

    def get(self, being_id: str, cluster_id: str, emb_id: str) -> Vector | None:
        """Return the cluster's vector in an embedding, or None."""
        item = self._table.get(vector_place(being_id, cluster_id))
        vector = None if item is None else item.get(VECTOR_OF + emb_id)
        return vector if isinstance(vector, bytes) else None

    def renew(self, being_id: str, cluster_id: str, moved: Iterable[str] = ()) -> None:
        """Make the vector anew from the members.

        `moved` are nodes that have just come or gone, which the list of members may not know.
        Raises ConflictError when the cluster keeps changing meanwhile.
        """
        known = list(moved)
        settled(lambda: self._renew(being_id, cluster_id, known))

    def item(self, being_id: str, cluster_id: str, members: Sequence[str]) -> Item | None:
        """Return the item that holds the vectors of a cluster with these members."""
        state, items = self._indexing.read(being_id, members)
        found: Item = {}
        for emb_id in () if state is None else state.emb_ids:
            vectors_ = [items[each].subject_vector(emb_id) for each in items]
            mean = mean_of([each for each in vectors_ if each is not None])
            if mean is not None:
                found[VECTOR_OF + emb_id], found[LENGTH_OF + emb_id] = mean
        return cluster_item(being_id, cluster_id, len(members), found) if found else None

    def _renew(self, being_id: str, cluster_id: str, moved: Sequence[str]) -> None:
        # Whoever changes the members raises the version: what was made of others is not stored.
        cluster = self._table.get(Key(keys.clusters(being_id), cluster_id))
        members = [node.node_id for node in self._members(being_id, cluster_id, moved)]
        item = self.item(being_id, cluster_id, members)
        as_read = (
            Absent() if cluster is None else Compare("version", "=", count_in(cluster, "version"))
        )
        place = vector_place(being_id, cluster_id)
        self._table.transact(
            [
                Check(Key(keys.clusters(being_id), cluster_id), as_read),
                Delete(place) if item is None else Put(item),
            ]
        )

    def _members(self, being_id: str, cluster_id: str, moved: Iterable[str]) -> list[Node]:
        listed = set(moved)
        for status in _LIVING:
            start = None
            while True:
                page = self._nodes.in_cluster(being_id, cluster_id, status=status, start=start)
                listed |= {node.node_id for node in page.nodes}
                if (start := page.next) is None:
                    break
        found = self._nodes.get_many(being_id, sorted(listed))
        return [node for node in found.values() if node.is_living and node.cluster_id == cluster_id]


def cluster_item(being_id: str, cluster_id: str, count: int, found: Item) -> Item:
    """Return the item of a cluster's vectors, and of how long each mean was."""
    place = vector_place(being_id, cluster_id)
    return CLUSTER_VECTOR.stamp({"pk": place.pk, "sk": place.sk, "count": count, **found})


def mean_of(every: Sequence[Vector]) -> tuple[Vector, float] | None:
    """Return the mean of vectors with its length made 1, and how long it was.

    None where there is no direction.
    """
    if not every:
        return None
    form = f"<{len(every[0]) // 4}f"
    means = [
        math.fsum(column) / len(every)
        for column in zip(*(struct.unpack(form, each) for each in every), strict=True)
    ]
    length = math.sqrt(math.fsum(part * part for part in means))
    if length == 0:
        return None
    return struct.pack(form, *(part / length for part in means)), length


def vector_place(being_id: str, cluster_id: str) -> Key:
    """Return where the vectors of a cluster are."""
    return Key(vectors(being_id), CLUSTER + cluster_id)
