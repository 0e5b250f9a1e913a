"""The vectors of clusters: the normalized mean of the subject vectors of living members.

Their items have one byte for each number, as those of memories do. The packed attributes have names
of their own: version 0.1.0 does not find them, and computes the mean from the members. It stored
float32 numbers, which are read as they are until the cluster changes.
"""

import math
import struct
from collections.abc import Iterable, Mapping, Sequence

from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.index.vector_items import CLUSTER, VECTOR_OF, vectors_in
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import count_in
from nacre.being.memory.store.nodes import Nodes
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Absent, Check, Compare, Delete, Item, Key, Put, Table
from nacre.ports.vectors.embedder import Vector
from nacre.ports.vectors.packed_vectors import PackedVector, packed, unpacked
from nacre.ports.vectors.vector_index import dimension_of

CLUSTER_VECTOR = ItemSchema("cluster vector", 1)
MEAN_OF = "mean:"  # prefix of the attribute with the packed mean of an embedding
LENGTH_OF = "len:"  # prefix of the attribute with the length of the mean before normalizing
_CIRCUMSTANCES = "about"  # the attribute with the packed mean of the members' people and words
_CIRCUMSTANCES_LENGTH = "about_len"
_CIRCUMSTANCES_BEFORE = "people_words"  # the same as float32, of version 0.1.0


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean of vectors, normalized, and its length before."""

    vector: Vector
    length: float


@dataclass(frozen=True, slots=True)
class ClusterMean:
    """The means of a cluster's members, as its item keeps them."""

    means: Mapping[str, Mean] = field(default_factory=dict)  # by embedding
    circumstances: Vector | None = None  # the mean of the members' people and words

    @classmethod
    def from_item(cls, item: Item) -> "ClusterMean":
        """Return the means in an item, without those whose length is missing."""
        means = {}
        for emb_id, vector in stored_means(item).items():
            length = item.get(LENGTH_OF + emb_id)
            if isinstance(length, int | float):
                means[emb_id] = Mean(unpacked(vector, dimension_of(emb_id)), float(length))
        return cls(means, _circumstances(item))

    def to_item(self, being_id: str, cluster_id: str, count: int) -> Item:
        """Return the item of a cluster with so many members."""
        attributes: Item = {}
        for emb_id, mean in self.means.items():
            attributes[MEAN_OF + emb_id] = packed_mean(mean.vector, emb_id)
            attributes[LENGTH_OF + emb_id] = mean.length
        if self.circumstances is not None:
            attributes[_CIRCUMSTANCES] = packed(self.circumstances)
            attributes[_CIRCUMSTANCES_LENGTH] = _length(self.circumstances)
        return cluster_item(being_id, cluster_id, count, attributes)


class ClusterMeans:
    """Computes and reads the vectors of clusters, one for each embedding in use."""

    def __init__(self, table: Table, nodes: Nodes, indexing: IndexSync) -> None:
        self._table = table
        self._nodes = nodes
        self._indexing = indexing

    def get(self, being_id: str, cluster_id: str, emb_id: str) -> Vector | None:
        """Return the vector of a cluster in an embedding, or None."""
        item = self._table.get(vector_place(being_id, cluster_id))
        vector = None if item is None else stored_means(item).get(emb_id)
        return None if vector is None else unpacked(vector, dimension_of(emb_id))

    def renew(self, being_id: str, cluster_id: str, moved: Iterable[str] = ()) -> None:
        """Compute the vector again from the members.

        `moved` are nodes that have just joined or left, because the list of members may lag
        behind. Raises ConflictError when the cluster keeps changing meanwhile.
        """
        node_ids = list(moved)
        retry_on_conflict(lambda: self._renew(being_id, cluster_id, node_ids))

    def of(self, being_id: str, members: Sequence[str]) -> dict[str, Mean]:
        """Return the means of these members by embedding, without those that are zero."""
        state, items = self._indexing.read(being_id, members)
        means = {}
        for emb_id in () if state is None else state.emb_ids:
            subjects = [item.subject_vector(emb_id) for item in items.values()]
            mean = mean_of([vector for vector in subjects if vector is not None])
            if mean is not None:
                means[emb_id] = mean
        return means

    def _renew(self, being_id: str, cluster_id: str, moved: Sequence[str]) -> None:
        # Every change of the members raises the version, so a mean of former members is refused.
        cluster = self._table.get(Key(keys.clusters(being_id), cluster_id))
        members = self._nodes.living_members(being_id, cluster_id, moved)
        means = self.of(being_id, [node.node_id for node in members])
        item = ClusterMean(means).to_item(being_id, cluster_id, len(members))
        is_unchanged = (
            Absent() if cluster is None else Compare("version", "=", count_in(cluster, "version"))
        )
        place = vector_place(being_id, cluster_id)
        self._table.transact(
            [
                Check(Key(keys.clusters(being_id), cluster_id), is_unchanged),
                Put(item) if means else Delete(place),
            ]
        )


def cluster_item(being_id: str, cluster_id: str, count: int, means: Item) -> Item:
    """Return the item of a cluster's vectors, with the lengths of the means."""
    return CLUSTER_VECTOR.stamp(
        {**vector_place(being_id, cluster_id).attributes(), "count": count, **means}
    )


def packed_mean(vector: PackedVector, emb_id: str) -> PackedVector:
    """Return a mean as items keep it; one of another length than its embedding's stays as it is."""
    return packed(vector) if len(vector) == 4 * dimension_of(emb_id) else vector


def stored_means(item: Item) -> dict[str, PackedVector]:
    """Return the means in a cluster's item, by embedding."""
    return {**vectors_in(item, VECTOR_OF), **vectors_in(item, MEAN_OF)}


def _circumstances(item: Item) -> Vector | None:
    small, length = item.get(_CIRCUMSTANCES), item.get(_CIRCUMSTANCES_LENGTH)
    if not isinstance(small, bytes) or not isinstance(length, int | float):
        before = item.get(_CIRCUMSTANCES_BEFORE)
        return before if isinstance(before, bytes) else None
    direction = unpacked(small, len(small))
    return struct.pack(
        f"<{len(small)}f", *(length * part for (part,) in struct.iter_unpack("<f", direction))
    )


def _length(vector: Vector) -> float:
    return math.sqrt(math.fsum(part * part for (part,) in struct.iter_unpack("<f", vector)))


def mean_of(vectors: Sequence[Vector]) -> Mean | None:
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
    return Mean(struct.pack(form, *(part / length for part in means)), length)


def vector_place(being_id: str, cluster_id: str) -> Key:
    """Return the key of the vectors of a cluster."""
    return Key(keys.vectors(being_id), CLUSTER + cluster_id)
