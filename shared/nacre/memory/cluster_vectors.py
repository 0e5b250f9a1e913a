"""The vector of a cluster: the mean of its living members' vectors, of length 1."""

import math
import struct
from collections.abc import Iterable, Sequence

from nacre.memory.indexing import Indexing
from nacre.memory.model import Node, NodeStatus
from nacre.memory.nodes import Nodes
from nacre.memory.vector_items import VECTOR_OF, vectors
from nacre.ports.embedder import Vector
from nacre.ports.item_schema import ItemSchema
from nacre.ports.table import Item, Key, Table

CLUSTER_VECTOR = ItemSchema("cluster vector", 1)
_CLUSTER = "C#"
_LIVING: tuple[NodeStatus, ...] = ("active", "dying")


class ClusterMeans:
    """Makes and reads the vectors of clusters, one in each embedding that is in use."""

    def __init__(self, table: Table, nodes: Nodes, indexing: Indexing) -> None:
        self._table = table
        self._nodes = nodes
        self._indexing = indexing

    def get(self, being_id: str, cluster_id: str, emb_id: str) -> Vector | None:
        """Return the cluster's vector in an embedding, or None."""
        item = self._table.get(_place(being_id, cluster_id))
        vector = None if item is None else item.get(VECTOR_OF + emb_id)
        return vector if isinstance(vector, bytes) else None

    def renew(self, being_id: str, cluster_id: str, moved: Iterable[str] = ()) -> None:
        """Make the vector anew from the members.

        `moved` are nodes that have just come or gone, which the list of members may not know.
        """
        members = [node.node_id for node in self._members(being_id, cluster_id, moved)]
        state, items = self._indexing.read(being_id, members)
        found: Item = {}
        for emb_id in () if state is None else state.emb_ids:
            mean = mean_of(
                [items[each].vectors[emb_id] for each in items if emb_id in items[each].vectors]
            )
            if mean is not None:
                found[VECTOR_OF + emb_id] = mean
        place = _place(being_id, cluster_id)
        if found:
            item: Item = {"pk": place.pk, "sk": place.sk, "count": len(members), **found}
            self._table.put(CLUSTER_VECTOR.stamp(item))
        else:
            self._table.delete(place)

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


def mean_of(every: Sequence[Vector]) -> Vector | None:
    """Return the mean of vectors with its length made 1; None where there is no direction."""
    if not every:
        return None
    form = f"<{len(every[0]) // 4}f"
    sums = [
        math.fsum(column)
        for column in zip(*(struct.unpack(form, each) for each in every), strict=True)
    ]
    length = math.sqrt(math.fsum(part * part for part in sums))
    return None if length == 0 else struct.pack(form, *(part / length for part in sums))


def _place(being_id: str, cluster_id: str) -> Key:
    return Key(vectors(being_id), _CLUSTER + cluster_id)
