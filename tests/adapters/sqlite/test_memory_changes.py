"""The record of changes: what a recall reads can be had as it was at any recorded time."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.adapters.sqlite import memory_changes
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.memory_changes import SqliteMemoryChanges
from nacre.adapters.sqlite.residue import SqliteResidue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.errors import ConditionFailedError, InvalidInputError
from nacre.core.limits import CHANGES_KEPT_DAYS
from nacre.ports.items.table import Absent, Change, Check, Delete, Item, Key, Present, Put, Update
from nacre.ports.memory_changes import NotRecordedError
from tests.adapters.conftest import StillClock

BEING, OTHER = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
HOME = f"B#{BEING}"


class Store:
    """A table that records, and its record."""

    def __init__(self) -> None:
        self.clock = StillClock()
        self.database = SqliteDatabase(":memory:")
        self.changes = SqliteMemoryChanges(self.database)
        self.table = SqliteTable(self.database, now=self.clock, changes=lambda: self.changes)
        unrecorded = SqliteMemoryChanges(self.database, keeps=False)
        self.unrecorded = SqliteTable(self.database, now=self.clock, changes=lambda: unrecorded)

    def put(self, part: str, sk: str, **fields: Any) -> datetime:
        """Write an item, and return a time after that."""
        self.clock.move(1)
        self.table.put({"pk": f"{HOME}{part}", "sk": sk, "schema": 1, **fields})
        return self.clock()

    def at(self, time: datetime) -> dict[Key, Item]:
        """Return the items of a time."""
        return {Key.of(item): item for item in self.changes.items_at(BEING, time)}

    def size(self) -> tuple[int, int]:
        """Return the bytes that the record counts, and those that it has."""
        with self.database.read() as connection:
            counted = connection.execute("SELECT sum(bytes) FROM memory_records").fetchone()[0]
            sizes = "SELECT coalesce(sum(size), 0) FROM memory_changes"
            return counted or 0, connection.execute(sizes).fetchone()[0]


@pytest.fixture
def store() -> Iterator[Store]:
    store = Store()
    store.put("", "META", clock=0)
    yield store
    store.database.close()


NODE, POINT = Key(f"{HOME}#N", "n"), Key(f"{HOME}#V", "P#n")


def test_a_changed_memory_is_had_as_it_was(store: Store) -> None:
    first = store.put("#N", "n", action="Ann moved", version=1)
    second = store.put("#N", "n", action="Ann moved to Rome", version=2, feeling="glad")
    third = store.put("#N", "n", version=3)

    assert [store.at(time)[NODE] for time in (first, second, third)] == [
        {"pk": NODE.pk, "sk": "n", "schema": 1, "action": "Ann moved", "version": 1},
        {
            **{"pk": NODE.pk, "sk": "n", "schema": 1, "version": 2},
            **{"action": "Ann moved to Rome", "feeling": "glad"},
        },
        {"pk": NODE.pk, "sk": "n", "schema": 1, "version": 3},
    ]


def test_a_point_that_the_index_lost_is_there_as_of_then(store: Store) -> None:
    store.put("#N", "n", status="active")
    before = store.put("#V", "P#n", text="Ann moved", text_sha="1", **{"vec:m": b"\x01"})
    store.clock.move(1)
    store.table.delete(POINT)

    assert POINT not in store.at(store.clock())
    assert store.at(before)[POINT]["vec:m"] == b"\x01"


def test_vectors_of_another_model_are_no_change_of_a_point(store: Store) -> None:
    store.put("#V", "P#n", text_sha="1", **{"vec:a": b"\x01"})
    before = store.size()
    store.put("#V", "P#n", text_sha="1", **{"vec:a": b"\x01", "vec:b": b"\x02"})
    store.put("#V", "P#n", text_sha="1", **{"vec:b": b"\x02"})

    assert store.size() == before


@pytest.mark.parametrize(
    ("part", "sk"), [("#L", "recall"), ("#X", "mark"), ("#V", "C#cluster"), ("", "NOTE#1")]
)
def test_what_no_recall_reads_is_not_recorded(store: Store, part: str, sk: str) -> None:
    before = store.size()
    store.put(part, sk, text="a")
    store.put(part, sk, text="b")
    store.put("", "META", clock=0, pending_scenes=7)

    assert store.size() == before


def test_a_deleted_memory_leaves_no_record(store: Store) -> None:
    time = store.put("#N", "n", action="a secret matter")
    store.put("#V", "P#n", text="a secret matter", text_sha="1")
    store.put("#N", "n", action="a very secret matter")
    store.table.transact([Delete(NODE), Delete(POINT)])

    assert list(SqliteResidue(store.database).find(["secret matter"])) == []
    assert list(store.at(time)) == [Key(HOME, "META")]
    assert store.size()[0] == store.size()[1]


def test_an_erased_being_leaves_no_record(store: Store) -> None:
    store.put("#N", "n", action="Ann moved")
    store.put("#V", "P#n", text="Ann moved", text_sha="1")
    store.put("", "INDEX", active="none")
    for key in (Key(HOME, "META"), POINT, NODE, Key(HOME, "INDEX")):
        store.table.delete(key)

    assert list(SqliteResidue(store.database).find([BEING])) == []
    with pytest.raises(NotRecordedError):
        store.at(store.clock())


def test_what_mentions_an_erased_memory_is_scrubbed(store: Store) -> None:
    before = store.put("#N", "n", action="Ann moved", superseded_by="gone", version=1)
    store.put("#N", "n", action='Ann "moved"', version=2)
    after = store.put("#N", "n", action="Ann left", version=3)
    store.changes.scrub(BEING, ["gone", 'Ann "moved"'])

    assert list(SqliteResidue(store.database).find(["gone", 'Ann "moved"'])) == []
    assert store.at(before)[NODE] == store.at(after)[NODE]
    assert store.size()[0] == store.size()[1]


def test_writes_of_an_erasing_command_are_no_history(store: Store) -> None:
    time = store.put("#N", "n", status="merged")
    store.clock.move(1)
    store.unrecorded.update(NODE, Change(set={"status": "active"}))

    assert store.at(time)[NODE]["status"] == "active"


def test_a_write_that_fails_records_nothing(store: Store) -> None:
    time = store.put("#N", "n", version=1)
    before = store.size()
    with pytest.raises(ConditionFailedError):
        store.table.transact(
            [Update(NODE, Change(set={"version": 2})), Check(Key(HOME, "META"), Absent())]
        )
    store.table.transact([Check(NODE, Present())])

    assert store.size() == before
    assert store.at(time)[NODE]["version"] == 1


def test_times_before_the_record_are_refused_with_its_beginning(store: Store) -> None:
    with pytest.raises(NotRecordedError, match=r"before 2026-07-28T12:00:01\.000Z are"):
        store.at(store.clock() - timedelta(seconds=1))
    with pytest.raises(NotRecordedError, match="no change of this memory was recorded yet"):
        store.changes.items_at(OTHER, store.clock())


def test_an_older_store_is_recorded_from_its_next_change_on(store: Store) -> None:
    plain = SqliteTable(store.database, now=store.clock)
    plain.put({"pk": f"B#{OTHER}", "sk": "META", "schema": 1})
    plain.put({"pk": f"B#{OTHER}#N", "sk": "n", "schema": 1, "version": 1})
    store.clock.move(60)
    first = store.clock()
    store.table.put({"pk": f"B#{OTHER}#N", "sk": "m", "schema": 1})

    with pytest.raises(NotRecordedError):
        store.changes.items_at(OTHER, first - timedelta(seconds=1))
    assert len(store.changes.items_at(OTHER, first)) == 3


def test_old_changes_leave_the_record(store: Store) -> None:
    old = store.put("#N", "n", version=0)
    store.put("#N", "n", version=1)
    store.clock.move(CHANGES_KEPT_DAYS * 86_400 / 2)
    kept = store.put("#N", "n", version=2)
    store.clock.move(CHANGES_KEPT_DAYS * 86_400 / 2 + 2 * 86_400)
    store.put("#N", "n", version=3)

    assert store.at(kept)[NODE]["version"] == 2
    with pytest.raises(NotRecordedError):
        store.at(old)
    assert store.size()[0] == store.size()[1]


def test_a_record_that_is_full_loses_its_oldest_changes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_changes, "CHANGES_KEPT_BYTES", 5000)
    times = [store.put("#N", "n", action=str(number) * 500) for number in range(10)]

    assert store.size()[0] == store.size()[1] <= 5000
    with pytest.raises(NotRecordedError) as refused:
        store.at(times[0])
    since = refused.value.since
    assert since is not None
    assert since in times
    for number, time in enumerate(times):
        if time >= since:
            assert store.at(time)[NODE]["action"] == str(number) * 500


def test_a_clock_that_was_ahead_for_a_moment_spoils_no_later_time(store: Store) -> None:
    store.put("#N", "n", version=1)
    store.clock.move(1e8)
    store.put("#N", "n", version=2)
    store.clock.move(-1e8)
    third = store.put("#N", "n", version=3)
    store.put("#N", "n", version=4)

    assert store.at(third)[NODE]["version"] == 3


ids = st.sampled_from(["a", "b", "c"])
values = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.text("ab\"'\\ä", max_size=3))
attributes = st.dictionaries(st.sampled_from(["x", "y", "text_sha", "$bytes"]), values, max_size=3)
points = ids.map(lambda id_: Key(f"{HOME}#V", f"P#{id_}"))
places = st.one_of(
    points,
    ids.map(lambda id_: Key(f"{HOME}#N", f"n{id_}")),
    ids.map(lambda id_: Key(f"{HOME}#S", f"s{id_}")),
    st.just(Key(HOME, "INDEX")),
)
puts = st.builds(lambda key, fields: Put({**key.attributes(), "schema": 1, **fields}),
                 places, attributes)  # fmt: skip
changes = st.builds(
    lambda key, fields: Update(key, Change(set={"schema": 1, **fields})), places, attributes
)
gone = st.builds(Delete, points)
transactions = st.lists(st.one_of(puts, changes, gone), min_size=1, max_size=4)


@given(st.lists(st.tuples(transactions, st.integers(0, 2)), max_size=12))
def test_any_writes_can_be_undone_to_any_time(history: list[Any]) -> None:
    store = Store()
    store.put("", "META", clock=0)
    states: list[tuple[datetime, dict[Key, Item]]] = []
    for writes, seconds in history:
        store.clock.move(seconds)
        with suppress(InvalidInputError):  # it names an item twice, and writes nothing
            store.table.transact(writes)
        states = [state for state in states if state[0] != store.clock()]
        states.append((store.clock(), store.at(store.clock())))

    for time, state in states:
        assert store.at(time) == state
    assert store.size()[0] == store.size()[1]
    store.database.close()
