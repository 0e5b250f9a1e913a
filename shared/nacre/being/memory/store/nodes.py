"""Nodes: the memories themselves, read in every way a tool needs, and counted when recalled."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import write_counted
from nacre.being.memory.model.types import UNDONE, Node, NodeStatus, moment
from nacre.being.memory.store.retry import settled
from nacre.being.memory.text.searchable_text import SearchIndex, searchable
from nacre.core.clock import Clock
from nacre.core.limits import ACTIVATION_SECONDS
from nacre.ports.items.table import (
    Absent,
    Change,
    Compare,
    Condition,
    Every,
    Item,
    Key,
    Page,
    Put,
    Range,
    Table,
    Update,
    Value,
    Write,
)

_MOVED = ("gsi1pk", "gsi1sk", "gsi3pk", "gsi3sk")  # being recalled moves a node in these lists


@dataclass(frozen=True, slots=True)
class NodePage:
    """Some nodes; `next` is where more begin."""

    nodes: tuple[Node, ...]
    next: str | None


class Nodes:
    """Reads nodes, adds them and counts how often they were recalled."""

    def __init__(self, table: Table, index: SearchIndex, *, clock: Clock) -> None:
        self._table = table
        self._index = index
        self._clock = clock

    def get(self, being_id: str, node_id: str) -> Node | None:
        """Return the node, whatever its status, or None."""
        return self.get_many(being_id, [node_id]).get(node_id)

    def get_many(self, being_id: str, node_ids: Iterable[str]) -> dict[str, Node]:
        """Return the nodes that exist, by id."""
        places = [Key(keys.nodes(being_id), each) for each in node_ids if each]
        found = self._table.get_many(places)
        return {place.sk: Node.from_item(item) for place, item in found.items()}

    def page(
        self, being_id: str, *, limit: int | None = None, start: str | None = None
    ) -> NodePage:
        """Return nodes of every status in the order of their ids."""
        return _page(self._table.query(keys.nodes(being_id), limit=limit, start=start))

    def in_cluster(
        self,
        being_id: str,
        cluster_id: str | None,
        *,
        status: NodeStatus | None = None,
        limit: int | None = None,
        start: str | None = None,
    ) -> NodePage:
        """Return a cluster's nodes by status and id; None: nodes without a cluster.

        On AWS the list may lag behind the writes.
        """
        return _page(
            self._table.query(
                keys.members(being_id, cluster_id),
                index="gsi2",
                keys=None if status is None else Range(prefix=f"{status}#"),
                limit=limit,
                start=start,
            )
        )

    def recent(
        self, being_id: str, *, limit: int | None = None, start: str | None = None
    ) -> NodePage:
        """Return living nodes, the one that was last activated first; on AWS it may lag."""
        return _page(
            self._table.query(
                keys.activity(being_id), index="gsi1", descending=True, limit=limit, start=start
            )
        )

    def add(self, being_id: str, nodes: Sequence[Node]) -> None:
        """Store new nodes, as many as one transaction takes, and make them searchable.

        Raises ConditionFailedError when an id is taken.
        """
        entries = [searchable(node) for node in nodes]
        writes: list[Write] = [Put(node.to_item(being_id), Absent()) for node in nodes]
        writes += self._index.writes(being_id, entries)
        write_counted(self._table, being_id, writes, has_work=True)
        self._index.apply(being_id, entries)

    def touch(
        self, being_id: str, amounts: Mapping[str, int], *, known: Mapping[str, Node] | None = None
    ) -> None:
        """Count that these nodes were recalled, each by its amount.

        `known` are the nodes as they were just read, which saves reading them again.

        A living node joins those that the next patrol refreshes. A dead one with two more
        since its death is brought back by that patrol. Merged nodes and ids that do not
        exist are left alone.
        """
        just_read = [known] if known is not None else []

        def once() -> None:
            # The second attempt comes after somebody else's write, so it reads them anew.
            found = just_read.pop() if just_read else self.get_many(being_id, amounts)
            self._touch(being_id, amounts, found)

        settled(once)

    def _touch(self, being_id: str, amounts: Mapping[str, int], found: Mapping[str, Node]) -> None:
        writes: list[Write] = []
        revived = False
        for node_id, node in found.items():
            if node.status == "merged" or node.reason == UNDONE or amounts[node_id] < 1:
                continue
            after = self._recalled(node, amounts[node_id])
            writes.append(_recall(being_id, node, after, amounts[node_id]))
            revived = revived or after.is_revivable
        if revived:
            write_counted(self._table, being_id, writes, has_work=True)
        elif writes:
            self._table.transact(writes)

    def _recalled(self, node: Node, amount: int) -> Node:
        now = self._clock()
        last = node.last_activated or ""
        is_ahead = last > moment(now)  # set by a clock that was wrong
        if is_ahead or last <= moment(now - timedelta(seconds=ACTIVATION_SECONDS)):
            last = moment(now)
        return replace(
            node,
            reactivation_count=node.reactivation_count + amount,
            last_activated=last or None,
        )


def replacing(being_id: str, before: Node, after: Node) -> Put:
    """Return the write of a node in the place of what it was, recalls included."""
    # Recalls are counted without raising the version, and none may be lost.
    same = Every(
        (
            Compare("version", "=", before.version),
            Compare("reactivation_count", "=", before.reactivation_count),
        )
    )
    return Put(after.to_item(being_id), same)


def _recall(being_id: str, node: Node, after: Node, amount: int) -> Update:
    places = _places(being_id, after)
    if after.last_activated == node.last_activated:
        places = {name: value for name, value in places.items() if not name.startswith("gsi1")}
    elif after.last_activated is not None:
        places["last_activated"] = after.last_activated
    condition: Condition = Compare("status", "=", node.status)
    if node.status == "dead":
        # Two readers at once must not both take themselves for the first.
        seen = Compare("reactivation_count", "=", node.reactivation_count)
        condition = Every((condition, seen))
    return Update(
        Key(keys.nodes(being_id), node.node_id),
        Change(set=places, add={"reactivation_count": amount}),
        condition,
    )


def _places(being_id: str, node: Node) -> dict[str, Value]:
    item: Item = node.to_item(being_id)
    return {name: item[name] for name in _MOVED if name in item}


def _page(page: Page) -> NodePage:
    return NodePage(tuple(map(Node.from_item, page.items)), page.next)
