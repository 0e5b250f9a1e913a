"""The content of a Being that its mirror shows: memories, waiting scenes, and entries."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Protocol, TypeVar

from nacre.being.memory.mirror.memory_line import MemoryLine, plain
from nacre.being.memory.model.types import UNDONE, Node, Scene
from nacre.being.memory.repositories import Repositories
from nacre.being.memory.store.targets import (
    DIARY,
    KNOWLEDGE,
    NOTES,
    PARTNER_MAP,
    PARTNER_TOOLS,
    PREFERENCES,
    RELATIONSHIP,
    Target,
)
from nacre.core.lazy_dataclasses import dataclass, field

FOLDERS: dict[str, Target] = {
    "Knowledge": KNOWLEDGE,
    "People": RELATIONSHIP,
    "Diary": DIARY,
    "Notes": NOTES,
    "Preferences": PREFERENCES,
    "Tools": PARTNER_TOOLS,
    "Places": PARTNER_MAP,
}
"""The folder of each target. Souls and rules are not mirrored: a file must not change them."""

UNSORTED = "Unsorted"
_PAGE = 200


class _Paged(Protocol):
    """A page of a store, and where the next one starts."""

    @property
    def next(self) -> str | None: ...


_Page = TypeVar("_Page", bound=_Paged)


@dataclass(frozen=True, slots=True)
class Unit:
    """A memory or an entry, with the text that its page shows."""

    name: str  # the id of a memory, or the target and the key of an entry
    text: str
    title: str  # of a new page that begins with it
    cluster_id: str | None = None
    line: MemoryLine | None = None  # of a memory


@dataclass(frozen=True, slots=True)
class Content:
    """Everything that a mirror shows, by name."""

    units: dict[str, Unit] = field(default_factory=dict)
    hidden_here: frozenset[str] = frozenset()  # memories that a mirror has hidden


def content_of(memory: Repositories, being_id: str) -> Content:
    """Return the content of a Being."""
    units: dict[str, Unit] = {}
    nodes = list(_nodes(memory, being_id))
    cluster_ids = sorted({node.cluster_id for node in nodes if node.cluster_id is not None})
    clusters = memory.clusters.get_many(being_id, cluster_ids)
    hidden = set()
    for node in nodes:
        if node.status == "hidden" and node.hidden_by == "mirror":
            hidden.add(node.node_id)
        if node.status not in ("merged", "hidden") and node.reason != UNDONE:
            cluster = clusters.get(node.cluster_id or "")
            title = cluster.label if cluster is not None else ""
            units[node.node_id] = _memory(node, title or UNSORTED, node.cluster_id)
    for scene in _scenes(memory, being_id):
        units[scene.scene_id] = _memory(scene, UNSORTED, None)
    for target in FOLDERS.values():
        for unit in _entries(memory, being_id, target):
            units[unit.name] = unit
    return Content(units, frozenset(hidden))


def entry_name(target: Target, key: str) -> str:
    """Return the name of an entry."""
    return f"{target.name}/{key}"


def successors(memory: Repositories, being_id: str, ids: Iterable[str]) -> dict[str, str]:
    """Return the new ids of scenes and merged memories that became other memories."""
    ids = list(ids)
    scenes = memory.scenes.get_many(being_id, ids)
    after = {id_: scene.node_id for id_, scene in scenes.items() if scene.node_id is not None}
    waiting = {*after.values(), *(id_ for id_ in ids if id_ not in scenes)}
    while waiting:
        nodes = memory.nodes.get_many(being_id, sorted(waiting))
        merges = {id_: node.merged_into for id_, node in nodes.items() if node.merged_into}
        new = {id_: target for id_, target in merges.items() if id_ not in after}
        after |= new
        waiting = {*new.values()} - after.keys()
    return {id_: last for id_ in ids if (last := _last(after, id_)) != id_}


def _last(after: dict[str, str], id_: str) -> str:
    visited = {id_}
    while id_ in after and after[id_] not in visited:
        id_ = after[id_]
        visited.add(id_)
    return id_


def _memory(record: Node | Scene, title: str, cluster_id: str | None) -> Unit:
    line = MemoryLine(record.action, record.when, record.actors)
    return Unit(record.id, str(line), title, cluster_id, line)


def _nodes(memory: Repositories, being_id: str) -> Iterator[Node]:
    for page in _pages(partial(memory.nodes.page, being_id, limit=_PAGE)):
        yield from page.nodes


def _scenes(memory: Repositories, being_id: str) -> Iterator[Scene]:
    for page in _pages(partial(memory.scenes.pending, being_id, limit=_PAGE)):
        yield from page.scenes


def _entries(memory: Repositories, being_id: str, target: Target) -> Iterator[Unit]:
    for page in _pages(partial(memory.entries.page, being_id, target, limit=_PAGE)):
        for entry in page.entries:
            text = plain(memory.entries.with_text(being_id, target, entry).text or "")
            title = " ".join(text.split())[:50] if target is NOTES else entry.key
            yield Unit(entry_name(target, entry.key), text, title)


def _pages(read: Callable[..., _Page]) -> Iterator[_Page]:
    """Yield all pages, each read from where the one before ends."""
    start = None
    while True:
        page = read(start=start)
        yield page
        start = page.next
        if start is None:
            return
