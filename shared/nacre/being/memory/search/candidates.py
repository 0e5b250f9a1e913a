"""Memories as searches see them: nodes, and scenes that no patrol has taken yet."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from nacre.being.memory.model import keys
from nacre.being.memory.model.forgetting_curve import retention
from nacre.being.memory.model.types import UNDONE, Node, Scene
from nacre.being.memory.text.memory_text import scene_line
from nacre.core.limits import SCANNED_BYTES
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Index, Item, Key, Table
from nacre.ports.vectors import Filter, Kind

_PAGE = 200


@dataclass(frozen=True, slots=True)
class Remembered:
    """A node or a pending scene, its text in one line, and how well it is remembered (0..1)."""

    told: Node | Scene
    text: str
    retention: float = 1.0

    @property
    def kind(self) -> Kind:
        """Whether it is a node or a scene."""
        return "node" if isinstance(self.told, Node) else "scene"

    @property
    def id(self) -> str:
        """Return the id of the node or scene."""
        return self.told.node_id if isinstance(self.told, Node) else self.told.scene_id

    @property
    def cluster_id(self) -> str | None:
        """Return the cluster it belongs to; a scene has none."""
        return self.told.cluster_id if isinstance(self.told, Node) else None

    @property
    def similar(self) -> tuple[str, ...]:
        """Return the memories that it is linked with as similar; a scene has no links."""
        return self.told.similar if isinstance(self.told, Node) else ()

    @property
    def links(self) -> frozenset[str]:
        """Return its id and what it is similar to; a merged memory also stands for its sources."""
        parents = self.told.parents if isinstance(self.told, Node) else ()
        return frozenset((self.id, *self.similar, *parents))

    @property
    def is_current(self) -> bool:
        """Whether it still says what is so: not superseded, merged or taken back."""
        if isinstance(self.told, Scene):
            return self.told.status == "pending"
        return (
            self.told.status != "merged"
            and self.told.superseded_by is None
            and self.told.reason != UNDONE
        )

    @property
    def became(self) -> str | None:
        """Return the id of the node that a patrol or a merge made of it."""
        if isinstance(self.told, Node):
            return self.told.merged_into if self.told.status == "merged" else None
        return self.told.node_id if self.told.status == "consumed" else None

    @property
    def groups(self) -> tuple[str, ...]:
        """Return what it happened together with: its days and its cluster."""
        return groups_of(self.told.when, self.cluster_id)

    def fits(self, where: Filter) -> bool:
        """Whether a filter lets it pass, by what the item says."""
        return (
            (where.kinds is None or self.kind in where.kinds)
            and (where.states is None or self.told.status in where.states)
            and (where.cluster_id is None or self.cluster_id == where.cluster_id)
            and _within(self.told.when, where.day_from, where.day_to)
        )


class Shelf:
    """Reads memories by id, or the newest of them; it never writes."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def read(self, being_id: str, kinds: Mapping[str, Kind]) -> list[Remembered]:
        """Return the memories that exist of these ids, in the order of the ids."""
        partitions = {"node": keys.nodes(being_id), "scene": keys.scenes(being_id)}
        wanted = [Key(partitions[kind], each) for each, kind in kinds.items()]
        meta = keys.meta(being_id)
        found = self._table.get_many([meta, *wanted])
        clock = _clock(found.get(meta))
        return [_remembered(found[key], clock) for key in wanted if key in found]

    def node(self, being_id: str, node_id: str) -> Remembered | None:
        """Return the node of this id, whatever its state, or None."""
        found = self.read(being_id, {node_id: "node"})
        return found[0] if found else None

    def members(self, being_id: str, cluster_id: str) -> list[Remembered]:
        """Return a cluster's nodes but merged ones: living ones first, the strongest first."""
        clock = _clock(self._table.get(keys.meta(being_id)))
        items = self._pages(keys.members(being_id, cluster_id), "gsi2")
        nodes = [_remembered(item, clock) for item in items]
        return sorted((node for node in nodes if node.is_current), key=_strength)

    def newest(self, being_id: str, where: Filter) -> tuple[list[Remembered], bool]:
        """Return what fits among the newest memories, and whether there are unread ones.

        Scenes come first, then living nodes by their last activation, then, where the filter
        takes them, all others.
        """
        clock = _clock(self._table.get(keys.meta(being_id)))
        room = SCANNED_BYTES
        read: dict[str, Remembered] = {}
        for item in self._all(being_id, where):
            room -= len(str(item))
            if room < 0:
                return list(read.values()), True
            memory = _remembered(item, clock)
            if memory.fits(where):
                read.setdefault(memory.id, memory)
        return list(read.values()), False

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
    """Return what a memory of these days and this cluster happened together with."""
    return days if cluster_id is None else (*days, cluster_id)


def _remembered(item: Item, clock: int) -> Remembered:
    if "node_id" in item and "scene_id" not in item:
        node = Node.from_item(item)
        return Remembered(node, scene_line(node), retention(clock - node.clock0, node.stability))
    scene = Scene.from_item(item)
    return Remembered(scene, scene_line(scene))


def _strength(memory: Remembered) -> tuple[bool, float, str]:
    assert isinstance(memory.told, Node)
    strength = memory.retention * (1 + memory.told.importance)
    return memory.told.status == "dead", -strength, memory.id


def _clock(meta: Item | None) -> int:
    clock = (meta or {}).get("clock", 0)
    return clock if isinstance(clock, int) else 0


def _within(days: Iterable[str], day_from: str | None, day_to: str | None) -> bool:
    if day_from is None and day_to is None:
        return True
    return any((day_from or "") <= day <= (day_to or "9999-12-31") for day in days)
