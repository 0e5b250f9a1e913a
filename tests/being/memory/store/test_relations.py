"""Relations: one for each entity, whatever its spelling."""

import pytest

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Relation
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.ports.items.table import Change
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import Keeper


def upsert(kept: Keeper, entity: str, content: str = "a friend", type_: str = "person") -> Relation:
    now, _ = kept.memory.relations.upsert(kept.id, entity, relation_type=type_, content=content)
    return now


def test_a_relation_is_created_overwritten_and_deleted(kept: Keeper, clock: StillClock) -> None:
    first = upsert(kept, "Ann")
    clock.move(60)
    second = upsert(kept, "Ann", "a colleague", "organization")

    assert first == Relation(
        entity="Ann", type="person", content="a friend", updated_at="2026-07-28T12:00:00.000Z"
    )
    assert second == Relation(
        entity="Ann",
        type="organization",
        content="a colleague",
        updated_at="2026-07-28T12:01:00.000Z",
        version=2,
    )
    assert kept.memory.relations.get(kept.id, "Ann") == second
    assert kept.memory.relations.delete(kept.id, "Ann") == second
    assert kept.memory.relations.delete(kept.id, "Ann") is None
    assert kept.meta("n_relations") == 0


@pytest.mark.parametrize(
    ("first", "second"),
    [("Ann", " ANN "), ("Café", "CAFE\u0301"), ("Straße", "STRASSE"), ("A  B", "a\u3000b")],
)
def test_spellings_of_one_name_are_one_entity(laptop: Keeper, first: str, second: str) -> None:
    upsert(laptop, first)

    assert upsert(laptop, second).version == 2
    assert len(laptop.memory.relations.page(laptop.id).relations) == 1


def test_names_that_only_look_alike_are_two_entities(laptop: Keeper) -> None:
    for name in ("Ann", "\u0410nn", "Ann#", "A#nn", "ENT#Ann", "猫", "קיץ"):
        upsert(laptop, name)

    assert len(laptop.memory.relations.page(laptop.id).relations) == 7


def test_relations_are_paged(kept: Keeper) -> None:
    for name in ("c", "a", "b"):
        upsert(kept, name)
    first = kept.memory.relations.page(kept.id, limit=2)
    rest = kept.memory.relations.page(kept.id, limit=2, start=first.next)

    names = [each.entity for page in (first, rest) for each in page.relations]
    assert names == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("entity", "type_", "content", "message"),
    [
        ("x" * 201, "person", "x", "'entity_name' has 201 characters and its limit is 200"),
        (" ", "person", "x", "'entity_name' is empty"),
        ("Ann", "x" * 65, "x", "'relation_type' has 65 characters and its limit is 64"),
        ("Ann", "", "x", "'relation_type' is empty"),
        ("Ann", "person", "x" * 8193, "'content' has 8193 bytes and its limit is 8192"),
        ("Ann", "person", "\n", "'content' is empty"),
    ],
)
def test_fields_have_limits(
    laptop: Keeper, entity: str, type_: str, content: str, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        upsert(laptop, entity, content, type_)


def test_the_longest_name_is_taken_whatever_its_lower_case_is(kept: Keeper) -> None:
    for letter in ("\U0001f41a", "ß", "ΐ", "ﬃ"):
        assert upsert(kept, letter * 200).entity == letter * 200


def test_there_are_as_many_as_promised(laptop: Keeper) -> None:
    upsert(laptop, "Ann")
    laptop.table.update(keys.meta(laptop.id), Change(set={"n_relations": 1000}))
    with pytest.raises(InvalidInputError, match="there are at most 1000 relations"):
        upsert(laptop, "Bo")

    assert upsert(laptop, "Ann").version == 2


def test_a_being_that_does_not_exist_has_no_relations(laptop: Keeper) -> None:
    stranger = "00000000-0000-4000-8000-00000000dead"
    with pytest.raises(NotFoundError):
        laptop.memory.relations.upsert(stranger, "Ann", relation_type="person", content="x")
    assert laptop.memory.relations.page(stranger).relations == ()
