"""What every item store does: SQLite, and DynamoDB with the tables of template.yaml."""

import uuid
from collections.abc import Callable

import pytest

from nacre.core.errors import ConditionFailedError, InvalidInputError
from nacre.ports.items.table import (
    Absent,
    Change,
    Check,
    Compare,
    Condition,
    Delete,
    Either,
    Every,
    Index,
    Item,
    Key,
    Page,
    Present,
    Put,
    Range,
    Table,
    Update,
    Value,
    Write,
)
from tests.adapters.conftest import StillClock

INDEXES: tuple[Index, ...] = ("gsi1", "gsi2", "gsi3")
VALUES: list[Value] = [
    None, True, False, 0, -1, 2**53 - 1, 1 - 2**53, 0.1, -1e-128, 1e125, 1.7976e100, 3.14159,
    "", "text", "\u00e9\u4e16\u754c\U0001f41a", "line\nbreak\x00nul", b"", b"\x00\xff", [], {},
    [1, [2.5, None], {"a": [True]}], {"$bytes": "YQ=="}, {"$map": {"$bytes": b"a"}},
    {"deep": {"deeper": {"x": b"y"}}}, {"with.dot": 1, "#n0": 2, ":v0": 3},
]  # fmt: skip


@pytest.fixture
def home() -> str:
    """A partition of its own for each test: the fake AWS lives as long as the run."""
    return f"B#{uuid.uuid4()}"


@pytest.fixture
def item(home: str) -> Callable[..., Item]:
    def make(sk: str = "META", **attributes: Value) -> Item:
        return {"pk": home, "sk": sk, "schema": 1, **attributes}

    return make


Make = Callable[..., Item]


def sort_keys(page: Page) -> list[Value]:
    return [item["sk"] for item in page.items]


# Reading and writing one item


def test_an_item_comes_back_as_it_was_put(table: Table, home: str, item: Make) -> None:
    table.put(item(name="Nacre", size=3))

    assert table.get(Key(home, "META")) == item(name="Nacre", size=3)


def test_a_missing_item_is_none(table: Table, home: str) -> None:
    assert table.get(Key(home, "META")) is None


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_every_kind_of_value_comes_back_with_its_type(
    table: Table, home: str, item: Make, value: Value
) -> None:
    table.put(item(value=value))

    [found] = table.query(home).items
    assert repr(found["value"]) == repr(value)


@pytest.mark.parametrize(
    ("given", "back"), [(1.0, 1), (-0.0, 0), (2.0**53, 2.0**53), ([4.0], [4]), (1e100, 1e100)]
)
def test_a_whole_float_comes_back_as_an_int_up_to_2_to_the_53(
    table: Table, home: str, item: Make, given: Value, back: Value
) -> None:
    table.put(item(value=given))

    found = table.get(Key(home, "META"))
    assert found is not None
    assert repr(found["value"]) == repr(back)


def test_put_replaces_the_whole_item(table: Table, home: str, item: Make) -> None:
    table.put(item(old=1))
    table.put(item(new=2))

    assert table.get(Key(home, "META")) == item(new=2)


def test_a_later_change_of_the_given_item_does_not_reach_the_store(
    table: Table, home: str, item: Make
) -> None:
    given = item(tags=["a"])
    table.put(given)
    given["tags"] = ["b"]

    assert table.get(Key(home, "META")) == item(tags=["a"])


def test_delete_returns_what_was_there(table: Table, home: str, item: Make) -> None:
    table.put(item(name="Nacre"))

    assert table.delete(Key(home, "META")) == item(name="Nacre")
    assert table.delete(Key(home, "META")) is None
    assert table.get(Key(home, "META")) is None


def test_get_many_returns_what_exists_by_its_key(table: Table, home: str, item: Make) -> None:
    for number in range(0, 250, 2):
        table.put(item(f"{number:03}"))
    keys = [Key(home, f"{number:03}") for number in range(250)]

    stored = {Key(home, f"{number:03}"): item(f"{number:03}") for number in range(0, 250, 2)}
    assert table.get_many([*keys, *keys]) == stored
    assert table.get_many([*keys, *keys], may_lag=True) == stored


