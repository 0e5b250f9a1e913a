"""The text under which a memory is searched, and the port of the search index for writers."""

from collections.abc import Callable, Sequence
from typing import Protocol

from nacre.being.memory.model.types import Node, Scene
from nacre.being.memory.text.memory_text import scene_line
from nacre.being.memory.text.summary import Summary
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.items.table import Write
from nacre.ports.vectors.vector_index import Kind


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A memory as the index knows it: its line of text, and the fields that searches filter by."""

    id: str
    kind: Kind
    text: str
    state: str
    cluster_id: str | None
    days: tuple[str, ...]
    actors: tuple[str, ...]
    subject: str | None = None  # the action alone, without days and actors: used to cluster
    summary: Summary | None = None


@dataclass(frozen=True, slots=True)
class IndexChange:
    """The search index's part of a change of memories."""

    writes: Sequence[Write]
    """Goes into the transaction of the change. Never names the Being's own item."""
    apply: Callable[[], None]
    """Updates the index; to be called once the transaction is through."""


class SearchIndex(Protocol):
    """The search index as writers of memories see it.

    An index that cannot answer raises nothing: the memory is stored, and a repair updates the
    index later.
    """

    def prepare(
        self,
        being_id: str,
        entries: Sequence[IndexEntry],
        removed: Sequence[str] = (),
        *,
        with_work: bool = False,
    ) -> IndexChange:
        """Return the change that adds or replaces these entries and removes these ids.

        `with_work` says that the same transaction lists the Being for a patrol.
        """
        ...


def searchable(memory: Node | Scene) -> IndexEntry:
    """Return the index entry of a node or a scene, with the line that shows it as its text."""
    return IndexEntry(
        id=memory.id,
        kind="node" if isinstance(memory, Node) else "scene",
        text=scene_line(memory),
        state=memory.status,
        cluster_id=memory.cluster_id if isinstance(memory, Node) else None,
        days=memory.when,
        actors=memory.actors,
        subject=memory.action,
        summary=Summary.of(memory),
    )
