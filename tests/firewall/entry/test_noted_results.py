"""The ledger of untrusted results, on the stores of a laptop and of a stack."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.limits import MAX_WINDOW_HOURS, RECEIVED_CONVERSATION_SECONDS, RECEIVED_SECONDS
from nacre.core.origins import external, imported
from nacre.firewall.entry.noted_results import NotedResults, received_partition
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Condition, Item, Table
from nacre.ports.untrusted_results import Holder
from tests.adapters.conftest import StillClock
from tests.scaffolding.two_stores import clock, stack, table

__all__ = ["clock", "stack", "table"]

BEING = "11111111-1111-4111-8111-111111111111"
ANN = Holder(BEING, "ann")
WEB, MAIL = external("web"), external("mail")


class Counting:
    """A table that counts what is put into it."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.puts = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def put(self, item: Item, *, when: Condition | None = None) -> None:
        self.puts += 1
        self._table.put(item, when=when)


def test_what_was_noted_is_seen_by_every_process(table: Table, clock: StillClock) -> None:
    ledger = NotedResults(table)
    ledger.note(ANN, WEB, clock())
    ledger.note(ANN, MAIL, clock())
    ledger.note(ANN, WEB, clock())

    assert NotedResults(table).origins(ANN, clock()) == {WEB, MAIL}
    assert NotedResults(table).origins(Holder(BEING, "joe"), clock()) == frozenset()
    other = Holder("22222222-2222-4222-8222-222222222222", "ann")
    assert NotedResults(table).origins(other, clock()) == frozenset()


def test_a_window_has_one_write_for_each_server(table: Table, clock: StillClock) -> None:
    counting = Counting(table)
    ledger = NotedResults(counting)
    for _ in range(6):
        ledger.note(ANN, WEB, clock())
        ledger.note(ANN, MAIL, clock())
        clock.move(RECEIVED_SECONDS / 4)

    assert counting.puts == 4


def test_a_note_counts_for_one_to_two_windows(table: Table, clock: StillClock) -> None:
    ledger = NotedResults(table)
    ledger.note(ANN, WEB, clock())
    clock.move(RECEIVED_SECONDS - 1)
    ledger.note(ANN, WEB, clock())
    clock.move(RECEIVED_SECONDS)
    assert ledger.origins(ANN, clock()) == {WEB}

    clock.move(1)
    assert ledger.origins(ANN, clock()) == frozenset()


def test_a_being_has_one_note_for_each_origin_however_many_tokens_it_has(
    table: Table, clock: StillClock
) -> None:
    counting = Counting(table)
    ledger = NotedResults(counting, has_windows=lambda being: being == BEING)
    start = int(clock().timestamp())
    for hour in range(5):
        for _ in range(2):
            ledger.note(Holder(BEING, f"token {hour}"), WEB, clock())
        clock.move(RECEIVED_SECONDS)
    other = Holder("22222222-2222-4222-8222-222222222222", "ann")
    ledger.note(other, MAIL, clock())

    assert counting.puts == 5 + 5 + 1
    assert NotedResults(table).times(BEING, clock()) == {WEB: start + 4 * RECEIVED_SECONDS}
    assert NotedResults(table).times(other.being_id, clock()) == {}
    assert ledger.origins(Holder(BEING, "token 0"), clock()) == frozenset()


def test_the_note_of_a_being_lasts_for_the_longest_window(table: Table, clock: StillClock) -> None:
    ledger = NotedResults(table, has_windows=lambda _: True)
    ledger.note(ANN, WEB, clock())
    clock.move(RECEIVED_SECONDS - 1)
    ledger.note(ANN, WEB, clock())  # within the hour, so that nothing is written
    clock.move(MAX_WINDOW_HOURS * 3600)
    assert list(ledger.times(BEING, clock())) == [WEB]

    clock.move(1)
    assert ledger.times(BEING, clock()) == {}


def test_the_note_of_a_being_begins_with_the_first_rule_that_has_a_window(
    table: Table, clock: StillClock
) -> None:
    windows: list[str] = []
    ledger = NotedResults(table, has_windows=lambda _: bool(windows))
    ledger.note(ANN, WEB, clock())
    assert ledger.times(BEING, clock()) == {}

    windows.append("30 days")
    ledger.note(ANN, WEB, clock())
    assert list(ledger.times(BEING, clock())) == [WEB]


def test_a_time_of_a_being_is_never_in_the_future(table: Table, clock: StillClock) -> None:
    ledger = NotedResults(table, has_windows=lambda _: True)
    ledger.note(ANN, WEB, clock())
    clock.move(-RECEIVED_SECONDS)

    assert ledger.times(BEING, clock()) == {WEB: int(clock().timestamp())}


