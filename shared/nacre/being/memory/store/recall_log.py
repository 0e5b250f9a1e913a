"""The log of recalls: each recall is appended, and the next patrol counts it in its memories.

An append costs one small write, however large the memories are. A recall is counted exactly once,
because the patrol deletes an entry in the transaction that counts it. Entries that no patrol has
counted for a day are work, which the sweep finds by an announcement.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from random import Random

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import announce_work
from nacre.being.memory.model.merged_node import strongest_of
from nacre.being.memory.model.types import UNDONE, Node, moment
from nacre.being.memory.store.partitions import items_in, records_by_id
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError
from nacre.core.ids import ulid, ulids
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import ACTIVATION_SECONDS, RECALLS_WAIT_SECONDS
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import (
    Absent,
    Change,
    Check,
    Delete,
    Item,
    Key,
    Present,
    Put,
    Range,
    Table,
)

RECALLS = ItemSchema("recalls", 1)
UNCOUNTED = ItemSchema("uncounted recalls", 1)
NODES_IN_ENTRY = 20
"""Memories that an entry names at most, so that a patrol counts it in one transaction."""

_COUNT_OF = "n:"  # prefix of the attribute with the recalls of a node
_AT_ONCE = 500  # Beings of one part of the sweep


@dataclass(frozen=True, slots=True)
class Recalls:
    """The recalls of one read: how often each node counts, and when that was."""

    key: Key
    at: str
    times: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Tally:
    """The recalls of one node that no patrol has counted yet, and the time of the last one."""

    times: int
    at: str

    def __add__(self, more: "Tally") -> "Tally":
        """Return both together."""
        return Tally(self.times + more.times, max(self.at, more.at))


class RecallLog:
    """Appends recalls for the next patrol."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._clock = clock
        self._rng = rng

    def add(
        self, being_id: str, amounts: Mapping[str, int], *, nodes: Mapping[str, Node] | None = None
    ) -> None:
        """Log recalls of nodes, each by its amount, for the next patrol.

        `nodes` are the nodes if they were just read, which saves reading them again. The patrol
        strengthens a living node, and revives a dead one that has two recalls since its death.
        Merged and hidden nodes and ids that do not exist are skipped.
        """
        if nodes is None:
            nodes = _nodes(self._table, being_id, amounts)
        recalled = [
            node
            for node in nodes.values()
            if amounts[node.node_id] > 0
            and node.status not in ("merged", "hidden")
            and node.reason != UNDONE
        ]
        if not recalled:
            return
        now = self._clock()
        starts = range(0, len(recalled), NODES_IN_ENTRY)
        entries = [
            _entry(
                Key(keys.recalls(being_id), entry_id),
                moment(now),
                {
                    node.node_id: amounts[node.node_id]
                    for node in recalled[start : start + NODES_IN_ENTRY]
                },
            )
            for start, entry_id in zip(starts, ulids(now, self._rng, len(starts)), strict=True)
        ]
        for entry in entries:
            self._table.put(entry)
        try:
            self._announce(being_id, now)
            if any(node.status == "dead" for node in recalled):
                announce_work(self._table, being_id)
        except ConditionFailedError:  # the Being was erased meanwhile, and the log before this
            self._table.transact([Delete(Key.of(entry)) for entry in entries])

    def remove(self, being_id: str, node_ids: Iterable[str]) -> None:
        """Remove nodes from the entries that wait, because they are erased."""
        erased = set(node_ids)
        for entry in waiting_recalls(self._table, being_id):
            if named := erased & entry.times.keys():
                gone = frozenset(_COUNT_OF + node_id for node_id in named)
                with suppress(ConditionFailedError):  # a patrol has just counted the entry
                    self._table.update(entry.key, Change(remove=gone), when=Present())

    def _announce(self, being_id: str, now: datetime) -> None:
        """List the Being for the sweep once; raises ConditionFailedError if it is gone.

        The log is written before the announcement is read, and a patrol deletes the announcement
        before it reads the log. So no entry stays without an announcement.
        """
        place = keys.uncounted(being_id)
        if self._table.get(place) is not None:
            return
        item = UNCOUNTED.stamp(
            {
                **place.attributes(),
                "gsi1pk": keys.uncounted_partition(keys.work(being_id)),
                "gsi1sk": f"{moment(now)}#{being_id}",
            }
        )
        try:
            self._table.transact([Check(keys.meta(being_id), Present()), Put(item, Absent())])
        except ConditionFailedError as error:
            if error.index == 0:
                raise


