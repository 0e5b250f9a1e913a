"""The decision about a scene: evidence of a known memory, a new memory, or invalid."""

from collections.abc import Mapping
from itertools import count

from nacre.being.memory.model.fields import checked_scene_text
from nacre.being.memory.model.size_limit import fits_in_one_node, sequel_of
from nacre.being.memory.model.types import UNDONE, Node, Scene
from nacre.being.memory.model.wordings import earlier_versions
from nacre.being.memory.store.event_nodes import nodes_of_events
from nacre.being.memory.store.nodes import Nodes
from nacre.being.patrol.compare.geometry import cosine, numbers
from nacre.being.patrol.compare.neighbours import CandidateCluster, NeighbourSearch
from nacre.being.patrol.compare.space import SAME, Space
from nacre.being.patrol.same_meaning.same_note import same_circumstances, same_event, same_text
from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import SIMILAR_MEMORIES
from nacre.ports.items.table import Table
from nacre.ports.vectors.embedder import Vector
from nacre.text.analysis import fingerprint


@dataclass(frozen=True, slots=True)
class KnownEvent:
    """A memory says the same as the scene already."""

    node: Node


@dataclass(frozen=True, slots=True)
class NewEvent:
    """No memory with room says the same as the scene.

    `similar` lists memories that are close, but may say something else.
    """

    cluster: CandidateCluster | None  # the cluster to join; None for a new one
    fingerprint: str  # of the new memory: the scene's fingerprint, unless that is taken
    similar: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InvalidScene:
    """The scene cannot become a memory."""

    reason: str


Decision = KnownEvent | NewEvent | InvalidScene


class SceneDecider:
    """Decides about scenes by one Being's memory; it writes nothing."""

    def __init__(
        self, table: Table, being_id: str, space: Space, neighbours: NeighbourSearch, nodes: Nodes
    ) -> None:
        self._table = table
        self._being_id = being_id
        self._space = space
        self._neighbours = neighbours
        self._nodes = nodes

    def decide(self, scene: Scene, vector: Vector) -> Decision:
        """Return the decision about a scene; raises UnavailableError if the index fails."""
        reason = _fault(scene)
        if reason is not None:
            return InvalidScene(reason)
        node, fingerprint = self._by_fingerprint(scene)
        if node is not None:
            return KnownEvent(node)
        near = self._neighbours.around(vector, scene.action, self._space)
        candidates = self._nodes.get_many(self._being_id, near.node_ids)
        same = self._same(scene, near.node_ids, candidates)
        if same is not None:
            return KnownEvent(same)
        spot = self._space.spot(scene, vector)
        cluster = self._neighbours.nearest_cluster(spot, near.cluster_ids, self._space)
        return NewEvent(cluster, fingerprint, self._similar(scene, vector, candidates))

    def _by_fingerprint(self, scene: Scene) -> tuple[Node | None, str]:
        """Return the memory of this event, and the fingerprint that it has or will have.

        If a memory is full, or has the fingerprint and says something else, the next name is tried:
        "Bob came?" and "Bob came." have one fingerprint.
        """
        for number in count(1):
            name = sequel_of(scene.fingerprint, number)
            first = nodes_of_events(self._table, self._being_id, [name]).get(name)
            if first is None:
                return None, name
            if first.status != "hidden" and _clashes(scene, first):
                continue
            node = self._merged(first)
            if fits_in_one_node([node], scene):
                return node, name
        raise AssertionError("the count has no end")

    def _merged(self, node: Node) -> Node:
        """Return the memory that a memory was merged into; itself if there is none."""
        visited: set[str] = set()
        while node.status == "merged" and node.merged_into:
            visited.add(node.node_id)
            target = self._nodes.get(self._being_id, node.merged_into)
            if target is None or target.node_id in visited:
                break
            node = target
        return node

    def _same(
        self, scene: Scene, node_ids: tuple[str, ...], candidates: Mapping[str, Node]
    ) -> Node | None:
        """Return the nearest memory that says the same: living ones first, hidden ones last.

        A merged memory says the same as each of the memories it was made of, and a corrected one
        the same as each of its earlier wordings.
        """
        usable = [
            node
            for node in (candidates[node_id] for node_id in node_ids if node_id in candidates)
            if node.status != "merged" and node.reason != UNDONE and fits_in_one_node([node], scene)
        ]
        parent_ids = dict.fromkeys(parent for node in usable for parent in node.parents)
        parents = self._nodes.get_many(self._being_id, parent_ids) if parent_ids else {}
        for node in sorted(usable, key=_readiness):
            merged = (parents[id_] for id_ in node.parents if id_ in parents)
            versions = [node, *earlier_versions(node), *merged]
            if any(same_event(scene, version) for version in versions):
                return node
        return None

    def _similar(
        self, scene: Scene, vector: Vector, candidates: Mapping[str, Node]
    ) -> tuple[str, ...]:
        """Return the closest living memories whose cosine suggests that they say the same."""
        living = [node for node in candidates.values() if node.is_living]
        vectors = self._neighbours.subjects(living, self._space)
        place = numbers(vector)
        least = max(SAME, self._space.alike(scene.action))
        ranked = sorted(
            (-round(cosine(place, numbers(vectors[node.node_id])), 6), node.node_id)
            for node in living
        )
        return tuple(node_id for negative, node_id in ranked if -negative >= least)[
            :SIMILAR_MEMORIES
        ]


def _readiness(node: Node) -> tuple[bool, bool]:
    return not node.is_living, node.status == "hidden"


def _clashes(scene: Scene, node: Node) -> bool:
    """Return whether a memory has a scene's fingerprint but says something else.

    Fingerprints ignore question marks, capitals and settings. A memory that its owner has reworded
    still represents the scenes that it was made of.
    """
    is_reworded = fingerprint(scene.action, (), ()) != fingerprint(node.action, (), ())
    return not is_reworded and not (
        same_text(scene.action, node.action) and same_circumstances(scene, node)
    )


def _fault(scene: Scene) -> str | None:
    try:
        checked_scene_text(scene, "scene.")
    except InvalidInputError as error:
        return str(error)
    return None
