"""The neighbours of a note: memories that may say the same, and clusters that it may join.

The index proposes, the items decide. Only the clusters of the nearest memories are compared, and
their number is fixed. On 3,000 texts in 60 groups this finds the same cluster as a comparison with
all clusters, and it reads as much among a hundred thousand memories as among a thousand.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, zip_longest

from nacre.being.memory.index.cluster_vectors import ClusterMean, Mean, mean_of, vector_place
from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.index.vector_items import from_item, is_point, point_id
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Cluster, Node, Scene
from nacre.being.memory.store.nodes import Nodes
from nacre.being.patrol.compare.geometry import Numbers, mean, numbers
from nacre.being.patrol.compare.grouping import JOIN, Group, circumstances, link, nearness
from nacre.being.patrol.compare.space import Space, Spot
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import CLUSTER_MEMBERS
from nacre.ports.items.table import Delete, Item, Key, Put, Table, Write
from nacre.ports.vectors.embedder import Vector
from nacre.ports.vectors.vector_index import (
    Candidates,
    Filter,
    Hit,
    HoldsPoints,
    Question,
    VectorIndex,
)
from nacre.text.analysis import terms

_STATES = frozenset({"active", "dying", "dead", "hidden"})
_KNOWN = Filter(kinds=frozenset({"node"}), states=_STATES)
"""Forgotten memories too: a repeated scene revives them. Hidden ones are recognised."""
_HITS = 64  # from each channel
_BY_VECTOR, _BY_WORDS = 8, 4  # memories that are compared with the note
_CLUSTERS = 16  # clusters that are compared with it


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The nearest memories, and the clusters of the near ones, nearest first."""

    node_ids: tuple[str, ...]
    cluster_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CandidateCluster:
    """A cluster with room as it was read, and the mean of its members."""

    cluster: Cluster
    vector: Vector | None
    length: float
    means: Mapping[str, Mean]  # the stored ones, by embedding
    circumstances: Numbers | None  # the mean of its members' people and words
    group: Group | None  # None before the Being's notes are measured
    nearness: float = 0.0


class RunIndex:
    """The index of one Being in a run. An index that reads all its points reads them once.

    Memories that others change meanwhile are found as they were, and compared as they are.
    """

    def __init__(self, being_id: str, index: VectorIndex) -> None:
        self._being_id = being_id
        self._index = index
        self._held = index.hold(being_id) if isinstance(index, HoldsPoints) else None

    def search(self, question: Question) -> Candidates:
        """Return the hits of a question; raises UnavailableError if the index fails."""
        if self._held is not None:
            return self._held.search(question)
        return self._index.search(self._being_id, question)

    def follow(self, writes: Sequence[Write]) -> None:
        """Take in the points that a committed transaction of the run has changed."""
        if self._held is None:
            return
        for write in writes:
            if isinstance(write, Put) and is_point(self._being_id, Key.of(write.item)):
                self._held.upsert([from_item(write.item).point(self._index.emb_id)])
            elif isinstance(write, Delete) and is_point(self._being_id, write.key):
                self._held.delete([point_id(write.key)])