def announce_old_recalls(table: Table, work_partition: str, clock: Clock) -> None:
    """List Beings whose recalls have waited for a day in this part of the list of work.

    It lists a limited number at once; the next sweep continues with the others.
    """
    now = clock()
    day_before = moment(now - timedelta(seconds=RECALLS_WAIT_SECONDS))
    partition = keys.uncounted_partition(work_partition)
    old = table.query(partition, index="gsi1", keys=Range(high=day_before), limit=_AT_ONCE)
    for item in old.items:
        being_id = str(item["gsi1sk"]).rpartition("#")[2]
        later = Change(set={"gsi1sk": f"{moment(now)}#{being_id}"})
        with suppress(ConditionFailedError):  # a patrol has just counted them, or it is erased
            announce_work(table, being_id)
            table.update(Key.of(item), later, when=Present())


def waiting_recalls(table: Table, being_id: str, *, limit: int | None = None) -> list[Recalls]:
    """Return the entries that no patrol has counted, the oldest first."""
    if limit is None:
        return list(map(_recalls, items_in(table, keys.recalls(being_id))))
    return list(map(_recalls, table.query(keys.recalls(being_id), limit=limit).items))


def recalls_between(
    table: Table, being_id: str, first: datetime, last: datetime
) -> Iterator[Recalls]:
    """Yield the entries of these moments that no patrol has counted, the oldest first."""
    low, high = (int(time.timestamp() * 1000) for time in (first, last))
    within = Range(low=ulid(low, 0), high=ulid(high, (1 << 80) - 1))
    yield from map(_recalls, items_in(table, keys.recalls(being_id), within))


def counted_nodes(table: Table, being_id: str, *, now: str) -> dict[str, Node]:
    """Return the nodes with recalls that wait, as they will be once these are counted, by id."""
    recalled = recalled_nodes(table, being_id, waiting_recalls(table, being_id))
    return {node_id: counted(node, tally, now) for node_id, (node, tally) in recalled.items()}


def recalled_nodes(
    table: Table, being_id: str, entries: Iterable[Recalls]
) -> dict[str, tuple[Node, Tally]]:
    """Return the nodes in which these recalls count, by id, each with the sum of its recalls.

    This is the recalled node itself, or the one that it was merged into since. The recalls of an
    undone merge count in its strongest source, those of erased nodes nowhere.
    """
    tallies = tallies_of(entries)
    nodes = _nodes(table, being_id, tallies)
    targets: dict[str, tuple[Node, Tally]] = {}
    for logged_id, tally in tallies.items():
        node = _target(table, being_id, nodes.get(logged_id), nodes)
        if node is not None:
            _, before = targets.get(node.node_id, (node, None))
            targets[node.node_id] = node, tally if before is None else before + tally
    return dict(sorted(targets.items()))


def _target(table: Table, being_id: str, node: Node | None, nodes: dict[str, Node]) -> Node | None:
    """Return the node in which recalls of a node count now; `nodes` gets those that are read."""
    visited: set[str] = set()
    while node is not None and node.node_id not in visited:
        visited.add(node.node_id)
        if node.reason == UNDONE:
            followers = node.parents
        elif node.status == "merged" and node.merged_into is not None:
            followers = (node.merged_into,)
        else:
            return node
        nodes |= _nodes(table, being_id, set(followers) - nodes.keys())
        existing = [nodes[node_id] for node_id in followers if node_id in nodes]
        node = strongest_of(existing) if existing else None
    return None


def tallies_of(entries: Iterable[Recalls]) -> dict[str, Tally]:
    """Return the recalls of each node in these entries."""
    tallies: dict[str, Tally] = {}
    for entry in entries:
        for node_id, times in entry.times.items():
            tally = Tally(times, entry.at)
            tallies[node_id] = tallies[node_id] + tally if node_id in tallies else tally
    return tallies


def counted(node: Node, tally: Tally, now: str) -> Node:
    """Return a node whose count includes these recalls."""
    at = min(tally.at, now)  # not that of a clock that was wrong
    last = node.last_activated or ""
    hour_before = datetime.fromisoformat(at) - timedelta(seconds=ACTIVATION_SECONDS)
    if last > now or last <= moment(hour_before):
        last = at
    return replace(
        node, reactivation_count=node.reactivation_count + tally.times, last_activated=last
    )


def _entry(key: Key, at: str, times: Mapping[str, int]) -> Item:
    counts: Item = {_COUNT_OF + node_id: count for node_id, count in times.items()}
    return RECALLS.stamp({**key.attributes(), "at": at, **counts})


def _recalls(item: Item) -> Recalls:
    item = RECALLS.read(item)
    times = {
        name[len(_COUNT_OF) :]: value
        for name, value in item.items()
        if name.startswith(_COUNT_OF) and isinstance(value, int)
    }
    return Recalls(Key.of(item), str(item["at"]), times)


def _nodes(table: Table, being_id: str, node_ids: Iterable[str]) -> dict[str, Node]:
    return records_by_id(table, Node, keys.nodes(being_id), sorted(node_ids))