def test_two_processes_renew_a_note_once(table: Table, clock: StillClock) -> None:
    first, second = NotedResults(table), NotedResults(table)
    first.note(ANN, WEB, clock())
    clock.move(RECEIVED_SECONDS / 2)
    second.note(ANN, WEB, clock())
    clock.move(RECEIVED_SECONDS / 2)
    second.note(ANN, WEB, clock())
    clock.move(RECEIVED_SECONDS * 2 - 1)

    assert first.origins(ANN, clock()) == {WEB}


def test_conversations_are_apart_and_last_for_a_day(table: Table, clock: StillClock) -> None:
    ledger = NotedResults(table)
    one, two = Holder(BEING, "ann", "one"), Holder(BEING, "ann", "two")
    ledger.note(one, WEB, clock())
    ledger.note(ANN, MAIL, clock())

    assert ledger.origins(one, clock()) == {WEB, MAIL}
    assert ledger.origins(two, clock()) == {MAIL}
    assert ledger.origins(ANN, clock()) == {WEB, MAIL}

    clock.move(RECEIVED_CONVERSATION_SECONDS - 1)
    assert ledger.origins(one, clock()) == {WEB}
    assert ledger.origins(ANN, clock()) == frozenset()


def test_a_clock_that_is_set_back_does_not_end_a_note_early(
    table: Table, clock: StillClock
) -> None:
    ledger = NotedResults(table)
    ledger.note(ANN, WEB, clock())
    clock.move(-RECEIVED_SECONDS)
    assert ledger.origins(ANN, clock()) == {WEB}

    ledger.note(ANN, WEB, clock())
    clock.move(RECEIVED_SECONDS)
    assert ledger.origins(ANN, clock()) == {WEB}


def test_many_notes_at_once_are_all_there(table: Table, clock: StillClock) -> None:
    ledgers = [NotedResults(table) for _ in range(4)]
    servers = [external(f"s{number}") for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        notes = [
            pool.submit(ledger.note, ANN, server, clock())
            for ledger in ledgers
            for server in servers
        ]
    assert [note.result() for note in notes] == [None] * 32

    assert ledgers[0].origins(ANN, clock()) == set(servers)


def test_no_text_of_a_holder_or_an_origin_reaches_another_one(
    table: Table, clock: StillClock
) -> None:
    ledger = NotedResults(table)
    ledger.note(Holder(BEING, "a#b", "c"), imported("x#y"), clock())

    assert ledger.origins(Holder(BEING, "a"), clock()) == frozenset()
    assert ledger.origins(Holder(BEING, "a#b", ""), clock()) == frozenset()
    assert ledger.origins(Holder(BEING, "a#b", "c"), clock()) == {imported("x#y")}
    assert len(list(every_item(table, received_partition(BEING)))) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.integers(0, 3 * RECEIVED_SECONDS),
            st.sampled_from([None, "one", "two"]),
            st.sampled_from([WEB, MAIL]),
        ),
        max_size=12,
    ),
    st.sampled_from([None, "one", "two"]),
)
def test_nothing_of_the_last_window_is_missing_and_nothing_is_older_than_two(
    notes: list[tuple[int, str | None, Any]], asking: str | None
) -> None:
    clock = StillClock()
    database = SqliteDatabase(":memory:")
    ledger = NotedResults(SqliteTable(database, now=clock))
    seen = []
    for wait, conversation, origin in notes:
        clock.move(wait)
        ledger.note(Holder(BEING, "ann", conversation), origin, clock())
        seen.append((clock(), conversation, origin))
    received = ledger.origins(Holder(BEING, "ann", asking), clock())
    about = [
        ((clock() - at).total_seconds(), conversation, origin)
        for at, conversation, origin in seen
        if asking is None or conversation in (None, asking)
    ]
    surely = {origin for age, _, origin in about if age < RECEIVED_SECONDS}
    surely |= {
        origin
        for age, conversation, origin in about
        if conversation is not None
        and conversation == asking
        and age < RECEIVED_CONVERSATION_SECONDS - RECEIVED_SECONDS
    }
    possibly = {
        origin
        for age, conversation, origin in about
        if age < 2 * RECEIVED_SECONDS
        or (
            conversation is not None
            and conversation == asking
            and age < RECEIVED_CONVERSATION_SECONDS
        )
    }
    database.close()

    assert surely <= received <= possibly


@pytest.mark.parametrize("conversation", [None, "one"])
def test_notes_are_removed_by_the_store_within_a_day(
    table: Table, clock: StillClock, conversation: str | None
) -> None:
    NotedResults(table).note(Holder(BEING, "ann", conversation), WEB, clock())
    clock.move(RECEIVED_CONVERSATION_SECONDS)

    assert list(every_item(table, received_partition(BEING))) == []
