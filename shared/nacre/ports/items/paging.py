"""All that a query of an item store finds, however many pages it takes."""

from collections.abc import Iterator

from nacre.ports.items.table import Index, Item, Range, Table


def every_item(
    table: Table,
    partition: str,
    *,
    index: Index | None = None,
    keys: Range | None = None,
    descending: bool = False,
    at_once: int | None = None,
) -> Iterator[Item]:
    """Yield a partition's items in sort key order, reading `at_once` items per query."""
    start: str | None = None
    while True:
        page = table.query(
            partition, index=index, keys=keys, descending=descending, limit=at_once, start=start
        )
        yield from page.items
        if (start := page.next) is None:
            return
