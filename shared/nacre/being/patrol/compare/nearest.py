"""What lies nearest to a note: memories that may say the same, and the cluster it belongs to.

The index proposes, the items decide. It holds memories only; the clusters worth a look are
those of the nearest memories, of which a fixed number is read. On 3,000 texts in 60 groups that
finds the same cluster as comparing with all of them, and it reads as much among a hundred
thousand memories as among a thousand.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from nacre.being.memory.index.cluster_vectors import LENGTH_OF, mean_of, vector_place
from nacre.being.memory.index.sync import Indexing
from nacre.being.memory.index.vector_items import VECTOR_OF
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Cluster, Node
from nacre.being.memory.store.nodes import Nodes
from nacre.being.patrol.compare.geometry import Numbers, numbers
from nacre.being.patrol.compare.space import Space
from nacre.core.limits import CLUSTER_MEMBERS
from nacre.ports.embedder import Vector
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Item, Key, Range, Table
from nacre.ports.vectors import Filter, Hit
from nacre.text.analysis import terms

_KNOWN = Filter(kinds=frozenset({"node"}), states=frozenset({"active", "dying", "dead"}))
"""Forgotten memories too: one that is told again comes back."""
_HITS = 64  # from each channel
_BY_VECTOR, _BY_WORDS = 8, 4  # memories that are looked at as what may be the same
_CLUSTERS = 16  # that are compared


@dataclass(frozen=True, slots=True)
class Near:
    """The nearest memories and the clusters of the near ones, each the nearest first."""

    node_ids: tuple[str, ...]
    cluster_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Home:
    """A cluster with room, as it was read, and the mean of its members."""

    cluster: Cluster
    vector: Vector | None
    length: float
    vectors: Item  # all that is kept of its vectors
    nearness: float = 0.0


class Nearest:
    """Looks around a note in one Being's memory."""

    def __init__(self, table: Table, nodes: Nodes, indexing: Indexing, being_id: str) -> None:
        self._table = table
        self._nodes = nodes
        self._indexing = indexing
        self._being_id = being_id

    def around(self, vector: Vector, text: str, space: Space) -> Near:
        """Return what lies around a note; raises UnavailableError as the index does."""
        reading = self._indexing.reading(self._being_id)
        found = reading.index.search(
            self._being_id,
            dense=vector if space.embedder is not None and any(vector) else None,
            sparse=tuple(dict.fromkeys(terms(text))),
            where=_KNOWN,
            limit=_HITS,
        )
        nearest = [*found.dense[:_BY_VECTOR], *found.sparse[:_BY_WORDS]]
        if not found.dense:
            nearest = [*found.sparse[:_BY_VECTOR]]
        return Near(
            tuple(dict.fromkeys(hit.id for hit in nearest)),
            _clusters_of(found.dense, found.sparse),
        )

    def homes(self, cluster_ids: Iterable[str], space: Space) -> list[Home]:
        """Return those of the clusters that live and have room, with their vectors."""
        wanted = list(cluster_ids)
        places = {Key(keys.clusters(self._being_id), each): each for each in wanted}
        found = self._table.get_many(
            [*places, *(vector_place(self._being_id, each) for each in wanted)]
        )
        homes = []
        for place, cluster_id in places.items():
            if place not in found:
                continue
            cluster = Cluster.from_item(found[place])
            if cluster.state == "active" and cluster.n_active < CLUSTER_MEMBERS:
                kept = found.get(vector_place(self._being_id, cluster_id), {})
                homes.append(self._home(cluster, kept, space))
        return homes

    def best(
        self, vector: Vector, cluster_ids: Iterable[str], space: Space, least: float
    ) -> Home | None:
        """Return the nearest of these clusters, if one is near enough and has room."""
        here = space.around(numbers(vector))
        best: Home | None = None
        for home in self.homes(cluster_ids, space):
            if home.vector is None:
                continue
            kept = numbers(home.vector)
            nearness = round(space.nearness_to(here, kept, home.length), 9)
            better = best is None or (-nearness, home.cluster.cluster_id) < (
                -best.nearness,
                best.cluster.cluster_id,
            )
            if nearness >= least and better:
                best = Home(home.cluster, home.vector, home.length, home.vectors, nearness)
        return best

    def members(self, cluster_id: str) -> list[Node]:
        """Return a cluster's living members by id, as last acknowledged."""
        listed: list[str] = []
        for status in ("active", "dying"):
            members = every_item(
                self._table,
                keys.members(self._being_id, cluster_id),
                index="gsi2",
                keys=Range(prefix=f"{status}#"),
            )
            listed += [str(item["sk"]) for item in members]
        found = self._nodes.get_many(self._being_id, sorted(listed))
        return [
            found[each]
            for each in sorted(found)
            if found[each].is_living and found[each].cluster_id == cluster_id
        ]

    def subjects(self, nodes: Sequence[Node], space: Space) -> dict[str, Vector]:
        """Return the vectors of what these memories say, by id."""
        known: dict[str, Vector] = {}
        if space.embedder is not None and nodes:
            _, items = self._indexing.read(self._being_id, [node.node_id for node in nodes])
            for node in nodes:
                item = items.get(node.node_id)
                if item is not None and item.subject == node.action:
                    vector = item.subjects.get(space.emb_id)
                    if vector is not None:
                        known[node.node_id] = vector
        return space.vectors_of({node.node_id: node.action for node in nodes}, known)

    def _home(self, cluster: Cluster, kept: Item, space: Space) -> Home:
        vector = kept.get(VECTOR_OF + space.emb_id)
        length = kept.get(LENGTH_OF + space.emb_id)
        if isinstance(vector, bytes) and isinstance(length, int | float):
            return Home(cluster, vector, float(length), kept)
        made = mean_of(list(self.subjects(self.members(cluster.cluster_id), space).values()))
        vector, length = made or (None, 0.0)
        return Home(cluster, vector, length, kept)


def mean_in(home: Home) -> Numbers:
    """Return the mean of a cluster's members, as long as it is."""
    assert home.vector is not None
    return tuple(home.length * part for part in numbers(home.vector))


def _clusters_of(dense: Sequence[Hit], sparse: Sequence[Hit]) -> tuple[str, ...]:
    """Return the clusters of the hits, taking turns between the channels."""
    turns = chain.from_iterable(zip_longest(dense, sparse))
    found = dict.fromkeys(hit.cluster_id for hit in turns if hit is not None)
    return tuple(each for each in found if each is not None)[:_CLUSTERS]