def test_get_many_of_nothing_is_nothing(table: Table) -> None:
    assert table.get_many([]) == {}


# Updates


def test_update_sets_counts_and_removes_at_once(table: Table, home: str, item: Make) -> None:
    table.put(item(name="old", seen=5, gone=True, kept=1))

    after = table.update(
        Key(home, "META"),
        Change(set={"name": "new"}, add={"seen": 2, "fresh": -1}, remove=frozenset({"gone"})),
    )

    assert after == item(name="new", seen=7, fresh=-1, kept=1)
    assert table.get(Key(home, "META")) == after


def test_update_that_sets_schema_creates_the_item(table: Table, home: str, item: Make) -> None:
    after = table.update(Key(home, "META"), Change(set={"schema": 1}, add={"count": 1}))

    assert after == item(count=1)


@pytest.mark.parametrize(
    "change",
    [Change(set={"a": 1}), Change(add={"a": 1}), Change(remove=frozenset({"a"}))],
    ids=["set", "add", "remove"],
)
def test_update_without_schema_needs_an_item(table: Table, home: str, change: Change) -> None:
    with pytest.raises(ConditionFailedError):
        table.update(Key(home, "META"), change)

    assert table.get(Key(home, "META")) is None


@pytest.mark.parametrize("held", ["text", None, True, [1]], ids=repr)
def test_only_a_number_counts(table: Table, home: str, item: Make, held: Value) -> None:
    table.put(item(count=held))

    with pytest.raises(InvalidInputError, match="'count' is not a counter"):
        table.update(Key(home, "META"), Change(add={"count": 1}))

    assert table.get(Key(home, "META")) == item(count=held)


def test_a_counter_stops_at_its_largest_number(table: Table, home: str, item: Make) -> None:
    table.put(item(count=2**53 - 2))
    key = Key(home, "META")

    assert table.update(key, Change(add={"count": 1}))["count"] == 2**53 - 1
    with pytest.raises(InvalidInputError, match="2\\*\\*53 - 1"):
        table.update(key, Change(add={"count": 1}))
    assert table.update(key, Change(add={"count": -1}))["count"] == 2**53 - 2


def test_an_update_does_not_make_an_item_too_large(table: Table, home: str, item: Make) -> None:
    table.put(item(text="x" * 300_000))

    with pytest.raises(InvalidInputError):
        table.update(Key(home, "META"), Change(set={"more": "x" * 200_000}))

    assert table.get(Key(home, "META")) == item(text="x" * 300_000)


# Conditions

TRUE: list[Condition] = [
    Present(),
    Present("name"),
    Present("nothing"),
    Absent("missing"),
    Compare("name", "=", "Nacre"),
    Compare("name", "<>", "Other"),
    Compare("name", "<>", 5),
    Compare("name", ">", "Nacr"),
    Compare("text", ">", "\uffff"),
    Compare("size", "=", 3),
    Compare("size", "=", 3.0),
    Compare("size", ">=", 3),
    Compare("size", "<", 10),
    Compare("size", ">", 2.5),
    Compare("fraction", ">", 0.1),
    Compare("fraction", "<=", 0.25),
    Compare("yes", "=", True),
    Compare("yes", "<>", 1),
    Compare("nothing", "=", None),
    Compare("raw", "=", b"\x00\x01"),
    Compare("many", "<>", "text"),
    Every(()),
    Every((Present(), Compare("size", "=", 3))),
    Either((Absent(), Compare("size", "=", 3))),
    Every((Either((Absent(), Present())), Either((Present("name"),)))),
]
FALSE: list[Condition] = [
    Absent(),
    Absent("name"),
    Absent("nothing"),
    Present("missing"),
    Compare("missing", "=", None),
    Compare("missing", "<>", "x"),
    Compare("missing", "<", 5),
    Compare("name", "=", "nacre"),
    Compare("name", "<", 5),
    Compare("name", ">", 5),
    Compare("size", "=", "3"),
    Compare("size", "<", "5"),
    Compare("size", "<>", 3.0),
    Compare("size", "=", True),
    Compare("yes", "=", 1),
    Compare("yes", ">", 0),
    Compare("many", "=", "text"),
    Compare("many", "<", "text"),
    Either(()),
    Every((Present(), Absent("name"))),
    Either((Absent(), Compare("size", "=", 4))),
]


