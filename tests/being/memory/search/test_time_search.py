"""Search by time: lists by date, and words of time in a query."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.memory.search.time_search import lift_of
from nacre.text.time_expressions.days import Days
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import a_node, queue_of
from tests.being.memory.minds import DownIndex, Minded, RefusedError, minded
from tests.being.memory.recalls import with_recalls

# The clock of these tests stands on Tuesday, 2026-07-28, at noon in UTC.
LAST_WEEK = "2026-07-22"


@pytest.fixture
def indexless(clock: StillClock) -> Iterator[Minded]:
    database = SqliteDatabase(":memory:")
    yield minded(SqliteTable(database, now=clock), queue_of(database, clock), DownIndex, clock)
    database.close()


def note(mind: Minded, **actions: str) -> None:
    """Record scenes by their days: `d0722="Ann swam"` is the 22nd of July."""
    for day, action in actions.items():
        mind.note(action, when=[f"2026-{day[1:3]}-{day[3:5]}"])


def lines(mind: Minded, query: str, **arguments: Any) -> list[str]:
    return mind.text("search_memory", query=query, **arguments).splitlines()


def days(shown: list[str]) -> list[str]:
    """Return the days of the memories in an answer, in its order."""
    return [line.partition("[")[2][:10] for line in shown[1:] if line[0].isdigit()]


@pytest.mark.parametrize("query", ["", "*", "  "])
def test_a_range_of_days_is_listed_in_order_of_time(mind: Minded, query: str) -> None:
    note(mind, d0703="Ann swam", d0701="Bo cooked", d0702="Cleo sang", d0601="Dan slept")

    shown = lines(mind, query, date_from="2026-07-01", date_to="2026-07-03")

    assert shown[0] == "3 memories by date; from 2026-07-01 to 2026-07-03, in order of time"
    assert days(shown) == ["2026-07-01", "2026-07-02", "2026-07-03"]
    assert "score" not in shown[1]


def test_ranges_may_be_open(mind: Minded) -> None:
    note(mind, d0701="Bo cooked", d0703="Ann swam")

    def listed(**arguments: str) -> tuple[str, list[str]]:
        shown = lines(mind, "*", **arguments)
        return shown[0].partition("; ")[2], days(shown)

    assert listed(date_from="2026-07-02") == (
        "from 2026-07-02 on, in order of time",
        ["2026-07-03"],
    )
    assert listed(date_to="2026-07-02") == ("until 2026-07-02, in order of time", ["2026-07-01"])
    assert listed() == ("of all days, in order of time", ["2026-07-01", "2026-07-03"])
    assert listed(date_from="2027-01-01") == ("from 2027-01-01 on, in order of time", [])


def test_a_long_list_has_pages(mind: Minded) -> None:
    mind.remember(*(a_node(each, when=(f"2026-07-{each:02}",)) for each in range(1, 26)))

    def page(number: int) -> list[str]:
        return lines(mind, "*", date_from="2026-07-01", page=number)

    first, third, fourth = page(1), page(3), page(4)

    assert first[0].endswith("in order of time; page 1 of 3")
    assert first[-1] == "… there are more: page=2 shows the next"
    assert days(first)[0] == "2026-07-01"
    assert len(days(first)) == 10
    assert days(third) == [f"2026-07-{day}" for day in range(21, 26)]
    assert "more" not in third[-1]
    assert days(fourth) == []


def test_a_list_counts_as_a_recall_and_a_read_only_token_writes_nothing(wordy: Minded) -> None:
    dead = a_node(1, action="Bo fed the cat", status="dead", count_at_death=0)
    wordy.remember(dead)
    before = wordy.table.writes

    wordy.text("search_memory", read_only=True, query="*", date_from="2026-01-01")
    assert wordy.table.writes == before
    wordy.text("search_memory", query="*", date_from="2026-01-01")

    [node] = with_recalls(wordy.table, wordy.being_id, [dead.node_id]).values()
    assert node.reactivation_count == 2


def test_a_list_leaves_out_what_was_superseded_and_other_states(mind: Minded) -> None:
    mind.remember(
        a_node(1, action="old", superseded_by="x"),
        a_node(2, action="new"),
        a_node(3, action="gone", status="dead", count_at_death=0),
    )

    assert len(days(lines(mind, "*"))) == 2
    assert "gone" in lines(mind, "*", status="dead")[1]


def test_a_search_within_days_shows_its_hits_in_order_of_time(mind: Minded) -> None:
    note(mind, d0703="the cat slept", d0701="a cat, a cat, a cat", d0601="my cat")

    shown = lines(mind, "cat", date_from="2026-07-01")

    assert shown[0] == "2 memories by vector search; from 2026-07-01 on, in order of time"
    assert days(shown) == ["2026-07-01", "2026-07-03"]
    assert "score" in shown[1]


def test_a_question_for_all_of_a_time_lists_it(mind: Minded) -> None:
    note(mind, d0724="Ann swam", d0722="Bo cooked", d0601="what happened then")

    for query in ("What happened last week?", "was habe ich letzte Woche gemacht?", "先週"):
        shown = lines(mind, query)
        assert shown[0] == "2 memories by date; from 2026-07-20 to 2026-07-26, in order of time"
        assert days(shown) == ["2026-07-22", "2026-07-24"]


def test_words_of_time_lift_the_memories_of_these_days(mind: Minded) -> None:
    for pot in range(3):
        mind.note(*(f"Bo cooked a soup of lentils, number {pot}.{each}" for each in range(20)))
    mind.note("Bo cooked a soup", when=[LAST_WEEK])

    shown = lines(mind, "which soup did Bo cook last week?")

    assert shown[0].endswith('memories from 2026-07-20 to 2026-07-26 first, for "last week"')
    assert days(shown)[0] == LAST_WEEK
    assert len(days(shown)) == 10


@pytest.mark.parametrize(
    ("first", "last", "lift"),
    [
        ("2026-07-27", "2026-07-27", 15 / 16),
        ("2026-07-01", "2026-07-15", 1 / 2),
        ("2026-07-14", None, 1 / 2),  # until today
        ("2026-09-01", None, 15 / 16),
        (None, "2026-07-01", 0.0),
    ],
)
def test_fewer_days_lift_more(first: str | None, last: str | None, lift: float) -> None:
    low, high = (None if day is None else date.fromisoformat(day) for day in (first, last))

    assert lift_of(Days(low, high), date(2026, 7, 28)) == pytest.approx(lift)


def test_a_memory_of_another_day_is_still_found(mind: Minded) -> None:
    note(mind, d0601="Ann planned a trip to Norway", d0722="Bo paid the rent")

    shown = lines(mind, "the trip to Norway that Ann planned last week")

    assert "Norway" in "".join(shown)


def test_an_answer_says_when_nothing_lies_in_the_days(mind: Minded) -> None:
    note(mind, d0601="Ann planned a trip to Norway")

    shown = lines(mind, "trip to Norway last week")

    assert shown[0].endswith('no memories from 2026-07-20 to 2026-07-26, for "last week"')
    assert "Norway" in shown[1]


def test_given_days_count_and_words_of_time_do_not(mind: Minded) -> None:
    note(mind, d0601="Ann swam", d0722="Ann swam again")

    assert days(lines(mind, "swam last week", date_to="2026-06-30")) == ["2026-06-01"]


def test_today_is_the_caller_s(mind: Minded, clock: StillClock) -> None:
    clock.time = datetime(2026, 7, 28, 22, 0, tzinfo=UTC)  # the 29th in Tokyo
    note(mind, d0728="Ann swam", d0729="Bo cooked")

    assert days(lines(mind, "today")) == ["2026-07-28"]
    assert days(lines(mind, "today", timezone="Asia/Tokyo")) == ["2026-07-29"]
    assert "Bo cooked" in mind.text("recall", user_message="today", timezone="Asia/Tokyo")
    with pytest.raises(RefusedError, match="unknown time zone 'Mars/Base'"):
        mind.text("search_memory", query="today", timezone="Mars/Base")
    with pytest.raises(RefusedError, match="unknown time zone 'Mars/Base'"):
        mind.text("recall", user_message="today", timezone="Mars/Base")


def test_recall_knows_words_of_time(mind: Minded) -> None:
    note(mind, d0722="Bo cooked a soup", d0601="Dan slept")
    mind.note("Ann married Cleo", when=["2026-07-23"], importance=1.0)
    mind.note("Ann bought milk", "Ann bought rice", when=["2026-07-23"], importance=0.1)

    week = mind.text("recall", user_message="What happened last week?")

    assert "Ann married Cleo" in week
    assert "Bo cooked a soup" in week
    assert "Dan slept" not in week
    soups = mind.text("recall", user_message="What soup did Bo cook last week?")
    assert "Bo cooked a soup" in soups


def test_without_an_index_the_newest_memories_are_listed(indexless: Minded) -> None:
    note(indexless, d0703="Ann swam", d0701="Bo cooked")

    shown = lines(indexless, "*", date_from="2026-07-01")

    assert shown[0].endswith("in order of time; the search index cannot be reached")
    assert days(shown) == ["2026-07-01", "2026-07-03"]
