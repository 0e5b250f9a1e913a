"""Partitions as a whole: every item of one, or none any more."""

from collections.abc import Iterator

from nacre.core.limits import MAX_TRANSACTION_WRITES
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Delete, Item, Key, Range, Table

_PAGE = 100


def items_in(table: Table, partition: str, within: Range | None = None) -> Iterator[Item]:
    """Give the items of a partition in their order, a page at a time."""
    return every_item(table, partition, keys=within, at_once=_PAGE)


def delete_all(table: Table, partition: str) -> int:
    """Delete every item of a partition; return how many there were."""
    count = 0
    while items := table.query(partition, limit=MAX_TRANSACTION_WRITES).items:
        table.transact([Delete(Key(str(item["pk"]), str(item["sk"]))) for item in items])
        count += len(items)
    return count