def example(item: Make) -> Item:
    return item(
        name="Nacre", size=3, fraction=0.25, yes=True, nothing=None, raw=b"\x00\x01",
        many=["text"], text="\U0001f41a",
    )  # fmt: skip


@pytest.mark.parametrize("condition", TRUE, ids=repr)
def test_a_condition_that_holds_lets_every_write_through(
    table: Table, home: str, item: Make, condition: Condition
) -> None:
    key = Key(home, "META")
    table.put(example(item))

    table.put(example(item), when=condition)
    table.update(key, Change(set={"more": 1}), when=condition)
    table.transact([Check(key, condition), Put(item("OTHER"))])

    assert table.delete(key, when=condition) == example(item) | {"more": 1}
    assert table.get(Key(home, "OTHER")) == item("OTHER")


@pytest.mark.parametrize("condition", FALSE, ids=repr)
def test_a_condition_that_does_not_hold_stops_every_write(
    table: Table, home: str, item: Make, condition: Condition
) -> None:
    key = Key(home, "META")
    table.put(example(item))

    with pytest.raises(ConditionFailedError):
        table.put(item(), when=condition)
    with pytest.raises(ConditionFailedError):
        table.update(key, Change(set={"schema": 1, "more": 1}), when=condition)
    with pytest.raises(ConditionFailedError):
        table.delete(key, when=condition)
    with pytest.raises(ConditionFailedError):
        table.transact([Put(item("OTHER")), Check(key, condition)])

    assert table.get(key) == example(item)
    assert table.get(Key(home, "OTHER")) is None


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (Absent(), True),
        (Absent("name"), True),
        (Present(), False),
        (Compare("name", "<>", "x"), False),
        (Either((Absent(), Compare("name", "=", "x"))), True),
        (Every((Absent("name"), Absent("size"))), True),
        (Every((Absent(), Compare("name", "=", "x"))), False),
    ],
    ids=repr,
)
@pytest.mark.parametrize("expired", [False, True], ids=["absent", "expired"])
def test_conditions_on_an_absent_and_on_an_expired_item_are_the_same(
    table: Table,
    home: str,
    item: Make,
    clock: StillClock,
    condition: Condition,
    holds: bool,
    expired: bool,
) -> None:
    def outcome(write: Callable[[str], object], name: str) -> bool:
        if expired:
            table.put(item(name, name="x", size=1, expires_at=clock.at(-1)))
        try:
            write(name)
        except ConditionFailedError:
            return False
        return True

    assert [
        outcome(lambda sk: table.put(item(sk), when=condition), "PUT"),
        outcome(
            lambda sk: table.update(
                Key(home, sk), Change(set={"schema": 1}, add={"n": 1}), when=condition
            ),
            "UPDATE",
        ),
        outcome(lambda sk: table.delete(Key(home, sk), when=condition), "DELETE"),
        outcome(lambda sk: table.transact([Check(Key(home, sk), condition)]), "CHECK"),
        outcome(
            lambda sk: table.transact(
                [Update(Key(home, sk), Change(set={"schema": 1}, add={"n": 1}), condition)]
            ),
            "TRANSACT",
        ),
    ] == [holds] * 5
    assert list(table.query(home).items) == (
        [item("PUT"), item("TRANSACT", n=1), item("UPDATE", n=1)] if holds else []
    )


