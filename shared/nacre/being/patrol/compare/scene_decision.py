"""What becomes of a scene: a memory of its own, evidence of one that is there, or nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

from nacre.being.memory.model.size_limit import has_room, sequel_of
from nacre.being.memory.model.types import UNDONE, Node, Scene
from nacre.being.memory.store.event_nodes import known_nodes
from nacre.being.memory.store.nodes import Nodes
from nacre.being.memory.store.scenes import SceneDraft, checked_scene
from nacre.being.patrol.compare.geometry import cosine, numbers
from nacre.being.patrol.compare.nearest import Home, Nearest
from nacre.being.patrol.compare.space import SAME, Space
from nacre.being.patrol.same_meaning.same_note import same_circumstances, same_event, same_text
from nacre.core.errors import InvalidInputError
from nacre.core.limits import SIMILAR_MEMORIES
from nacre.ports.embedder import Vector
from nacre.ports.items.table import Table
from nacre.text.analysis import fingerprint


@dataclass(frozen=True, slots=True)
class Known:
    """The scene says what a memory says already."""

    node: Node


@dataclass(frozen=True, slots=True)
class New:
    """No memory with room says the same; it joins a cluster, or begins one.

    `similar` are memories that are close to it, and may say something else.
    """

    home: Home | None
    fingerprint: str  # of the memory: the scene's own, unless that one is taken
    similar: tuple[str, ...] = ()


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
        candidates = self._nodes.get_many(self._being_id, near.node_ids)
        same = self._same(scene, near.node_ids, candidates)
        if same is not None:
            return Known(same)
        join = self._space.join(scene.action)
        home = self._nearest.best(vector, near.cluster_ids, self._space, join)
        return New(home, fingerprint, self._similar(scene, vector, candidates))

    def _by_fingerprint(self, scene: Scene) -> tuple[Node | None, str]:
        """Return the memory of this event, and the fingerprint that it has or will have.

        Where a memory is full, or has the fingerprint and says something else, another one
        continues: "Bob came?" is not "Bob came.".
        """
        for number in count(1):
            name = sequel_of(scene.fingerprint, number)
            first = known_nodes(self._table, self._being_id, [name]).get(name)
            if first is None:
                return None, name
            if _clashes(scene, first):
                continue
            node = self._merged(first)
            if has_room([node], scene):
                return node, name
        raise AssertionError("the count has no end")

    def _merged(self, node: Node) -> Node:
        """Return what a memory was merged into; itself if it was not, or if that is gone."""
        seen: set[str] = set()
        while node.status == "merged" and node.merged_into:
            seen.add(node.node_id)
            further = self._nodes.get(self._being_id, node.merged_into)
            if further is None or further.node_id in seen:
                break
            node = further
        return node

    def _same(
        self, scene: Scene, node_ids: tuple[str, ...], candidates: Mapping[str, Node]
    ) -> Node | None:
        """Return the nearest memory that says the same, a living one before a forgotten one.

        A merged memory says what the memories said that it was made of.
        """
        usable = [
            candidates[each]
            for each in node_ids
            if each in candidates
            and candidates[each].status != "merged"
            and candidates[each].reason != UNDONE
            and has_room([candidates[each]], scene)
        ]
        wanted = dict.fromkeys(parent for node in usable for parent in node.parents)
        parents = self._nodes.get_many(self._being_id, wanted) if wanted else {}
        for node in sorted(usable, key=lambda each: not each.is_living):
            told = [node, *(parents[each] for each in node.parents if each in parents)]
            if any(same_event(scene, each) for each in told):
                return node
        return None

    def _similar(
        self, scene: Scene, vector: Vector, candidates: Mapping[str, Node]
    ) -> tuple[str, ...]:
        """Return the living memories that are closest, if a cosine takes them for the same."""
        living = [node for node in candidates.values() if node.is_living]
        vectors = self._nearest.subjects(living, self._space)
        here = numbers(vector)
        least = max(SAME, self._space.alike(scene.action))
        ranked = sorted(
            (-round(cosine(here, numbers(vectors[node.node_id])), 6), node.node_id)
            for node in living
        )
        return tuple(node_id for less, node_id in ranked if -less >= least)[:SIMILAR_MEMORIES]


def _clashes(scene: Scene, node: Node) -> bool:
    """Whether a memory has a scene's fingerprint and says something else.

    A fingerprint knows no question marks, capitals or settings. A memory that its owner has
    reworded still stands for what it was made of.
    """
    is_reworded = fingerprint(scene.action, (), ()) != fingerprint(node.action, (), ())
    return not is_reworded and not (
        same_text(scene.action, node.action) and same_circumstances(scene, node)
    )


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
