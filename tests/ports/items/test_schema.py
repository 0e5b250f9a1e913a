"""Items say the version of their shape."""

import pytest

from nacre.core.errors import NewerSchemaError
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Item

PERSON = ItemSchema(
    "person",
    version=3,
    upgrades={
        1: lambda item: {**item, "names": [item["name"]]},
        2: lambda item: {name: value for name, value in item.items() if name != "name"},
    },
)


def test_a_written_item_carries_the_version_of_today() -> None:
    assert PERSON.stamp({"names": ["Ada"]}) == {"names": ["Ada"], "schema": 3}


@pytest.mark.parametrize(
    "item",
    [
        {"name": "Ada", "schema": 1},
        {"name": "Ada", "names": ["Ada"], "schema": 2},
        {"names": ["Ada"], "schema": 3},
    ],
)
def test_an_older_item_is_brought_up_to_date_step_by_step(item: Item) -> None:
    before = dict(item)

    assert PERSON.read(item) == {"names": ["Ada"], "schema": 3}
    assert item == before


def test_a_newer_item_is_refused_with_both_versions() -> None:
    with pytest.raises(NewerSchemaError) as raised:
        PERSON.read({"names": ["Ada"], "schema": 4})
    assert str(raised.value) == (
        "An item (person) was written by a newer Nacre: it has schema 4, and this version knows"
        " schemas up to 3. Nothing was changed. Upgrade nacre to use it."
    )


def test_a_way_up_is_needed_from_every_version() -> None:
    with pytest.raises(ValueError, match=r"no upgrade from versions \[1, 2\]"):
        ItemSchema("person", version=3)