@pytest.mark.parametrize(
    "condition",
    [
        Compare("a", "<", None),
        Compare("a", ">", True),
        Compare("a", "<=", b"x"),
        Compare("a", "=", float("nan")),
        Compare("a", "=", 2**60),
        Compare("", "=", 1),
        Present(""),
        Compare("a", "=", []),  # type: ignore[arg-type]  # what a caller without a checker sends
    ],
    ids=repr,
)
def test_a_condition_that_cannot_be_asked_is_refused(
    table: Table, home: str, item: Make, condition: Condition
) -> None:
    with pytest.raises(InvalidInputError):
        table.put(item(), when=condition)
    with pytest.raises(InvalidInputError):
        table.transact([Check(Key(home, "META"), Every((Present(), condition)))])


# Expiry


def test_an_expired_item_is_absent_for_every_read(
    table: Table, home: str, item: Make, clock: StillClock
) -> None:
    table.put(item("GONE", expires_at=clock.at(10), gsi1pk=home, gsi1sk="a"))
    table.put(item("HERE", expires_at=clock.at(11), gsi1pk=home, gsi1sk="b"))
    clock.move(10)

    assert table.get(Key(home, "GONE")) is None
    assert list(table.get_many([Key(home, "GONE"), Key(home, "HERE")])) == [Key(home, "HERE")]
    assert sort_keys(table.query(home)) == ["HERE"]
    assert sort_keys(table.query(home, index="gsi1")) == ["HERE"]
    assert table.delete(Key(home, "GONE")) is None


def test_nothing_of_an_expired_item_leaks_into_its_successor(
    table: Table, home: str, item: Make, clock: StillClock
) -> None:
    table.put(item(count=7, secret="old", expires_at=clock.at(-1)))

    after = table.update(Key(home, "META"), Change(set={"schema": 1}, add={"count": 1}))

    assert after == item(count=1) == table.get(Key(home, "META"))


def test_an_update_may_give_an_item_an_end_and_take_it_away(
    table: Table, home: str, item: Make, clock: StillClock
) -> None:
    key = Key(home, "META")
    table.put(item())
    table.update(key, Change(set={"expires_at": clock.at(5)}))
    table.update(key, Change(remove=frozenset({"expires_at"})))
    clock.move(10)

    assert table.get(key) == item()


def test_an_update_without_schema_does_not_revive_an_expired_item(
    table: Table, home: str, item: Make, clock: StillClock
) -> None:
    table.put(item(expires_at=clock.at(-1)))

    with pytest.raises(ConditionFailedError):
        table.update(Key(home, "META"), Change(set={"expires_at": clock.at(100)}))


# Queries


@pytest.fixture
def letters(table: Table, item: Make) -> list[str]:
    # In the order of their UTF-8 bytes, which UTF-16 would not keep for the last two.
    names = ["A", "N#1", "N#10", "N#2", "N$", "a", "\u00e9", "\ufffd", "\U0001f41a"]
    for name in reversed(names):
        table.put(item(name))
    return names


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (None, slice(None)),
        (Range(), slice(None)),
        (Range(prefix=""), slice(None)),
        (Range(prefix="N#"), slice(1, 4)),
        (Range(prefix="N#1"), slice(1, 3)),
        (Range(prefix="\U0001f41a"), slice(8, 9)),
        (Range(prefix="zz"), slice(0, 0)),
        (Range(low="N#10"), slice(2, None)),
        (Range(high="N#10"), slice(0, 3)),
        (Range(low="N#1", high="N#2"), slice(1, 4)),
        (Range(low="\uffff"), slice(8, 9)),
        (Range(low="b", high="a"), slice(0, 0)),
        (Range(low="", high=""), slice(0, 0)),
        (Range(low="", high="A"), slice(0, 1)),
    ],
    ids=repr,
)
def test_a_query_takes_a_range_in_the_order_of_utf8_bytes(
    table: Table, home: str, letters: list[str], keys: Range | None, expected: slice
) -> None:
    assert sort_keys(table.query(home, keys=keys)) == letters[expected]
    assert sort_keys(table.query(home, keys=keys, descending=True)) == letters[expected][::-1]


