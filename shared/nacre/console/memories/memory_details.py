"""One memory with all there is about it: its state, where it came from, and what it is like."""

from dataclasses import dataclass

from nacre.being.memory.model.counters import count_in, counters
from nacre.being.memory.model.fields import checked_name
from nacre.being.memory.model.lifetime import lifetime
from nacre.being.memory.model.types import UNDONE, Cluster, Message, Node, Scene
from nacre.being.memory.search.candidates import Remembered
from nacre.being.memory.search.search import FINDABLE
from nacre.being.memory.services import Mind
from nacre.being.memory.store.merges import CLOCK
from nacre.console.memories.strength import Fading, fading
from nacre.core.errors import NotFoundError
from nacre.core.limits import PROVENANCE_MESSAGES, PROVENANCE_SCENES
from nacre.ports.items.table import Table

_SIMILAR = 5


@dataclass(frozen=True, slots=True)
class Origin:
    """What a memory was made of. What is no longer kept has only its id, and no text."""

    scenes: tuple[tuple[str, Scene | None], ...]
    messages: tuple[tuple[str, Message | None], ...]
    parents: tuple[Node, ...]
    more_scenes: int = 0
    more_messages: int = 0


@dataclass(frozen=True, slots=True)
class MemoryView:
    """A memory as its page shows it."""

    node: Node
    cluster: Cluster | None
    clock: int
    says: tuple[str, ...]  # why it is as strong as it is
    fading: Fading | None
    origin: Origin
    similar: tuple[Remembered, ...]

    @property
    def is_standing(self) -> bool:
        """Whether it stands for itself: neither merged into another nor taken back."""
        return self.node.status != "merged" and self.node.reason != UNDONE

    @property
    def is_merge(self) -> bool:
        """Whether it is a merge that can be taken back."""
        return self.is_standing and any(
            parent.merged_into == self.node.node_id for parent in self.origin.parents
        )


def memory_view(table: Table, mind: Mind, being_id: str, node_id: str) -> MemoryView:
    """Return a memory with all there is about it; looking counts as no recall.

    Raises NotFoundError when there is no such memory.
    """
    node = mind.memory.nodes.get(being_id, checked_name(node_id, "node_id"))
    if node is None:
        raise NotFoundError("there is no such memory; it may have been forgotten for good")
    clock = count_in(counters(table, being_id), CLOCK)
    known = node.cluster_id and mind.memory.clusters.get(being_id, node.cluster_id)
    return MemoryView(
        node=node,
        cluster=known or None,
        clock=clock,
        says=tuple(lifetime(node, clock)),
        fading=fading(node, clock),
        origin=_origin(mind, being_id, node),
        similar=_similar(mind, being_id, node),
    )


def _origin(mind: Mind, being_id: str, node: Node) -> Origin:
    scene_ids = node.evidence[:PROVENANCE_SCENES]
    scenes = mind.memory.scenes.get_many(being_id, scene_ids)
    said = list(dict.fromkeys(each for scene in scenes.values() for each in scene.evidence))
    parents = mind.memory.nodes.get_many(being_id, node.parents)
    return Origin(
        scenes=tuple((each, scenes.get(each)) for each in scene_ids),
        messages=tuple(
            (each, mind.memory.history.get(being_id, each)) for each in said[:PROVENANCE_MESSAGES]
        ),
        parents=tuple(parents[each] for each in node.parents if each in parents),
        more_scenes=len(node.evidence) - len(scene_ids),
        more_messages=max(0, len(said) - PROVENANCE_MESSAGES),
    )


def _similar(mind: Mind, being_id: str, node: Node) -> tuple[Remembered, ...]:
    """Return what a search for its own words finds beside it."""
    answer = mind.search.find(being_id, node.action, limit=_SIMILAR + 1, where=FINDABLE)
    others = (hit.memory for hit in answer.hits if hit.memory.id != node.node_id)
    return tuple(others)[:_SIMILAR]
