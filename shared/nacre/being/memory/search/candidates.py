"""Memories as searches see them: nodes, and scenes that no patrol has taken yet."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, compress
from typing import cast

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import CLOCK, count_in
from nacre.being.memory.model.forgetting_curve import retention
from nacre.being.memory.model.types import UNDONE, Node, NodeStatus, Scene, SceneStatus, SceneText
from nacre.being.memory.text.memory_text import scene_line
from nacre.being.memory.text.summary import PointSummary, event_of
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import SCANNED_BYTES
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Index, Item, Key, Table
from nacre.ports.vectors.vector_index import Filter, Kind

_PAGE = 200


@dataclass(frozen=True, slots=True)
class Memory:
    """A node or a pending scene, its text in one line, and its retention from 0 to 1.

    If it `is_stored`, its record was read from the store. Else it is as the index knows it: its
    record has the fields of the `Summary`, and may be a little older than the store's.
    """

    record: Node | Scene
    text: str
    retention: float = 1.0
    is_stored: bool = True

    @property
    def kind(self) -> Kind:
        """Return whether this is a node or a scene."""
        return "node" if isinstance(self.record, Node) else "scene"

    @property
    def id(self) -> str:
        """Return the id of the node or scene."""
        return self.record.id

    @property
    def cluster_id(self) -> str | None:
        """Return the id of its cluster; a scene has none."""
        return self.record.cluster_id if isinstance(self.record, Node) else None

    @property
    def similar(self) -> tuple[str, ...]:
        """Return the ids of memories that are linked as similar; a scene has no links."""
        return self.record.similar if isinstance(self.record, Node) else ()

    @property
    def links(self) -> frozenset[str]:
        """Return its own id and those of similar memories and of the sources of a merge."""
        parents = self.record.parents if isinstance(self.record, Node) else ()
        return frozenset((self.id, *self.similar, *parents))

    @property
    def is_current(self) -> bool:
        """Return whether it still holds: it is not superseded, merged, hidden or undone."""
        if isinstance(self.record, Scene):
            return self.record.status == "pending"
        return (
            self.record.status not in ("merged", "hidden")
            and self.record.superseded_by is None
            and self.record.reason != UNDONE
        )

    @property
    def successor(self) -> str | None:
        """Return the id of the node that it became by a patrol or a merge, if any."""
        if isinstance(self.record, Node):
            return self.record.merged_into if self.record.status == "merged" else None
        return self.record.node_id if self.record.status == "consumed" else None

    @property
    def event(self) -> str:
        """Return the mark that memories of one event share; "" for a merged memory."""
        return event_of(self.record)

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the groups that it belongs to: its days and its cluster."""
        return groups_of(self.record.when, self.cluster_id)

    def held_on(self, day: str) -> bool:
        """Return whether it was known on a day, and nothing had superseded it."""
        if not _within(self.record.when, None, day) or self.record.status in ("merged", "hidden"):
            return False
        if isinstance(self.record, Scene):
            return True
        return self.record.holds_on(day) and self.record.reason != UNDONE

    def fits(self, where: Filter) -> bool:
        """Return whether it passes the filter."""
        return (
            (where.kinds is None or self.kind in where.kinds)
            and (where.states is None or self.record.status in where.states)
            and (where.cluster_id is None or self.cluster_id == where.cluster_id)
            and _within(self.record.when, where.day_from, where.day_to)
        )