@pytest.mark.parametrize("index", [None, *INDEXES])
@pytest.mark.parametrize("descending", [False, True])
def test_pages_cover_a_partition_without_gap_or_repeat(
    table: Table, home: str, item: Make, index: Index | None, descending: bool
) -> None:
    names = [f"{number:02}" for number in range(10)]
    for name in names:
        keys: dict[str, Value] = {} if index is None else {f"{index}pk": home, f"{index}sk": name}
        table.put(item(name, **keys))

    pages: list[Page] = []
    start = None
    while not pages or start is not None:
        page = table.query(home, index=index, descending=descending, limit=5, start=start)
        pages.append(page)
        start = page.next

    found = [name for page in pages for name in sort_keys(page)]
    assert found == (names[::-1] if descending else names)
    assert len(pages) == 2


def test_a_page_is_full_although_expired_items_lie_between(
    table: Table, home: str, item: Make, clock: StillClock
) -> None:
    for number in range(20):
        end: dict[str, Value] = {"expires_at": clock.at(-1)} if number % 4 else {}
        table.put(item(f"{number:02}", **end))

    first = table.query(home, limit=3)
    second = table.query(home, limit=3, start=first.next)

    assert sort_keys(first) == ["00", "04", "08"]
    assert sort_keys(second) == ["12", "16"]
    assert second.next is None


def test_the_last_full_page_says_that_nothing_follows(table: Table, home: str, item: Make) -> None:
    table.put(item("A"))
    table.put(item("B"))

    assert table.query(home, limit=2).next is None


def test_a_page_may_start_where_an_item_was_deleted(table: Table, home: str, item: Make) -> None:
    for name in "ABC":
        table.put(item(name))
    page = table.query(home, limit=1)
    table.delete(Key(home, "A"))

    assert sort_keys(table.query(home, start=page.next)) == ["B", "C"]


def test_a_cursor_of_another_query_is_refused(table: Table, home: str, item: Make) -> None:
    table.put(item("A"))
    table.put(item("B"))
    cursor = table.query(home, limit=1).next

    with pytest.raises(InvalidInputError, match="another query"):
        table.query(f"{home}2", start=cursor)
    with pytest.raises(InvalidInputError, match="another query"):
        table.query(home, index="gsi1", start=cursor)
    for nonsense in ("", "nonsense", "[]", "{}", "[null]", "7"):
        with pytest.raises(InvalidInputError, match="start without it"):
            table.query(home, start=nonsense)


@pytest.mark.parametrize(
    "place",
    ['"B"', "null", '["B"]', '""', '"\\ud800"', f'"A{"x" * 2000}"', '"@"', "{}", "7"],
    ids=lambda value: str(value)[:12],
)
def test_a_cursor_that_somebody_changed_is_refused(
    table: Table, home: str, item: Make, place: str
) -> None:
    """They stand in addresses of pages; a store must not see what no query of ours has asked."""
    table.put(item("A1"))
    table.put(item("A2"))
    cursor = table.query(home, keys=Range(prefix="A"), limit=1).next
    assert cursor is not None
    assert '"A1"' in cursor

    with pytest.raises(InvalidInputError):
        table.query(home, keys=Range(prefix="A"), start=cursor.replace('"A1"', place))


@pytest.mark.parametrize("depth", [1_000, 100_000])
def test_a_cursor_that_nests_without_end_is_refused(table: Table, home: str, depth: int) -> None:
    with pytest.raises(InvalidInputError, match="start without it"):
        table.query(home, start="[" * depth)


@pytest.mark.parametrize(
    ("keys", "limit"),
    [
        (Range(prefix="a", low="b"), None),
        (Range(low="\ud800"), None),
        (Range(prefix="x" * 2000), None),
        (None, 0),
        (None, -1),
    ],
)
def test_a_query_that_cannot_be_asked_is_refused(
    table: Table, home: str, keys: Range | None, limit: int | None
) -> None:
    with pytest.raises(InvalidInputError):
        table.query(home, keys=keys, limit=limit)


