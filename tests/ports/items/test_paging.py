"""Reading all that a query finds, a page at a time."""

from itertools import islice

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Range, Table

NAMES = [f"{number:02}" for number in range(10)]


@pytest.fixture
def table() -> Table:
    table = SqliteTable(SqliteDatabase(":memory:"))
    for name in NAMES:
        table.put({"pk": "P", "sk": name, "schema": 1, "gsi2pk": "I", "gsi2sk": name})
    return table


@pytest.mark.parametrize("at_once", [None, 1, 3, 9, 10, 11])
@pytest.mark.parametrize("index", [None, "gsi2"])
@pytest.mark.parametrize("descending", [False, True])
def test_every_item_comes_once_and_in_order(
    table: Table, at_once: int | None, index: str | None, descending: bool
) -> None:
    partition = "P" if index is None else "I"
    found = every_item(
        table,
        partition,
        index=index,  # type: ignore[arg-type]  # a parameter of the test
        descending=descending,
        at_once=at_once,
    )
    assert [item["sk"] for item in found] == (NAMES[::-1] if descending else NAMES)


def test_bounds_hold_on_every_page(table: Table) -> None:
    found = every_item(table, "P", keys=Range(low="02", high="07"), at_once=2)
    assert [item["sk"] for item in found] == NAMES[2:8]


def test_what_nobody_asks_for_is_not_read(table: Table) -> None:
    some = every_item(table, "P", at_once=2)
    assert [item["sk"] for item in islice(some, 2)] == ["00", "01"]
    table.put({"pk": "P", "sk": "02+", "schema": 1})
    assert [item["sk"] for item in some][:2] == ["02", "02+"]
