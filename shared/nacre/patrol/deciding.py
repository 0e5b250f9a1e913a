"""What becomes of a scene: a memory of its own, evidence of one that is there, or nothing."""

from dataclasses import dataclass
from itertools import count

from nacre.errors import InvalidInputError
from nacre.memory.known_events import known_nodes
from nacre.memory.model import Node, Scene
from nacre.memory.nodes import Nodes
from nacre.memory.room import has_room, sequel_of
from nacre.memory.scenes import SceneDraft, checked_scene
from nacre.patrol.geometry import cosine, numbers
from nacre.patrol.guard import may_be_one
from nacre.patrol.nearest import Home, Nearest
from nacre.patrol.space import SAME, Space
from nacre.ports.embedder import Vector
from nacre.ports.table import Table


@dataclass(frozen=True, slots=True)
class Known:
    """The scene says what a memory says already."""

    node: Node


@dataclass(frozen=True, slots=True)
class New:
    """Nothing like it is known that has room; it belongs to a cluster, or to none yet."""

    home: Home | None
    fingerprint: str  # of the memory: the scene's own, unless that one is full


@dataclass(frozen=True, slots=True)
class Invalid:
    """No memory can be made of it."""

    reason: str


Decision = Known | New | Invalid


class Deciding:
    """Decides by what one Being remembers; it writes nothing."""

    def __init__(
        self, table: Table, being_id: str, space: Space, nearest: Nearest, nodes: Nodes
    ) -> None:
        self._table = table
        self._being_id = being_id
        self._space = space
        self._nearest = nearest
        self._nodes = nodes

    def decide(self, scene: Scene, vector: Vector) -> Decision:
        """Return what becomes of a scene; raises UnavailableError as the index does."""
        reason = _fault(scene)
        if reason is not None:
            return Invalid(reason)
        known, fingerprint = self._by_fingerprint(scene)
        if known is not None:
            return Known(known)
        near = self._nearest.around(vector, scene.action, self._space)
        same = self._same(scene, vector, near.node_ids)
        if same is not None:
            return Known(same)
        join = self._space.join(scene.action)
        home = self._nearest.best(vector, near.cluster_ids, self._space, join)
        return New(home, fingerprint)

    def _by_fingerprint(self, scene: Scene) -> tuple[Node | None, str]:
        """Return the memory of this event, and the fingerprint that it has or will have.

        Where a memory is full, another goes on with the event.
        """
        for number in count(1):
            fingerprint = sequel_of(scene.fingerprint, number)
            node = self._standing(fingerprint)
            if node is None or has_room([node], scene):
                break
        return node, fingerprint

    def _standing(self, fingerprint: str) -> Node | None:
        """Return the memory of this fingerprint, or what it was merged into."""
        known = known_nodes(self._table, self._being_id, [fingerprint])
        node = known.get(fingerprint)
        seen: set[str] = set()
        while node is not None and node.status == "merged" and node.merged_into:
            seen.add(node.node_id)
            further = self._nodes.get(self._being_id, node.merged_into)
            if further is None or further.node_id in seen:
                break  # what it was merged into is gone: it stands for itself again
            node = further
        return node

    def _same(self, scene: Scene, vector: Vector, node_ids: tuple[str, ...]) -> Node | None:
        """Return the nearest memory that says the same, if one does."""
        found = self._nodes.get_many(self._being_id, node_ids)
        candidates = [
            node
            for node in found.values()
            if node.is_living
            and has_room([node], scene)
            and (
                node.fingerprint == scene.fingerprint
                or may_be_one(
                    scene.action, node.action, actors=scene.actors, other_actors=node.actors
                )
            )
        ]
        vectors = self._nearest.subjects(candidates, self._space)
        here = numbers(vector)
        ranked = sorted(
            (-round(cosine(here, numbers(vectors[node.node_id])), 6), node.node_id)
            for node in candidates
        )
        least = max(SAME, self._space.alike(scene.action))
        for less, node_id in ranked:
            node = found[node_id]
            if -less >= least or node.fingerprint == scene.fingerprint:
                return node
        return None


def _fault(scene: Scene) -> str | None:
    draft = SceneDraft(
        action=scene.action,
        actors=scene.actors,
        when=scene.when,
        setting=scene.setting,
        feeling=scene.feeling,
        themes=scene.themes,
        importance=scene.importance,
    )
    try:
        checked_scene(draft, "scene", scene_id=scene.scene_id, created_at=scene.created_at)
    except InvalidInputError as error:
        return str(error)
    return None