def test_an_unknown_index_is_refused(table: Table, home: str) -> None:
    with pytest.raises(InvalidInputError, match="there is no index 'gsi4'"):
        table.query(home, index="gsi4")  # type: ignore[arg-type]  # what a typo would send


@pytest.mark.parametrize("index", INDEXES)
def test_an_index_holds_only_items_with_both_of_its_keys(
    table: Table, home: str, item: Make, index: Index
) -> None:
    table.put(item("both", **{f"{index}pk": home, f"{index}sk": "1"}))
    table.put(item("half", **{f"{index}pk": home}))
    table.put(item("other half", **{f"{index}sk": "2"}))
    table.put(item("none"))

    assert sort_keys(table.query(home, index=index)) == ["both"]


def test_an_update_moves_an_item_into_and_out_of_an_index(
    table: Table, home: str, item: Make
) -> None:
    key = Key(home, "META")
    table.put(item())
    table.update(key, Change(set={"gsi1pk": home, "gsi1sk": "5"}))
    assert sort_keys(table.query(home, index="gsi1", keys=Range(prefix="5"))) == ["META"]

    table.update(key, Change(set={"gsi1sk": "7"}))
    assert sort_keys(table.query(home, index="gsi1", keys=Range(prefix="5"))) == []

    table.update(key, Change(remove=frozenset({"gsi1pk", "gsi1sk"})))
    assert sort_keys(table.query(home, index="gsi1")) == []


def test_an_index_gathers_items_of_several_partitions(table: Table, home: str) -> None:
    for name in "ab":
        table.put({"pk": home + name, "sk": "X", "schema": 1, "gsi2pk": home, "gsi2sk": name})

    assert [item["pk"] for item in table.query(home, index="gsi2").items] == [
        home + "a",
        home + "b",
    ]


def test_items_with_one_index_sort_key_are_all_found(table: Table, home: str, item: Make) -> None:
    for name in "abcde":
        table.put(item(name, gsi1pk=home, gsi1sk="same"))

    found: list[Value] = []
    page = table.query(home, index="gsi1", limit=2)
    found += sort_keys(page)
    while page.next is not None:
        page = table.query(home, index="gsi1", limit=2, start=page.next)
        found += sort_keys(page)
    assert sorted(map(str, found)) == list("abcde")


# Transactions


def test_a_transaction_applies_all_its_writes(table: Table, home: str, item: Make) -> None:
    table.put(item("GONE"))
    table.put(item("COUNT", n=1))
    table.put(item("THERE"))

    table.transact(
        [
            Put(item("NEW")),
            Update(Key(home, "COUNT"), Change(add={"n": 1})),
            Delete(Key(home, "GONE")),
            Check(Key(home, "THERE"), Present()),
        ]
    )

    assert list(table.query(home).items) == [item("COUNT", n=2), item("NEW"), item("THERE")]


@pytest.mark.parametrize(
    ("failing", "place"),
    [
        (lambda home: Put({"pk": home, "sk": "A", "schema": 1}, Absent()), 1),
        (lambda home: Update(Key(home, "MISSING"), Change(add={"n": 1})), 1),
        (lambda home: Delete(Key(home, "MISSING"), Present()), 1),
        (lambda home: Check(Key(home, "A"), Compare("n", "=", 9)), 1),
    ],
    ids=["put", "update", "delete", "check"],
)
@pytest.mark.parametrize("token", [None, "token"])
def test_a_transaction_with_one_failed_condition_writes_nothing(
    table: Table,
    home: str,
    item: Make,
    failing: Callable[[str], Write],
    place: int,
    token: str | None,
) -> None:
    table.put(item("A", n=1))
    mark = None if token is None else home + token

    with pytest.raises(ConditionFailedError) as raised:
        table.transact([Put(item("B")), failing(home), Put(item("C"))], token=mark)

    assert raised.value.index == place
    assert list(table.query(home).items) == [item("A", n=1)]
    table.transact([Put(item("B"))], token=mark)  # a token counts only once applied
    assert sort_keys(table.query(home)) == ["A", "B"]


