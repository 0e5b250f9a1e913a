"""The map of a Being's memories: its clusters, and the position of every memory."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean

from nacre.being.memory.index.index_state import LEXICAL, IndexStates
from nacre.being.memory.index.vector_items import SUBJECT_OF, VECTOR_OF
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import CLOCK, PENDING_SCENES, count_in, counters
from nacre.being.memory.model.forgetting_curve import DEAD_BELOW, retention
from nacre.being.memory.model.types import NODE, UNDONE, Cluster
from nacre.being.memory.store.clusters import Clusters
from nacre.being.memory.text.text_blocks import shortened
from nacre.console.map.layout import Disc, Spot, packed, packed_radius, plane, spread
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Item, Range, Table
from nacre.ports.vectors.packed_vectors import unpacked
from nacre.ports.vectors.vector_index import dimension_of

_SPACING = (9.0, 30.0)  # between dots, on a map that is about 900 wide
_ROOM = 900 * 560 * 0.3
_ONE_BY_ONE = 300  # up to so many vectors are read by their ids; above it, all vectors are read
_GAP = 1.3  # spacings between groups
_UNGROUPED = "Not in a cluster yet"
_NAME_LENGTH = 60
NO_GROUP = "none"
"""The name of the group of memories that are in no cluster yet."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A memory on the map; `strength` is from 0 to 1."""

    node_id: str
    action: str
    status: str
    pinned: bool
    strength: float
    x: float
    y: float
    radius: float


@dataclass(frozen=True, slots=True)
class Island:
    """A cluster on the map, with its number there."""

    number: int
    cluster_id: str | None
    label: str
    x: float
    y: float
    radius: float
    dots: tuple[Dot, ...]

    @property
    def name(self) -> str:
        """Return the name of the group in addresses."""
        return self.cluster_id or NO_GROUP


@dataclass(frozen=True, slots=True)
class Chart:
    """A whole map; `left, top, width, height` is the part of the plane that it shows."""

    islands: tuple[Island, ...]
    left: float = 0.0
    top: float = 0.0
    width: float = 1.0
    height: float = 1.0
    spacing: float = _SPACING[1]
    count: int = 0
    waiting: int = 0  # scenes that no patrol has processed
    by_meaning: bool = True  # False without vectors, when positions have no meaning


@dataclass(frozen=True, slots=True)
class _Memory:
    node_id: str
    action: str
    status: str
    pinned: bool
    strength: float


def chart(
    table: Table, being_id: str, *, group: str | None = None, forgotten: bool = False
) -> Chart:
    """Return the map of living memories, optionally of one group or with forgotten ones."""
    meta = counters(table, being_id)
    clock, waiting = count_in(meta, CLOCK), count_in(meta, PENDING_SCENES)
    groups: dict[str | None, list[_Memory]] = {}
    states = {"active", "dying", "dead"} if forgotten else {"active", "dying"}
    for stored in _stored(table, being_id, group):
        item = NODE.read(stored)
        if item["status"] not in states or item.get("reason") == UNDONE:
            continue
        home = item.get("cluster_id")
        groups.setdefault(None if home is None else str(home), []).append(_memory(item, clock))
    if not groups:
        return Chart((), waiting=waiting)
    clusters = {cluster.cluster_id: cluster for cluster in Clusters(table).active(being_id)}
    places = _places(table, being_id, groups)
    order = sorted(groups, key=lambda name: (name is None, -len(groups[name]), name or ""))
    drawn = _drawn(groups, order, clusters, places)
    count = sum(map(len, groups.values()))
    return _framed(drawn, spacing=_spacing(count), waiting=waiting, by_meaning=bool(places))


def _drawn(
    groups: Mapping[str | None, Sequence[_Memory]],
    order: Sequence[str | None],
    clusters: Mapping[str, Cluster],
    places: Mapping[str, Spot],
) -> list[Island]:
    count = sum(map(len, groups.values()))
    spacing = _spacing(count)
    radii = [packed_radius(len(groups[group]), spacing) for group in order]
    spots = [[places.get(memory.node_id, _NOWHERE) for memory in groups[group]] for group in order]
    if places:
        centres = [_centre(some) for some in spots]
    else:  # without vectors: the largest in the middle
        centres = packed([_NOWHERE] * len(order), spacing)
    discs = spread(centres, radii, _GAP * spacing)
    return [
        _island(number, group, clusters, groups[group], disc, packed(some, spacing), spacing)
        for number, (group, disc, some) in enumerate(zip(order, discs, spots, strict=True), start=1)
    ]


