"""Nodes as they are once the recalls that wait in the log are counted."""

from collections.abc import Iterable

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Node
from nacre.being.memory.store.partitions import records_by_id
from nacre.being.memory.store.recall_log import counted_nodes
from nacre.ports.items.table import Table


def with_recalls(table: Table, being_id: str, node_ids: Iterable[str]) -> dict[str, Node]:
    """Return the nodes that exist, by id, with every recall counted."""
    nodes = records_by_id(table, Node, keys.nodes(being_id), node_ids)
    counted = counted_nodes(table, being_id, now="9999")
    return {node_id: counted.get(node_id, node) for node_id, node in nodes.items()}