def test_the_conditions_of_a_transaction_come_before_its_sums(
    table: Table, home: str, item: Make
) -> None:
    table.put(item("TEXT", n="text"))
    adding = Update(Key(home, "TEXT"), Change(add={"n": 1}))

    with pytest.raises(InvalidInputError, match="'n' is not a counter"):
        table.transact([Put(item("NEW")), adding])
    with pytest.raises(ConditionFailedError):
        table.transact([adding, Check(Key(home, "NEW"), Present())])

    assert list(table.query(home).items) == [item("TEXT", n="text")]


def test_a_transaction_updates_several_expired_items_as_new(
    table: Table, home: str, item: Make, clock: StillClock
) -> None:
    change = Change(set={"schema": 1}, add={"n": 1})
    for name in "AB":
        table.put(item(name, n=9, expires_at=clock.at(-1)))
    table.put(item("C", n=9))

    table.transact([Update(Key(home, name), change) for name in "ABC"])

    assert list(table.query(home).items) == [item("A", n=1), item("B", n=1), item("C", n=10)]


def test_a_token_is_applied_once(table: Table, home: str, item: Make, clock: StillClock) -> None:
    table.put(item(n=0))
    writes = [Update(Key(home, "META"), Change(add={"n": 1}))]

    table.transact(writes, token=home)
    clock.move(599)
    table.transact(writes, token=home)
    assert table.get(Key(home, "META")) == item(n=1)

    table.transact(writes, token=f"{home}2")
    clock.move(2)
    table.transact(writes, token=home)
    assert table.get(Key(home, "META")) == item(n=3)


def test_a_token_also_holds_for_updates_of_expired_items(
    table: Table, home: str, item: Make, clock: StillClock
) -> None:
    table.put(item(n=9, expires_at=clock.at(-1)))
    writes = [Update(Key(home, "META"), Change(set={"schema": 1}, add={"n": 1}))]

    table.transact(writes, token=home)
    table.transact(writes, token=home)

    assert table.get(Key(home, "META")) == item(n=1)


def test_a_transaction_takes_a_hundred_writes_and_no_more(
    table: Table, home: str, item: Make
) -> None:
    writes = [Put(item(f"{number:03}")) for number in range(101)]

    for refused, token in ((writes, None), (writes[:100], home)):
        with pytest.raises(InvalidInputError, match="at most 100 writes"):
            table.transact(refused, token=token)
    assert table.query(home).items == ()

    table.transact(writes[:100])
    assert len(table.query(home).items) == 100


@pytest.mark.parametrize("token", ["", "x" * 3000])
def test_a_token_that_cannot_be_kept_is_refused(table: Table, item: Make, token: str) -> None:
    with pytest.raises(InvalidInputError):
        table.transact([Put(item())], token=token)


def test_a_transaction_that_no_store_can_do_is_refused(table: Table, home: str, item: Make) -> None:
    key = Key(home, "META")
    large: list[Write] = [Put(item(str(number), text="x" * 390_000)) for number in range(11)]
    refused: list[list[Write]] = [
        [],
        [Put(item()), Put(item(again=True))],
        [Put(item()), Delete(key)],
        [Check(key, Present()), Update(key, Change(set={"a": 1}))],
        large,
    ]

    for writes in refused:
        with pytest.raises(InvalidInputError):
            table.transact(writes)
    assert table.query(home).items == ()


# What no store takes


