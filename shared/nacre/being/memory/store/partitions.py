"""Reading records of a partition by id, and reading or deleting all of its items."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from nacre.being.memory.model.types import StoredRecord
from nacre.core.limits import MAX_TRANSACTION_WRITES
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Delete, Item, Key, Range, Table

R = TypeVar("R", bound=StoredRecord)
_PAGE = 100


def records_by_id(table: Table, shape: type[R], partition: str, ids: Iterable[str]) -> dict[str, R]:
    """Return the records of these ids that exist, by id."""
    items = table.get_many([Key(partition, record_id) for record_id in ids if record_id])
    return {place.sk: shape.from_item(item) for place, item in items.items()}


def items_in(table: Table, partition: str, within: Range | None = None) -> Iterator[Item]:
    """Yield the items of a partition in order, read a page at a time."""
    return every_item(table, partition, keys=within, at_once=_PAGE)


def delete_all(table: Table, partition: str) -> int:
    """Delete every item of a partition; return how many there were."""
    count = 0
    while items := table.query(partition, limit=MAX_TRANSACTION_WRITES).items:
        table.transact([Delete(Key.of(item)) for item in items])
        count += len(items)
    return count