_NOWHERE = Spot(0.0, 0.0)


def _island(
    number: int,
    group: str | None,
    clusters: Mapping[str, Cluster],
    memories: Sequence[_Memory],
    disc: Disc,
    places: Sequence[Spot],
    spacing: float,
) -> Island:
    cluster = None if group is None else clusters.get(group)
    named = cluster.label if cluster is not None else ""
    label = _UNGROUPED if group is None else named or _typical(memories)
    dots = tuple(
        Dot(
            memory.node_id,
            memory.action,
            memory.status,
            memory.pinned,
            memory.strength,
            round(disc.x + place.x, 1),
            round(disc.y + place.y, 1),
            round(spacing * (0.16 + 0.26 * memory.strength), 1),
        )
        for memory, place in zip(memories, places, strict=True)
    )
    return Island(
        number, group, label, round(disc.x, 1), round(disc.y, 1), round(disc.radius, 1), dots
    )


def _typical(memories: Sequence[_Memory]) -> str:
    """Return the name of a group that no patrol has named: its strongest memory."""
    return shortened(max(memories, key=lambda memory: memory.strength).action, _NAME_LENGTH)


def _framed(islands: Sequence[Island], *, spacing: float, waiting: int, by_meaning: bool) -> Chart:
    margin = spacing * 1.5
    low_x = min(island.x - island.radius for island in islands) - margin
    high_x = max(island.x + island.radius for island in islands) + margin
    # Numbers are drawn above the clusters.
    top = min(island.y - island.radius for island in islands) - max(margin, (high_x - low_x) / 45)
    bottom = max(island.y + island.radius for island in islands) + margin
    return Chart(
        islands=tuple(islands),
        left=round(low_x, 1),
        top=round(top, 1),
        width=round(high_x - low_x, 1),
        height=round(bottom - top, 1),
        spacing=spacing,
        count=sum(len(island.dots) for island in islands),
        waiting=waiting,
        by_meaning=by_meaning,
    )


def _spacing(count: int) -> float:
    return round(min(_SPACING[1], max(_SPACING[0], math.sqrt(_ROOM / count))), 1)


def _centre(spots: Sequence[Spot]) -> Spot:
    return Spot(fmean(spot.x for spot in spots), fmean(spot.y for spot in spots))


def _places(
    table: Table, being_id: str, groups: Mapping[str | None, Sequence[_Memory]]
) -> dict[str, Spot]:
    """Return the position of each memory by its meaning; empty without vectors."""
    state = IndexStates(table).get(being_id)
    if state is None or state.active == LEXICAL:
        return {}
    of_subject, of_text = SUBJECT_OF + state.active, VECTOR_OF + state.active
    node_ids = {memory.node_id for memories in groups.values() for memory in memories}
    vectors: dict[str, bytes] = {}
    points: Iterable[Item]
    if len(node_ids) <= _ONE_BY_ONE:
        points = table.get_many(
            [keys.point(being_id, node_id) for node_id in sorted(node_ids)]
        ).values()
    else:
        points = every_item(table, keys.vectors(being_id), keys=Range(low="P#", high="P$"))
    for item in points:
        node_id = str(item["sk"])[2:]
        vector = item.get(of_subject, item.get(of_text))
        if node_id in node_ids and isinstance(vector, bytes):
            vectors[node_id] = unpacked(vector, dimension_of(state.active))
    lengths = {len(vector) for vector in vectors.values()}
    if len(lengths) != 1:
        return {}
    order = sorted(vectors)  # so that the order of a store does not change the map
    return dict(zip(order, plane([vectors[node_id] for node_id in order]), strict=True))


def _stored(table: Table, being_id: str, group: str | None) -> Iterator[Item]:
    """Yield the nodes of a group, or all; on AWS the list of a group may lag behind writes."""
    if group is None:
        return every_item(table, keys.nodes(being_id))
    cluster_id = None if group == NO_GROUP else group
    return every_item(table, keys.members(being_id, cluster_id), index="gsi2")


def _memory(item: Item, clock: int) -> _Memory:
    stability, clock0 = item["stability"], item.get("clock0", 0)
    assert isinstance(stability, int | float)
    assert isinstance(clock0, int | float)
    retained = retention(clock - int(clock0), float(stability))
    strength = max(0.0, (retained - DEAD_BELOW) / (1 - DEAD_BELOW))
    return _Memory(
        str(item["sk"]),
        str(item["action"]),
        str(item["status"]),
        bool(item.get("pinned", False)),
        0.0 if item["status"] == "dead" else round(strength, 3),
    )