def nested(depth: int) -> Value:
    value: Value = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        float("nan"), float("inf"), -float("inf"), 2**53, -(2**53), 1e-200, 1e300,
        "\ud800", ["\udfff"], {"": 1}, {"\ud800": 1}, nested(32), {1, 2}, (1,), object,
        {1: 2}, bytearray(b"x"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_value_that_cannot_be_kept_is_refused(
    table: Table, home: str, item: Make, value: Value
) -> None:
    table.put(item())
    key = Key(home, "META")

    for write in (
        lambda: table.put(item(value=value)),
        lambda: table.update(key, Change(set={"value": value})),
        lambda: table.transact([Put(item(value=value))]),
    ):
        with pytest.raises(InvalidInputError):
            write()
    assert table.get(key) == item()


def test_values_nest_up_to_the_limit(table: Table, home: str, item: Make) -> None:
    table.put(item(value=nested(31)))

    assert table.get(Key(home, "META")) == item(value=nested(31))


@pytest.mark.parametrize(
    "attributes",
    [
        {"pk": ""}, {"sk": ""}, {"pk": 1}, {"sk": None}, {"pk": "x" * 2049}, {"sk": "x" * 1025},
        {"sk": "\u00e9" * 513}, {"sk": "\ud800"}, {"gsi1pk": ""}, {"gsi1sk": 5},
        {"gsi2sk": "x" * 1025}, {"gsi3pk": "x" * 2049}, {"schema": 0}, {"schema": "1"},
        {"schema": True}, {"schema": 1.5}, {"expires_at": "soon"}, {"expires_at": 1.5},
        {"expires_at": None}, {"": 1}, {"text": "x" * 409_600},
    ],
    ids=lambda attributes: repr(attributes)[:40],
)  # fmt: skip
def test_an_item_that_cannot_be_kept_is_refused(
    table: Table, home: str, item: Make, attributes: Item
) -> None:
    with pytest.raises(InvalidInputError):
        table.put(item() | attributes)
    assert table.query(home).items == ()


@pytest.mark.parametrize("missing", ["pk", "sk", "schema"])
def test_an_item_needs_its_keys_and_its_schema(table: Table, item: Make, missing: str) -> None:
    incomplete = item()
    del incomplete[missing]

    with pytest.raises(InvalidInputError, match=f"'{missing}'"):
        table.put(incomplete)


@pytest.mark.parametrize(
    "change",
    [
        Change(),
        Change(set={"pk": "x"}),
        Change(remove=frozenset({"sk"})),
        Change(remove=frozenset({"schema"})),
        Change(set={"a": 1}, add={"a": 1}),
        Change(set={"a": 1}, remove=frozenset({"a"})),
        Change(add={"a": 0.5}),  # type: ignore[dict-item]  # what a caller without a checker sends
        Change(add={"a": True}),
        Change(add={"a": 2**53}),
        Change(add={"schema": 1}),
        Change(add={"expires_at": 1}),
        Change(add={"gsi1sk": 1}),
        Change(set={"gsi1sk": ""}),
        Change(set={"": 1}),
        Change(remove=frozenset({""})),
    ],
    ids=repr,
)
def test_a_change_that_cannot_be_made_is_refused(
    table: Table, home: str, item: Make, change: Change
) -> None:
    table.put(item(a=1))

    with pytest.raises(InvalidInputError):
        table.update(Key(home, "META"), change)
    with pytest.raises(InvalidInputError):
        table.transact([Update(Key(home, "META"), change)])
    assert table.get(Key(home, "META")) == item(a=1)


@pytest.mark.parametrize(
    "key", [Key("", "x"), Key("x", ""), Key("x" * 2049, "x")], ids=["pk", "sk", "long"]
)
def test_a_key_that_cannot_be_is_refused_everywhere(table: Table, key: Key) -> None:
    for call in (
        lambda: table.get(key),
        lambda: table.get_many([key]),
        lambda: table.delete(key),
        lambda: table.update(key, Change(set={"a": 1})),
        lambda: table.transact([Check(key, Absent())]),
    ):
        with pytest.raises(InvalidInputError):
            call()


def test_no_message_tells_what_an_item_holds(table: Table, home: str, item: Make) -> None:
    table.put(item(text="a private thought"))
    messages = []

    for write in (
        lambda: table.put(item(text="a private thought"), when=Absent()),
        lambda: table.update(Key(home, "META"), Change(add={"text": 1})),
        lambda: table.put(item(text="a private thought", other={1})),
    ):
        with pytest.raises((ConditionFailedError, InvalidInputError)) as raised:
            write()
        messages.append(str(raised.value))

    assert not [message for message in messages if "private" in message or home in message]
