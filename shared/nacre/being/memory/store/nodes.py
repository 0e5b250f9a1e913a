"""The nodes of a Being in the item store, with their counts of recalls."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import write_counted
from nacre.being.memory.model.types import UNDONE, Node, NodeStatus, moment
from nacre.being.memory.store.partitions import records_by_id
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.memory.text.searchable_text import SearchIndex, searchable
from nacre.core.clock import Clock
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import ACTIVATION_SECONDS
from nacre.ports.items.paging import every_item
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

_INDEX_KEYS = ("gsi1pk", "gsi1sk", "gsi3pk", "gsi3sk")  # that a recall changes


@dataclass(frozen=True, slots=True)
class NodePage:
    """Some nodes; `next` is where to continue."""

    nodes: tuple[Node, ...]
    next: str | None


class Nodes:
    """Reads nodes, adds them and counts their recalls."""

    def __init__(self, table: Table, index: SearchIndex, *, clock: Clock) -> None:
        self._table = table
        self._index = index
        self._clock = clock

    def get(self, being_id: str, node_id: str) -> Node | None:
        """Return the node, whatever its status, or None."""
        return self.get_many(being_id, [node_id]).get(node_id)

    def get_many(self, being_id: str, node_ids: Iterable[str]) -> dict[str, Node]:
        """Return the nodes that exist, by id."""
        return records_by_id(self._table, Node, keys.nodes(being_id), node_ids)

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
        """Return the nodes of a cluster, or of none, by status and id.

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

    def living_members(
        self, being_id: str, cluster_id: str, moved: Iterable[str] = ()
    ) -> list[Node]:
        """Return the living members of a cluster, ordered by id, with their latest state.

        `moved` are nodes that have just joined or left, because the list may lag behind.
        """
        ids = set(moved)
        for status in ("active", "dying"):
            members = every_item(
                self._table,
                keys.members(being_id, cluster_id),
                index="gsi2",
                keys=Range(prefix=f"{status}#"),
            )
            ids |= {str(item["sk"]) for item in members}
        nodes = self.get_many(being_id, sorted(ids))
        return [
            node
            for _, node in sorted(nodes.items())
            if node.is_living and node.cluster_id == cluster_id
        ]

    def recent(
        self, being_id: str, *, limit: int | None = None, start: str | None = None
    ) -> NodePage:
        """Return living nodes, the last activated first; on AWS the list may lag behind."""
        return _page(
            self._table.query(
                keys.activity(being_id), index="gsi1", descending=True, limit=limit, start=start
            )
        )

    def hidden(
        self, being_id: str, *, limit: int | None = None, start: str | None = None
    ) -> NodePage:
        """Return hidden nodes, the last hidden first; on AWS the list may lag behind."""
        return _page(
            self._table.query(
                keys.hidden(being_id), index="gsi3", descending=True, limit=limit, start=start
            )
        )

    def add(self, being_id: str, nodes: Sequence[Node]) -> None:
        """Store new nodes, as many as fit one transaction, and make them searchable.

        Raises ConditionFailedError when an id is taken.
        """
        index_change = self._index.prepare(being_id, list(map(searchable, nodes)))
        writes: list[Write] = [Put(node.to_item(being_id), Absent()) for node in nodes]
        write_counted(self._table, being_id, [*writes, *index_change.writes], has_work=True)
        index_change.apply()

    def touch(
        self, being_id: str, amounts: Mapping[str, int], *, nodes: Mapping[str, Node] | None = None
    ) -> None:
        """Count recalls of nodes, each by its amount.

        `nodes` are the nodes if they were just read, which saves reading them again. The next
        patrol strengthens a living node, and revives a dead one that has two recalls since its
        death. Merged and hidden nodes and ids that do not exist are skipped.
        """
        just_read = [nodes] if nodes is not None else []

        def attempt() -> None:
            # Another attempt follows somebody else's write, so it reads the nodes again.
            current = just_read.pop() if just_read else self.get_many(being_id, amounts)
            self._touch(being_id, amounts, current)

        retry_on_conflict(attempt)

    def _touch(self, being_id: str, amounts: Mapping[str, int], nodes: Mapping[str, Node]) -> None:
        writes: list[Write] = []
        revived = False
        for node_id, node in nodes.items():
            if node.status in ("merged", "hidden") or node.reason == UNDONE:
                continue
            if amounts[node_id] < 1:
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
    """Return the write that replaces a node that is still as it was read."""
    return Put(after.to_item(being_id), unchanged(before))


def unchanged(node: Node) -> Condition:
    """Return the condition that neither the node nor its count of recalls has changed."""
    # Recalls are counted without raising the version, and none may be lost.
    return Every(
        (
            Compare("version", "=", node.version),
            Compare("reactivation_count", "=", node.reactivation_count),
        )
    )


def _recall(being_id: str, node: Node, after: Node, amount: int) -> Update:
    index_keys = _index_keys(being_id, after)
    if after.last_activated == node.last_activated:
        index_keys = {
            name: value for name, value in index_keys.items() if not name.startswith("gsi1")
        }
    elif after.last_activated is not None:
        index_keys["last_activated"] = after.last_activated
    condition: Condition = Compare("status", "=", node.status)
    if node.status == "dead":
        # Of two readers at once only one may believe that its recall is the first.
        same_count = Compare("reactivation_count", "=", node.reactivation_count)
        condition = Every((condition, same_count))
    return Update(
        Key(keys.nodes(being_id), node.node_id),
        Change(set=index_keys, add={"reactivation_count": amount}),
        condition,
    )


def _index_keys(being_id: str, node: Node) -> dict[str, Value]:
    item: Item = node.to_item(being_id)
    return {name: item[name] for name in _INDEX_KEYS if name in item}


def _page(page: Page) -> NodePage:
    return NodePage(tuple(map(Node.from_item, page.items)), page.next)