class MemoryReader:
    """Reads memories by id, by cluster or by time. It never writes."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def read(
        self, being_id: str, kinds: Mapping[str, Kind], *, clock: int | None = None
    ) -> list[Memory]:
        """Return the memories of these ids that exist, in the order of the ids.

        `clock` is that of the Being, if it was just read.
        """
        partitions = {"node": keys.nodes(being_id), "scene": keys.scenes(being_id)}
        places = [Key(partitions[kind], memory_id) for memory_id, kind in kinds.items()]
        if clock is not None:
            items = self._table.get_many(places)
        else:
            meta = keys.meta(being_id)
            items = self._table.get_many([meta, *places])
            clock = _clock(items.get(meta))
        return [_memory(items[place], clock) for place in places if place in items]

    def node(self, being_id: str, node_id: str) -> Memory | None:
        """Return the node of this id, whatever its state, or None."""
        return next(iter(self.read(being_id, {node_id: "node"})), None)

    def members(self, being_id: str, cluster_id: str, *, as_of: str | None = None) -> list[Memory]:
        """Return the current nodes of a cluster, living ones first, then the strongest first.

        With `as_of`, these are the nodes that held on that day.
        """
        clock = _clock(self._table.get(keys.meta(being_id)))
        items = self._pages(keys.members(being_id, cluster_id), "gsi2")
        nodes = [_memory(item, clock) for item in items]
        holds = (node.is_current if as_of is None else node.held_on(as_of) for node in nodes)
        return sorted(compress(nodes, holds), key=_strength)

    def newest(self, being_id: str, where: Filter) -> tuple[list[Memory], bool]:
        """Return the newest memories that pass the filter, and whether the scan was cut short.

        Scenes come first, then living nodes by their last activation, then all others if the
        filter may pass them.
        """
        clock = _clock(self._table.get(keys.meta(being_id)))
        room = SCANNED_BYTES
        memories: dict[str, Memory] = {}
        for item in self._all(being_id, where):
            room -= len(str(item))
            if room < 0:
                return list(memories.values()), True
            memory = _memory(item, clock)
            if memory.fits(where):
                memories.setdefault(memory.id, memory)
        return list(memories.values()), False

    def _all(self, being_id: str, where: Filter) -> Iterator[Item]:
        living = chain(
            self._pages(keys.pending(being_id), "gsi1"),
            self._pages(keys.activity(being_id), "gsi1"),
        )
        states = where.states
        if states is not None and states <= {"active", "dying", "pending"}:
            return living
        return chain(living, self._pages(keys.nodes(being_id), None))

    def _pages(self, partition: str, index: Index | None) -> Iterable[Item]:
        return every_item(self._table, partition, index=index, descending=True, at_once=_PAGE)


def groups_of(days: tuple[str, ...], cluster_id: str | None) -> tuple[str, ...]:
    """Return the groups of a memory of these days and this cluster."""
    return days if cluster_id is None else (*days, cluster_id)


def indexed_memory(id_: str, text: str, clock: int) -> Memory:
    """Return the memory in the summary of a point; raises ValueError for any other text."""
    point = PointSummary.from_text(text)
    summary, state = point.summary, point.state
    event = SceneText(action=point.action, actors=summary.actors, when=point.days).text_fields()
    if point.kind == "scene":
        scene = Scene(
            **event,
            scene_id=id_,
            created_at=summary.created_at,
            fingerprint=summary.event,
            status=cast("SceneStatus", state),
        )
        return Memory(scene, point.line, is_stored=False)
    node = Node(
        **event,
        node_id=id_,
        created_at=summary.created_at,
        fingerprint=summary.event or None,
        stability=summary.stability,
        clock0=summary.clock0,
        cluster_id=point.cluster_id,
        status=cast("NodeStatus", state),
        parents=summary.parents,
        similar=summary.similar,
        superseded_by=summary.superseded_by,
        valid_until=summary.valid_until,
    )
    return Memory(node, point.line, retention(clock - node.clock0, node.stability), is_stored=False)


def _memory(item: Item, clock: int) -> Memory:
    if "node_id" in item and "scene_id" not in item:
        node = Node.from_item(item)
        return Memory(node, scene_line(node), retention(clock - node.clock0, node.stability))
    scene = Scene.from_item(item)
    return Memory(scene, scene_line(scene))


def _strength(memory: Memory) -> tuple[bool, float, str]:
    assert isinstance(memory.record, Node)
    strength = memory.retention * (1 + memory.record.importance)
    return memory.record.status == "dead", -strength, memory.id


def _clock(meta: Item | None) -> int:
    return 0 if meta is None else count_in(meta, CLOCK)


def _within(days: Iterable[str], day_from: str | None, day_to: str | None) -> bool:
    if day_from is None and day_to is None:
        return True
    return any((day_from or "") <= day <= (day_to or "9999-12-31") for day in days)