class NeighbourSearch:
    """Searches the memory of one Being for the neighbours of a note."""

    def __init__(self, table: Table, nodes: Nodes, indexing: IndexSync, being_id: str) -> None:
        self._table = table
        self._nodes = nodes
        self._indexing = indexing
        self._being_id = being_id

    @cached_property
    def index(self) -> "RunIndex":
        """The index that the run searches, opened when it is first used."""
        reading = self._indexing.active_index(self._being_id)
        return RunIndex(self._being_id, reading.index)

    def follow(self, writes: Sequence[Write]) -> None:
        """Take in the points that a committed transaction of the run has changed."""
        if "index" in self.__dict__:  # else it is read with them
            self.index.follow(writes)

    def around(self, vector: Vector, text: str, space: Space) -> Neighbours:
        """Return the neighbours of a note; raises UnavailableError if the index fails."""
        hits = self.index.search(
            Question(
                dense=vector if space.embedder is not None and any(vector) else None,
                sparse=tuple(dict.fromkeys(terms(text))),
                where=_KNOWN,
                limit=_HITS,
            ),
        )
        nearest = [*hits.dense[:_BY_VECTOR], *hits.sparse[:_BY_WORDS]]
        if not hits.dense:
            nearest = [*hits.sparse[:_BY_VECTOR]]
        return Neighbours(
            tuple(dict.fromkeys(hit.id for hit in nearest)),
            _clusters_of(hits.dense, hits.sparse),
        )

    def candidates(self, cluster_ids: Iterable[str], space: Space) -> list[CandidateCluster]:
        """Return those of the clusters that are active and have room, with their vectors."""
        places = {Key(keys.clusters(self._being_id), id_): id_ for id_ in cluster_ids}
        items = self._table.get_many(
            [*places, *(vector_place(self._being_id, id_) for id_ in places.values())]
        )
        candidates = []
        for place, cluster_id in places.items():
            if place not in items:
                continue
            cluster = Cluster.from_item(items[place])
            if cluster.state == "active" and cluster.n_active < CLUSTER_MEMBERS:
                stored = items.get(vector_place(self._being_id, cluster_id), {})
                candidates.append(self._candidate(cluster, stored, space))
        return candidates

    def nearest_cluster(
        self,
        spot: Spot,
        cluster_ids: Iterable[str],
        space: Space,
        *,
        at_any_distance: bool = False,
        room: int = 1,
    ) -> CandidateCluster | None:
        """Return the nearest of these clusters with room for so many; None if it is too far."""
        near = [
            candidate
            for candidate in self.candidates(cluster_ids, space)
            if candidate.vector is not None and candidate.cluster.n_active + room <= CLUSTER_MEMBERS
        ]
        if not near:
            return None
        best = self.nearest_of(spot, near, space)
        if at_any_distance:
            return best
        if spot.group is None or best.group is None:
            return best if best.nearness >= space.join(spot.text) else None
        return best if link(spot.group, best.group) >= JOIN else None

    def nearest_of(
        self, spot: Spot, candidates: Iterable[CandidateCluster], space: Space
    ) -> CandidateCluster:
        """Return the nearest of at least one candidate, with its nearness."""
        near = [
            replace(candidate, nearness=_nearness(spot, candidate, space))
            for candidate in candidates
        ]
        return min(near, key=_nearest_first)

    def members(self, cluster_id: str) -> list[Node]:
        """Return the living members of a cluster, ordered by id, with their latest state."""
        return self._nodes.living_members(self._being_id, cluster_id)

    def subjects(self, nodes: Sequence[Node], space: Space) -> dict[str, Vector]:
        """Return the vectors of the texts of these memories, by id."""
        texts = {node.node_id: node.action for node in nodes}
        return space.vectors_of(texts, self.stored_subjects(nodes, space))

    def stored_subjects(self, memories: Sequence[Node | Scene], space: Space) -> dict[str, Vector]:
        """Return the stored vectors of the texts of nodes or scenes, by id."""
        if space.embedder is None or not memories:
            return {}
        _, items = self._indexing.read(self._being_id, [memory.id for memory in memories])
        vectors = {}
        for memory in memories:
            item = items.get(memory.id)
            if item is None or item.subject != memory.action:
                continue
            vector = item.subject_vector(space.emb_id)
            if vector is not None:
                vectors[memory.id] = vector
        return vectors

    def _candidate(self, cluster: Cluster, item: Item, space: Space) -> CandidateCluster:
        stored = ClusterMean.from_item(item)
        own = stored.means.get(space.emb_id)
        if own is not None and (stored.circumstances is not None or space.grouping is None):
            hashed = stored.circumstances
            place = None if hashed is None else numbers(hashed)
            return _candidate(cluster, own, stored.means, place, space)
        members = self.members(cluster.cluster_id)
        computed = mean_of(list(self.subjects(members, space).values()))
        if computed is None:
            return CandidateCluster(cluster, None, 0.0, stored.means, None, None)
        place = mean([circumstances(node) for node in members])
        return _candidate(cluster, computed, stored.means, place, space)


def _candidate(
    cluster: Cluster,
    mean: Mean,
    means: Mapping[str, Mean],
    circumstances: Numbers | None,
    space: Space,
) -> CandidateCluster:
    group = None
    if space.grouping is not None and circumstances is not None:
        place = (*(mean.length * part for part in numbers(mean.vector)), *circumstances)
        group = space.grouping.group(place, max(1, cluster.n_active))
    return CandidateCluster(cluster, mean.vector, mean.length, means, circumstances, group)


def _nearness(spot: Spot, candidate: CandidateCluster, space: Space) -> float:
    if spot.group is not None and candidate.group is not None:
        return nearness(spot.group, candidate.group)
    if candidate.vector is None:
        return 0.0
    around = space.around(numbers(spot.vector))
    return round(space.nearness_to(around, numbers(candidate.vector), candidate.length), 9)


def _nearest_first(candidate: CandidateCluster) -> tuple[float, str]:
    return -candidate.nearness, candidate.cluster.cluster_id


def cluster_mean(candidate: CandidateCluster) -> Numbers:
    """Return the mean of a cluster's members, with its real length."""
    assert candidate.vector is not None
    return tuple(candidate.length * part for part in numbers(candidate.vector))


def _clusters_of(dense: Sequence[Hit], sparse: Sequence[Hit]) -> tuple[str, ...]:
    """Return the clusters of the hits, alternating between the channels."""
    hits = chain.from_iterable(zip_longest(dense, sparse))
    ids = dict.fromkeys(hit.cluster_id for hit in hits if hit is not None)
    return tuple(cluster_id for cluster_id in ids if cluster_id is not None)[:_CLUSTERS]
