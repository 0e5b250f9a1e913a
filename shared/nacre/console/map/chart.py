"""The map of a Being's memories: what lies where, and which groups there are."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from nacre.being.memory.index.index_state import LEXICAL, IndexStates
from nacre.being.memory.index.vector_items import SUBJECT_OF, VECTOR_OF, point_key, vectors
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import PENDING_SCENES, count_in, counters
from nacre.being.memory.model.forgetting_curve import DEAD_BELOW, retention
from nacre.being.memory.model.types import NODE, UNDONE, Cluster
from nacre.being.memory.store.clusters import Clusters
from nacre.being.memory.store.merges import CLOCK
from nacre.console.map.layout import Disc, Spot, packed, packed_radius, plane, spread
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Item, Range, Table

_SPACING = (9.0, 30.0)  # between dots, of a map that is some 900 wide
_ROOM = 900 * 560 * 0.3
_ONE_BY_ONE = 300  # vectors that are asked for by their ids rather than all read
_GAP = 1.3  # spacings between groups
_UNGROUPED = "Not grouped yet"
NO_GROUP = "none"
"""The name of the group of those memories that no patrol has put into one."""


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
    """A group of memories on the map, with its number there."""

    number: int
    cluster_id: str | None
    label: str
    x: float
    y: float
    radius: float
    dots: tuple[Dot, ...]

    @property
    def name(self) -> str:
        """Return what the group is asked for by."""
        return self.cluster_id or NO_GROUP


@dataclass(frozen=True, slots=True)
class Chart:
    """A whole map. `left, top, width, height` is what of the plane it shows."""

    islands: tuple[Island, ...]
    left: float = 0.0
    top: float = 0.0
    width: float = 1.0
    height: float = 1.0
    spacing: float = _SPACING[1]
    count: int = 0
    waiting: int = 0  # scenes that no patrol has made memories of
    by_meaning: bool = True  # False where no vectors say what is near to what


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
    """Return the map of the memories that live, of one group only, or with forgotten ones."""
    meta = counters(table, being_id)
    clock, waiting = count_in(meta, CLOCK), count_in(meta, PENDING_SCENES)
    groups: dict[str | None, list[_Memory]] = {}
    wanted = {"active", "dying", "dead"} if forgotten else {"active", "dying"}
    for stored in _stored(table, being_id, group):
        item = NODE.read(stored)
        if item["status"] not in wanted or item.get("reason") == UNDONE:
            continue
        home = item.get("cluster_id")
        groups.setdefault(None if home is None else str(home), []).append(_memory(item, clock))
    if not groups:
        return Chart((), waiting=waiting)
    clusters = {each.cluster_id: each for each in Clusters(table).active(being_id)}
    places = _places(table, being_id, groups)
    order = sorted(groups, key=lambda each: (each is None, -len(groups[each]), each or ""))
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
    spots = [[places.get(each.node_id, _NOWHERE) for each in groups[group]] for group in order]
    if places:
        centres = [_centre(some) for some in spots]
    else:  # nothing is known of what they mean: the largest in the middle
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
    known = None if group is None else clusters.get(group)
    named = known.label if known is not None else ""
    label = _UNGROUPED if group is None else named or "without a label"
    dots = tuple(
        Dot(
            each.node_id,
            each.action,
            each.status,
            each.pinned,
            each.strength,
            round(disc.x + place.x, 1),
            round(disc.y + place.y, 1),
            round(spacing * (0.16 + 0.26 * each.strength), 1),
        )
        for each, place in zip(memories, places, strict=True)
    )
    return Island(
        number, group, label, round(disc.x, 1), round(disc.y, 1), round(disc.radius, 1), dots
    )


def _framed(islands: Sequence[Island], *, spacing: float, waiting: int, by_meaning: bool) -> Chart:
    margin = spacing * 1.5
    left = min(each.x - each.radius for each in islands) - margin
    right = max(each.x + each.radius for each in islands) + margin
    # Numbers stand above the groups.
    top = min(each.y - each.radius for each in islands) - max(margin, (right - left) / 45)
    bottom = max(each.y + each.radius for each in islands) + margin
    return Chart(
        islands=tuple(islands),
        left=round(left, 1),
        top=round(top, 1),
        width=round(right - left, 1),
        height=round(bottom - top, 1),
        spacing=spacing,
        count=sum(len(each.dots) for each in islands),
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
    """Return where memories lie by what they mean; none where no vectors are kept."""
    state = IndexStates(table).get(being_id)
    if state is None or state.active == LEXICAL:
        return {}
    of_subject, of_text = SUBJECT_OF + state.active, VECTOR_OF + state.active
    wanted = {each.node_id for some in groups.values() for each in some}
    found: dict[str, bytes] = {}
    points: Iterable[Item]
    if len(wanted) <= _ONE_BY_ONE:
        points = table.get_many([point_key(being_id, each) for each in sorted(wanted)]).values()
    else:
        points = every_item(table, vectors(being_id), keys=Range(low="P#", high="P$"))
    for item in points:
        node_id = str(item["sk"])[2:]
        vector = item.get(of_subject, item.get(of_text))
        if node_id in wanted and isinstance(vector, bytes):
            found[node_id] = vector
    lengths = {len(vector) for vector in found.values()}
    if len(lengths) != 1:
        return {}
    order = sorted(found)  # so that no store's order changes the map
    return dict(zip(order, plane([found[each] for each in order]), strict=True))


def _stored(table: Table, being_id: str, group: str | None) -> Iterator[Item]:
    """Give the nodes of a group, or all; on AWS the list of a group may lag behind the writes."""
    if group is None:
        return every_item(table, keys.nodes(being_id))
    cluster_id = None if group == NO_GROUP else group
    return every_item(table, keys.members(being_id, cluster_id), index="gsi2")


def _memory(item: Item, clock: int) -> _Memory:
    stability, clock0 = item["stability"], item.get("clock0", 0)
    assert isinstance(stability, int | float)
    assert isinstance(clock0, int | float)
    left = retention(clock - int(clock0), float(stability))
    strength = max(0.0, (left - DEAD_BELOW) / (1 - DEAD_BELOW))
    return _Memory(
        str(item["sk"]),
        str(item["action"]),
        str(item["status"]),
        bool(item.get("pinned", False)),
        0.0 if item["status"] == "dead" else round(strength, 3),
    )
