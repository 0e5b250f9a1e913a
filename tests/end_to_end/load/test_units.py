"""DynamoDB's published rules on items that are easily reckoned by hand."""

from typing import Any

import pytest

from tests.end_to_end.load.units import check_units, read_units, size, stored_bytes, write_units


def item(letters: int, **others: str) -> dict[str, Any]:
    """Return an item of so many bytes, and what else it has."""
    return {"pk": {"S": "x" * (letters - 2)}, **{name: {"S": v} for name, v in others.items()}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"S": "é"}, 2),
        ({"B": b"four"}, 4),
        ({"N": "0"}, 1),
        ({"N": "1795031549"}, 6),
        ({"N": "-100"}, 3),
        ({"N": "12.50"}, 3),
        ({"BOOL": True}, 1),
        ({"NULL": True}, 1),
        ({"L": [{"S": "ab"}, {"S": "c"}]}, 3 + 2 + 3),
        ({"M": {"k": {"S": "ab"}}}, 3 + 1 + 1 + 2),
    ],
)
def test_a_value_is_as_large_as_published(value: dict[str, Any], expected: int) -> None:
    assert size({"name": value}) == 4 + expected


def test_reads_are_billed_by_four_kilobytes() -> None:
    assert read_units([0], consistent=True) == 1
    assert read_units([4096], consistent=True) == 1
    assert read_units([4097], consistent=True) == 2
    assert read_units([4097], consistent=False) == 1


def test_a_query_is_billed_for_all_that_it_reads_together() -> None:
    assert read_units([1000] * 8, consistent=True) == 2


def test_writes_are_billed_by_the_larger_of_before_and_after() -> None:
    assert write_units(None, item(1024)) == 1
    assert write_units(item(1025), item(10)) == 2
    assert write_units(item(2049), None) == 3


def test_a_transaction_writes_twice_and_its_indexes_once() -> None:
    indexed = item(100, gsi1pk="a", gsi1sk="b")

    assert write_units(None, item(1024), transaction=True) == 2
    assert write_units(None, indexed, transaction=True) == 3
    assert check_units(item(1025)) == 4
    assert check_units(None) == 2


def test_an_index_is_written_when_what_it_has_changes() -> None:
    before = item(100, gsi1pk="a", gsi1sk="b", gsi2pk="c", gsi2sk="d")
    moved = before | {"gsi1sk": {"S": "e"}}
    left = {name: value for name, value in before.items() if not name.startswith("gsi2")}

    assert write_units(before, before) == 1
    assert write_units(before, moved) == 1 + 2 + 1
    assert write_units(before, left) == 1 + 1 + 1


def test_what_is_kept_is_kept_in_each_index_too() -> None:
    assert stored_bytes(item(100)) == 200
    assert stored_bytes(item(100, gsi3pk="a", gsi3sk="b")) == 2 * (100 + 7 + 7 + 100)
