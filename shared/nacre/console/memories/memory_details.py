"""One memory in detail: its state, its origin and similar memories."""

from nacre.being.memory.model.counters import CLOCK, count_in, counters
from nacre.being.memory.model.fields import checked_name
from nacre.being.memory.model.lifetime import lifetime
from nacre.being.memory.model.lineage import (
    is_corroborated,
    is_vouched,
    origins_of,
    standing_of,
)
from nacre.being.memory.model.types import UNDONE, Cluster, Message, Node, Scene, Trust, moment
from nacre.being.memory.model.wordings import Wording, earlier_versions, wordings_of
from nacre.being.memory.search.candidates import Memory
from nacre.being.memory.search.search import FINDABLE
from nacre.being.memory.services import MemoryServices
from nacre.being.memory.store.evidence import first_scenes
from nacre.being.memory.store.recall_log import counted_nodes
from nacre.being.memory.text.reported import reported_by
from nacre.console.memories.strength import Fading, fading
from nacre.core.errors import NotFoundError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import PROVENANCE_MESSAGES, PROVENANCE_SCENES
from nacre.core.origins import texts_of
from nacre.ports.items.table import Table

_SIMILAR = 5


@dataclass(frozen=True, slots=True)
class Origin:
    """The sources of a memory; a source that is no longer stored has only its id."""

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
    explanation: tuple[str, ...]  # of its strength
    fading: Fading | None
    origin: Origin
    similar: tuple[Memory, ...]
    wordings: tuple[tuple[Wording, Node], ...]  # earlier ones with the memory then, newest first

    @property
    def is_current(self) -> bool:
        """Tell whether it is neither merged into another memory nor an undone merge."""
        return self.node.status != "merged" and self.node.reason != UNDONE

    @property
    def origins(self) -> tuple[str, ...]:
        """Return the origins of everything that it was made of."""
        return texts_of(origins_of(self.node))

    @property
    def reported(self) -> str:
        """Return which servers reported it, or ""."""
        return reported_by(self.node)

    @property
    def standing(self) -> Trust:
        """Return how far its text is trusted."""
        return standing_of(self.node)

    @property
    def is_vouched(self) -> bool:
        """Tell whether the owner vouches for its text."""
        return is_vouched(self.node)

    @property
    def is_corroborated(self) -> bool:
        """Tell whether an independent source says the same."""
        return is_corroborated(self.node)

    @property
    def is_merge(self) -> bool:
        """Tell whether it is a merge that can be undone."""
        return self.is_current and any(
            parent.merged_into == self.node.node_id for parent in self.origin.parents
        )


def memory_view(table: Table, services: MemoryServices, being_id: str, node_id: str) -> MemoryView:
    """Return a memory in detail; this does not count as a recall.

    Raises NotFoundError when there is no such memory.
    """
    node = services.memory.nodes.get(being_id, checked_name(node_id, "node_id"))
    if node is None:
        raise NotFoundError("there is no such memory; it may have been erased")
    now = moment(services.context.clock())
    node = counted_nodes(table, being_id, now=now).get(node_id, node)
    clock = count_in(counters(table, being_id), CLOCK)
    cluster = node.cluster_id and services.memory.clusters.get(being_id, node.cluster_id)
    return MemoryView(
        node=node,
        cluster=cluster or None,
        clock=clock,
        explanation=tuple(lifetime(node, clock)),
        fading=fading(node, clock),
        origin=_origin(table, services, being_id, node),
        similar=_similar(services, being_id, node),
        wordings=tuple(zip(reversed(wordings_of(node)), earlier_versions(node), strict=True)),
    )


def _origin(table: Table, services: MemoryServices, being_id: str, node: Node) -> Origin:
    scene_ids = first_scenes(table, being_id, node, PROVENANCE_SCENES)
    scenes = services.memory.scenes.get_many(being_id, scene_ids)
    message_ids = list(
        dict.fromkeys(message for scene in scenes.values() for message in scene.evidence)
    )
    parents = services.memory.nodes.get_many(being_id, node.parents)
    return Origin(
        scenes=tuple((scene_id, scenes.get(scene_id)) for scene_id in scene_ids),
        messages=tuple(
            (message_id, services.memory.history.get(being_id, message_id))
            for message_id in message_ids[:PROVENANCE_MESSAGES]
        ),
        parents=tuple(parents[node_id] for node_id in node.parents if node_id in parents),
        more_scenes=node.scene_count - len(scene_ids),
        more_messages=max(0, len(message_ids) - PROVENANCE_MESSAGES),
    )


def _similar(services: MemoryServices, being_id: str, node: Node) -> tuple[Memory, ...]:
    """Return the other memories that a search for its text finds."""
    answer = services.search.find(being_id, node.action, limit=_SIMILAR + 1, where=FINDABLE)
    others = (hit.memory for hit in answer.hits if hit.memory.id != node.node_id)
    return tuple(others)[:_SIMILAR]
