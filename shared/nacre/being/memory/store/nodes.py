"""The nodes of a Being in the item store."""

from collections.abc import Iterable, Sequence

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import write_counted
from nacre.being.memory.model.types import Node, NodeStatus
from nacre.being.memory.store.evidence import node_writes, whole_nodes
from nacre.being.memory.store.partitions import records_by_id
from nacre.being.memory.text.searchable_text import SearchIndex, searchable
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import (
    Absent,
    Compare,
    Condition,
    Every,
    Page,
    Put,
    Range,
    Table,
    Write,
)


@dataclass(frozen=True, slots=True)
class NodePage:
    """Some nodes; `next` is where to continue."""

    nodes: tuple[Node, ...]
    next: str | None


class Nodes:
    """Reads nodes and adds them."""

    def __init__(self, table: Table, index: SearchIndex) -> None:
        self._table = table
        self._index = index

    def get(self, being_id: str, node_id: str) -> Node | None:
        """Return the node, whatever its status, or None."""
        return self.get_many(being_id, [node_id]).get(node_id)

    def get_many(self, being_id: str, node_ids: Iterable[str]) -> dict[str, Node]:
        """Return the nodes that exist, by id."""
        return records_by_id(self._table, Node, keys.nodes(being_id), node_ids)

    def whole(self, being_id: str, nodes: Iterable[Node]) -> list[Node]:
        """Return the nodes with the ids of all scenes that they were told by."""
        return whole_nodes(self._table, being_id, nodes)

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
        writes: list[Write] = [
            write for node in nodes for write in node_writes(being_id, node, when=Absent())
        ]
        write_counted(self._table, being_id, [*writes, *index_change.writes], has_work=True)
        index_change.apply()


def replacing(being_id: str, before: Node, after: Node) -> Put:
    """Return the write that replaces a node that is still as it was read, with the same scenes."""
    return Put(after.to_item(being_id), unchanged(before))


def rewriting(being_id: str, before: Node, after: Node) -> list[Write]:
    """Return the writes that replace a node that is still as it was read.

    Further items are written anew if `after` is whole. Scenes that earlier versions have left in
    its item move out of it.
    """
    return node_writes(being_id, after, when=unchanged(before), before=before)


def no_longer_superseded(node: Node) -> Node:
    """Return a node that holds again."""
    return replace(node, superseded_by=None, valid_until=None, version=node.version + 1)


def unchanged(node: Node) -> Condition:
    """Return the condition that neither the node nor its count of recalls has changed."""
    # Recalls are counted without raising the version, and none may be lost.
    return Every(
        (
            Compare("version", "=", node.version),
            Compare("reactivation_count", "=", node.reactivation_count),
        )
    )


def _page(page: Page) -> NodePage:
    return NodePage(tuple(map(Node.from_item, page.items)), page.next)
