"""Beings and their owners."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from random import SystemRandom

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.access.beings import Being, Beings
from nacre.access.owners import Owners
from nacre.access.tokens.authentication import is_being_id
from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError
from nacre.core.names import checked_name, name_key
from nacre.ports.items.table import Key, Table
from tests.access.conftest import Time


def test_a_new_being_has_an_id_for_ever_and_its_name(
    beings: Beings, table: Table, time: Time
) -> None:
    being = beings.create("  Ann ", owner="me")

    assert is_being_id(being.being_id)
    assert (being.name, being.owner, being.created) == ("Ann", "me", time())
    assert beings.get(being.being_id) == being
    assert beings.named("ANN", owner="me") == being
    meta = table.get(Key(f"B#{being.being_id}", "META"))
    assert meta is not None
    assert (meta["schema"], meta["gsi2pk"]) == (1, "U#me")


@pytest.mark.parametrize("again", ["Straße", "STRASSE", " strasse ", "stra\u00dfe"])
def test_a_name_is_taken_in_every_case(beings: Beings, again: str) -> None:
    first = beings.create("Straße", owner="me")

    with pytest.raises(ConflictError, match="me already has a Being named"):
        beings.create(again, owner="me")

    assert beings.of_owner("me") == [first]


def test_two_owners_may_use_one_name(beings: Beings) -> None:
    mine, yours = beings.create("Ann", owner="me"), beings.create("Ann", owner="you")

    assert beings.of_owner("me") == [mine]
    assert beings.of_owner("you") == [yours]


def test_of_many_who_take_a_name_at_once_one_gets_it(table: Table, time: Time) -> None:
    beings = Beings(table, clock=time, rng=SystemRandom())

    def create(_: int) -> bool:
        try:
            beings.create("Ann", owner="me")
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = sum(pool.map(create, range(8)))

    assert won == 1
    assert len(beings.of_owner("me")) == 1


def test_beings_are_listed_oldest_first(beings: Beings, time: Time) -> None:
    created = []
    for name in ("Zoe", "Ann", "Mia"):
        created.append(beings.create(name, owner="me"))
        time.pass_(seconds=1)

    assert beings.of_owner("me") == created


def test_the_only_being_is_meant_when_none_is_named(beings: Beings) -> None:
    being = beings.create("Ann", owner="me")

    assert beings.choose(None, owner="me") == being


def test_without_a_name_several_beings_are_listed(beings: Beings) -> None:
    beings.create("Ann", owner="me")
    beings.create("Bob", owner="me")

    with pytest.raises(InvalidInputError, match="choose one with --being: "):
        beings.choose(None, owner="me")


def test_a_being_is_chosen_by_name_or_id(beings: Beings) -> None:
    beings.create("Ann", owner="me")
    bob = beings.create("Bob", owner="me")

    assert beings.choose("bob", owner="me") == bob
    assert beings.choose(bob.being_id.upper(), owner="me") == bob


@pytest.mark.parametrize("wanted", ["Bob", "11111111-1111-4111-8111-111111111111"])
def test_an_unknown_being_is_not_found(beings: Beings, wanted: str) -> None:
    beings.create("Ann", owner="me")

    with pytest.raises(NotFoundError, match=f"me has no Being '{wanted}'"):
        beings.choose(wanted, owner="me")


def test_a_being_of_somebody_else_is_not_found_even_by_id(beings: Beings) -> None:
    yours = beings.create("Ann", owner="you")

    with pytest.raises(NotFoundError, match="me has no Being"):
        beings.choose(yours.being_id, owner="me")


def test_the_first_being_is_asked_for_when_there_is_none(beings: Beings) -> None:
    with pytest.raises(NotFoundError, match="nacre being create NAME"):
        beings.choose(None, owner="me")


@pytest.mark.parametrize("name", ["", "   ", "x" * 65, "a\nb", "\x1b[2J", "a\u202eb", "\ud800"])
def test_a_name_is_one_short_printable_line(beings: Beings, name: str) -> None:
    with pytest.raises(InvalidInputError, match="a Being's name"):
        beings.create(name, owner="me")


@given(st.text())
def test_a_name_that_was_taken_stays_as_it_is(text: str) -> None:
    try:
        name = checked_name(text, kind="name")
    except InvalidInputError:
        return

    assert checked_name(name, kind="name") == name
    assert name_key(name) == name_key(name_key(name))


def test_the_default_owner_is_there_from_the_start(owners: Owners) -> None:
    assert owners.get("me").name == "me"
    assert [owner.name for owner in owners.all()] == ["me"]


def test_another_owner_is_added_once(owners: Owners) -> None:
    owners.add("ann")

    with pytest.raises(ConflictError, match="already is an owner 'ann'"):
        owners.add("ann")

    assert [owner.name for owner in owners.all()] == ["me", "ann"]
    assert owners.get("ann").name == "ann"


def test_an_unknown_owner_is_not_found(owners: Owners) -> None:
    with pytest.raises(NotFoundError, match="nacre owner add"):
        owners.get("bob")


@pytest.mark.parametrize("name", ["", "Ann", "-a", "a b", "a#b", "x" * 33])
def test_an_owner_has_a_plain_name(owners: Owners, name: str) -> None:
    with pytest.raises(InvalidInputError, match="an owner's name"):
        owners.add(name)


def test_a_being_that_moves_here_brings_its_id_and_its_day(beings: Beings) -> None:
    being_id, day = "5853af0e-aa0a-4a4d-96be-ad1b9e2ccd28", datetime(2025, 1, 2, tzinfo=UTC)

    moved = beings.create("Pearl", owner="me", being_id=being_id, created=day)

    assert beings.named("pearl", owner="me") == moved == Being(being_id, "Pearl", "me", day)
    with pytest.raises(ConflictError):
        beings.create("Other", owner="me", being_id=being_id)


def test_a_closed_being_has_a_name_only_until_it_is_removed(beings: Beings) -> None:
    being = beings.create("Pearl", owner="me")

    beings.close(being)

    assert beings.get(being.being_id) is None
    assert beings.named("Pearl", owner="me") == being
    beings.remove(being)
    beings.remove(being)
    assert beings.named("Pearl", owner="me") is None
    again = beings.create("Pearl", owner="me")
    beings.remove(being)  # the name is another's now
    assert beings.named("Pearl", owner="me") == again


@pytest.mark.parametrize("new", ["Bob", "ANN", "Änn"])
def test_a_being_gets_another_name_and_stays_the_same(beings: Beings, new: str) -> None:
    being = beings.create("Ann", owner="me")
    beings.name_orders(being.being_id, "Desk")

    renamed = beings.rename(being, new)

    assert (renamed.being_id, renamed.name) == (being.being_id, new)
    assert beings.get(being.being_id) == renamed
    assert beings.named(new, owner="me") == renamed
    assert beings.of_owner("me") == [renamed]
    assert beings.order_name(being.being_id) == "Desk"
    if name_key(new) != "ann":
        assert beings.create("Ann", owner="me").being_id != being.being_id


def test_a_name_that_another_being_has_is_not_given(beings: Beings) -> None:
    ann, bob = beings.create("Ann", owner="me"), beings.create("Bob", owner="me")

    with pytest.raises(ConflictError, match="already has a Being named 'bob'"):
        beings.rename(ann, "bob")

    assert [each.name for each in beings.of_owner("me")] in (["Ann", "Bob"], ["Bob", "Ann"])
    assert beings.get(bob.being_id) == bob
