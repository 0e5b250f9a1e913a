"""The log of recalls: each recall is appended, and the next patrol counts it in its memories.

An append costs one small write, however large the memories are. A recall is counted exactly once,
because the patrol deletes its batch in the transaction that counts it. Batches that no patrol has
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
from nacre.being.memory.store.recall_batches import OpenBatches, RecallBatch, Recalls
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError
from nacre.core.ids import ulid, ulids
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import (
    ACTIVATION_SECONDS,
    RECALL_BATCH_SECONDS,
    RECALLS_WAIT_SECONDS,
)
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import (
    Absent,
    Change,
    Check,
    Delete,
    Key,
    Present,
    Put,
    Range,
    Table,
)

UNCOUNTED = ItemSchema("uncounted recalls", 1)
NODES_IN_RECALL = 20
"""Memories that a logged recall names at most, so that a patrol counts it in one transaction."""

_AT_ONCE = 500  # Beings of one part of the sweep


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
        self._batches = OpenBatches(table)
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
        starts = range(0, len(recalled), NODES_IN_RECALL)
        names = ulids(now, self._rng, len(starts))
        appended = []
        for start, name in zip(starts, names, strict=True):
            some = recalled[start : start + NODES_IN_RECALL]
            times = {node.node_id: amounts[node.node_id] for node in some}
            appended.append(self._batches.append(being_id, name, times, now))
        try:
            if not all(recall.is_announced for recall in appended):
                self._announce(being_id, now)
                self._batches.announced(being_id, names[-1])
            if any(node.status == "dead" for node in recalled):
                announce_work(self._table, being_id)
        except ConditionFailedError:  # the Being was erased meanwhile, and the log before this
            self._batches.close(being_id)
            self._table.transact([Delete(key) for key in {recall.key for recall in appended}])

    def remove(self, being_id: str, node_ids: Iterable[str]) -> None:
        """Remove nodes from the recalls that wait, because they are erased."""
        erased = frozenset(node_ids)

        def removed() -> None:
            for batch in waiting_batches(self._table, being_id):
                if erased & batch.node_ids:
                    self._table.put(batch.without(erased), when=batch.is_unchanged)

        retry_on_conflict(removed)

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


def waiting_batches(table: Table, being_id: str, *, limit: int | None = None) -> list[RecallBatch]:
    """Return the batches that no patrol has counted, the oldest first."""
    partition = keys.recalls(being_id)
    items = (
        items_in(table, partition) if limit is None else table.query(partition, limit=limit).items
    )
    return list(map(RecallBatch.from_item, items))


def waiting_recalls(table: Table, being_id: str, *, limit: int | None = None) -> list[Recalls]:
    """Return the recalls that no patrol has counted."""
    batches = waiting_batches(table, being_id, limit=limit)
    return [recall for batch in batches for recall in batch.recalls][:limit]


def recalls_between(
    table: Table, being_id: str, first: datetime, last: datetime
) -> Iterator[Recalls]:
    """Yield the recalls of these moments that no patrol has counted, the oldest first."""
    longest = timedelta(seconds=RECALL_BATCH_SECONDS)
    began, low, high = (int(time.timestamp() * 1000) for time in (first - longest, first, last))
    lowest, highest = ulid(low, 0), ulid(high, (1 << 80) - 1)
    within = Range(low=ulid(began, 0), high=highest)
    batches = map(RecallBatch.from_item, items_in(table, keys.recalls(being_id), within))
    recalls = [recall for batch in batches for recall in batch.recalls]
    for recall in sorted(recalls, key=lambda recall: recall.name):
        if lowest <= recall.name <= highest:
            yield recall


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


def _nodes(table: Table, being_id: str, node_ids: Iterable[str]) -> dict[str, Node]:
    return records_by_id(table, Node, keys.nodes(being_id), sorted(node_ids))
