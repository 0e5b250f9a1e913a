"""What of a memory is searched, and how writers keep the search up to date."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from nacre.being.memory.model.types import Node, Scene
from nacre.being.memory.text.memory_text import scene_line
from nacre.ports.items.table import Write
from nacre.ports.vectors import Kind


@dataclass(frozen=True, slots=True)
class Entry:
    """What a search knows of a memory: its line, and what searches filter by."""

    id: str
    kind: Kind
    text: str
    state: str
    cluster_id: str | None
    days: tuple[str, ...]
    actors: tuple[str, ...]
    subject: str | None = None  # what happened, without day and person: what belongs together


class SearchIndex(Protocol):
    """The part of the search that writers of memories see.

    None of it raises for an index that cannot answer: the memory is stored, and the index
    told later.
    """

    def writes(self, being_id: str, entries: Sequence[Entry]) -> list[Write]:
        """Return what goes into the transaction that writes these; never the Being's item."""
        ...

    def apply(self, being_id: str, entries: Sequence[Entry]) -> None:
        """Make what was written findable."""
        ...

    def remove_writes(self, being_id: str, ids: Sequence[str]) -> list[Write]:
        """Return what goes into the transaction that deletes these."""
        ...

    def remove(self, being_id: str, ids: Sequence[str]) -> None:
        """Let what was deleted be found no more."""
        ...


def searchable(told: Node | Scene) -> Entry:
    """Return how a node or a scene is searched: by the line that shows it."""
    is_node = isinstance(told, Node)
    return Entry(
        id=told.node_id if isinstance(told, Node) else told.scene_id,
        kind="node" if is_node else "scene",
        text=scene_line(told),
        state=told.status,
        cluster_id=told.cluster_id if isinstance(told, Node) else None,
        days=told.when,
        actors=told.actors,
        subject=told.action,
    )
