"""What was said: stored once, found by words and days."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.memory.model.message_chain import (
    START,
    ChatMessage,
    link,
    links,
    marker_at,
    overlap,
)
from nacre.being.memory.model.types import Message
from nacre.being.memory.store.history import AddedMessages, MessageHits
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.core.limits import MARKER_TAIL, MAX_CHAT_BYTES
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import Keeper, keeper, queue_of
from tests.being.memory.stores import sqlite_table


def said(*contents: str) -> list[ChatMessage]:
    return [
        ChatMessage("user" if n % 2 == 0 else "assistant", each) for n, each in enumerate(contents)
    ]


def batch(first: int, last: int) -> list[ChatMessage]:
    return [ChatMessage("user", f"message {number}") for number in range(first, last)]


def add(kept: Keeper, messages: list[ChatMessage], marker_id: str | None = None) -> AddedMessages:
    return kept.memory.history.add(kept.id, messages, marker_id=marker_id)


def everything(kept: Keeper) -> list[str]:
    """Return the contents in the order in which they were said."""
    found = kept.memory.history.search(kept.id, limit=10_000).messages
    return [message.content for message in reversed(found)]


def find(kept: Keeper, **arguments: str) -> list[str]:
    found = kept.memory.history.search(kept.id, limit=50, **arguments)
    return [message.content for message in found.messages]


# Adding


def test_messages_come_back_newest_first_with_their_time(kept: Keeper) -> None:
    add(kept, said("hello", "hi"))
    found = kept.memory.history.search(kept.id, limit=10)

    assert [(each.role, each.content, each.ts) for each in found.messages] == [
        ("assistant", "hi", "2026-07-28T12:00:00.000Z"),
        ("user", "hello", "2026-07-28T12:00:00.000Z"),
    ]
    assert not found.truncated
    assert not found.more
    newest = found.messages[0]
    assert kept.memory.history.get(kept.id, newest.message_id) == newest
    assert kept.memory.history.get(kept.id, "0" * 26) is None
    assert kept.memory.history.get(kept.id, "7" + "Z" * 25) is None
    assert kept.memory.history.get(kept.id, "no id") is None


def test_the_same_batch_again_changes_nothing(kept: Keeper, clock: StillClock) -> None:
    first = add(kept, said("hello", "hi"))
    clock.move(100)
    again = add(kept, said("hello", "hi"))

    assert first == AddedMessages(2, 0, first.marker_id)
    assert again == AddedMessages(0, 2, first.marker_id)
    assert everything(kept) == ["hello", "hi"]


def test_a_conversation_goes_on_behind_its_marker(kept: Keeper) -> None:
    first = add(kept, batch(0, 5))
    second = add(kept, batch(3, 8), first.marker_id)
    third = add(kept, batch(8, 10), second.marker_id)

    assert (second.stored, second.known) == (3, 2)
    assert (third.stored, third.known) == (2, 0)
    assert everything(kept) == [f"message {number}" for number in range(10)]


def test_a_conversation_sent_whole_each_time_goes_on_without_a_marker(kept: Keeper) -> None:
    counts = [add(kept, batch(0, length)) for length in (2, 4, 4, 9)]

    assert [(each.stored, each.known) for each in counts] == [(2, 0), (2, 2), (0, 4), (5, 4)]
    assert everything(kept) == [f"message {number}" for number in range(9)]


def test_a_call_that_is_repeated_with_its_old_marker_changes_nothing(kept: Keeper) -> None:
    first = add(kept, batch(0, 3))
    second = add(kept, batch(3, 6), first.marker_id)
    again = add(kept, batch(3, 6), first.marker_id)

    assert again == AddedMessages(0, 3, second.marker_id)
    assert len(everything(kept)) == 6


def test_a_long_conversation_sent_whole_with_its_marker_is_known(laptop: Keeper) -> None:
    first = add(laptop, batch(0, 150))
    second = add(laptop, batch(0, 160), first.marker_id)

    assert (second.stored, second.known) == (10, 150)


def test_an_unknown_marker_is_said(kept: Keeper) -> None:
    added = add(kept, batch(0, 2), "11111111-1111-1111-1111-111111111111")

    assert added.stored == 2
    assert added.remark == (
        "the marker is not known: the messages were taken as a new conversation"
    )


def test_an_empty_batch_keeps_its_marker(kept: Keeper) -> None:
    first = add(kept, batch(0, 2))

    assert add(kept, [], first.marker_id) == AddedMessages(0, 0, first.marker_id)
    assert add(kept, []) == AddedMessages(0, 0, None)


def test_markers_are_of_one_being(kept: Keeper) -> None:
    other = kept.another("Coral")
    first = add(kept, batch(0, 2))
    added = kept.memory.history.add(other, batch(2, 4), marker_id=first.marker_id)

    assert added.remark is not None
    assert everything(kept) == ["message 0", "message 1"]


def test_a_large_batch_takes_several_transactions_and_keeps_its_order(kept: Keeper) -> None:
    added = add(kept, batch(0, 200))

    assert added.stored == 200
    assert everything(kept) == [f"message {number}" for number in range(200)]
    assert add(kept, batch(0, 200)).stored == 0


def test_a_batch_that_was_stored_in_part_is_completed(laptop: Keeper) -> None:
    # As after a crash between two transactions: the first 90 are there, with their marker.
    add(laptop, batch(0, 90))
    added = add(laptop, batch(0, 200))

    assert (added.stored, added.known) == (110, 90)
    assert len(everything(laptop)) == 200


def test_large_messages_are_stored(kept: Keeper) -> None:
    contents = [f"{number}" + "字" * (MAX_CHAT_BYTES // 3 - 10) for number in range(20)]
    assert add(kept, said(*contents)).stored == 20

    found = kept.memory.history.search(kept.id, limit=20, query="19字")
    assert [message.content for message in found.messages] == contents[-1:]


def test_terminal_output_and_silence_are_no_reason_to_refuse_a_history(laptop: Keeper) -> None:
    add(laptop, said("\x1b[31mred\x1b[0m\x00", "", " \n", "half a \ud83d pair"))

    assert everything(laptop) == ["[31mred[0m", "half a ? pair"]


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        (batch(0, 201), "'messages' has 201 entries and its limit is 200"),
        (
            [ChatMessage("user", "x" * (MAX_CHAT_BYTES + 1))],
            "'messages.0.content' has 262145 bytes",
        ),
        ([ChatMessage("", "x")], "'messages.0.role' is empty"),
        ([ChatMessage("x" * 33, "x")], "'messages.0.role' has 33 characters and its limit is 32"),
    ],
)
def test_what_is_too_much_is_named(
    laptop: Keeper, messages: list[ChatMessage], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        add(laptop, messages)
    assert everything(laptop) == []


def test_a_being_that_does_not_exist_has_no_history(laptop: Keeper) -> None:
    stranger = "00000000-0000-4000-8000-00000000dead"
    with pytest.raises(NotFoundError):
        laptop.memory.history.add(stranger, batch(0, 1))
    assert laptop.memory.history.search(stranger, limit=10) == MessageHits(())


def test_one_batch_from_many_threads_is_stored_once(tmp_path: Path, clock: StillClock) -> None:
    database = SqliteDatabase(tmp_path / "nacre.db")
    kept = keeper(SqliteTable(database, now=clock), queue_of(database, clock), clock)
    with ThreadPoolExecutor(8) as pool:
        added = list(pool.map(lambda _: add(kept, batch(0, 120)), range(16)))

    assert sum(each.stored for each in added) == 120
    assert len({each.marker_id for each in added}) == 1
    assert len(everything(kept)) == 120
    database.close()


# Searching


@pytest.fixture
def months(kept: Keeper, clock: StillClock) -> Keeper:
    days = [(2025, 12, 31), (2026, 1, 1), (2026, 1, 31), (2026, 2, 28), (2026, 3, 1)]
    for year, month, day in days:
        for hour, minute, second, micro in ((0, 0, 0, 0), (23, 59, 59, 999_999)):
            clock.time = datetime(year, month, day, hour, minute, second, micro, tzinfo=UTC)
            add(kept, said(f"{year}-{month:02}-{day:02} at {hour}"))
    return kept


@pytest.mark.requirement("003.search_history.filter")
def test_both_dates_are_included_in_utc(months: Keeper) -> None:
    assert find(months, date_from="2026-01-01", date_to="2026-01-31") == [
        "2026-01-31 at 23",
        "2026-01-31 at 0",
        "2026-01-01 at 23",
        "2026-01-01 at 0",
    ]
    assert find(months, date_to="2025-12-31") == ["2025-12-31 at 23", "2025-12-31 at 0"]
    assert find(months, date_from="2026-03-01") == ["2026-03-01 at 23", "2026-03-01 at 0"]
    assert find(months, date_from="2026-03-02") == []
    assert find(months, date_from="2026-02-28", date_to="2026-02-28", query="at 0") == [
        "2026-02-28 at 0"
    ]


def test_the_newest_come_first_over_all_months(months: Keeper) -> None:
    found = find(months)

    assert found == sorted(found, key=lambda each: (each[:10], int(each.split()[-1])), reverse=True)
    assert len(found) == 10


@pytest.mark.parametrize(
    ("dates", "message"),
    [
        ({"date_from": "2026-1-1"}, "'date_from' must be a date of the calendar"),
        ({"date_to": "2026-02-30"}, "'date_to' must be a date of the calendar"),
        (
            {"date_from": "2026-02-01", "date_to": "2026-01-01"},
            "'date_from' \\(2026-02-01\\) is after 'date_to'",
        ),
    ],
)
def test_wrong_dates_are_named(laptop: Keeper, dates: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        find(laptop, **dates)


@pytest.mark.parametrize(
    "query",
    [
        "KYOTO",
        "kyo",
        "\uff2b\uff39\uff2f\uff34\uff2f",
        "京都",
        "餌",
        "👩‍👧",
        "שלום",
        "STRASSE",
        "50%_[a]*",
    ],
)
def test_any_part_of_a_message_finds_it(laptop: Keeper, query: str) -> None:
    text = "We saw Kyoto (京都) 猫に餌を 👩‍👧‍👦 שלום Straße 50%_[a]*"
    add(laptop, said("something else", text))

    assert find(laptop, query=query) == [text]


def test_more_is_said_when_older_messages_match_too(laptop: Keeper) -> None:
    add(laptop, batch(0, 30))

    assert laptop.memory.history.search(laptop.id, limit=29).more
    assert not laptop.memory.history.search(laptop.id, limit=30).more


def test_a_search_ends_after_4_mb_and_says_so(laptop: Keeper, clock: StillClock) -> None:
    clock.time = datetime(2026, 6, 1, tzinfo=UTC)
    add(laptop, said("the needle"))
    clock.time = datetime(2026, 7, 1, tzinfo=UTC)
    add(laptop, said(*(f"{number}" + "x" * 260_000 for number in range(17))))

    found = laptop.memory.history.search(laptop.id, limit=10, query="needle")
    assert (found.messages, found.truncated) == ((), True)
    assert find(laptop, query="needle", date_to="2026-06-30") == ["the needle"]
    later = laptop.memory.history.search(laptop.id, limit=10, query="needle", before=found.before)
    assert [message.content for message in later.messages] == ["the needle"]


def test_every_message_of_one_moment_is_reached_page_by_page(kept: Keeper) -> None:
    add(kept, batch(0, 30))
    pages, before = [], None
    while True:
        found = kept.memory.history.search(kept.id, limit=7, before=before)
        pages.append([message.content for message in found.messages])
        if (before := found.before) is None:
            break

    everything = kept.memory.history.search(kept.id, limit=50)
    assert [len(page) for page in pages] == [7, 7, 7, 7, 2]
    assert [*chain(*pages)] == [message.content for message in everything.messages]


@pytest.mark.parametrize("before", ["", "2026-07-28", "2026-07-28T17:00:00.000Z", "x#y", "B#b"])
def test_a_place_that_no_search_ended_at_is_refused(laptop: Keeper, before: str) -> None:
    with pytest.raises(InvalidInputError, match="'before' is not what"):
        laptop.memory.history.search(laptop.id, limit=1, before=before)


# Laws

contents = st.lists(st.sampled_from("ab"), max_size=90)


@given(contents, st.integers(0, 90), contents)
@example(["a"] * 70, 70, ["a"] * 10)
@example(["a", "b"] * 10, 0, ["a"])
def test_the_longest_overlap_is_found(known: list[str], kept_back: int, new: list[str]) -> None:
    if not known:
        return
    history = said_all(known)
    marker = marker_at("0a000000-0000-4000-8000-000000000000", None, links(START, history))
    again = history[max(0, len(history) - min(kept_back, MARKER_TAIL - 1)) :]
    sent = again + said_all(new)
    found = overlap(marker, sent)

    assert found >= len(again)
    assert history[len(history) - found :] == sent[:found]


def said_all(each: list[str]) -> list[ChatMessage]:
    return [ChatMessage("user", content) for content in each]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(1, 60), st.lists(st.integers(0, 20), max_size=6), st.booleans())
def test_however_a_conversation_is_sent_each_message_is_stored_once(
    first: int, growth: list[int], is_whole: bool
) -> None:
    clock = StillClock()
    with sqlite_table(clock) as (table, database):
        kept = keeper(table, queue_of(database, clock), clock)
        length = first
        marker = add(kept, batch(0, length)).marker_id
        for more in growth:
            start = 0 if is_whole else max(0, length - 5)
            length += more
            marker = add(kept, batch(start, length), marker).marker_id

        assert everything(kept) == [f"message {number}" for number in range(length)]


def test_each_hash_stands_for_the_whole_history_before_it() -> None:
    assert (
        link(link(START, ChatMessage("user", "a")), ChatMessage("user", "b"))
        == links(START, [ChatMessage("user", "a"), ChatMessage("user", "b")])[1]
    )
    different = {
        link(START, ChatMessage("user", "a")),
        link("x", ChatMessage("user", "a")),
        link(START, ChatMessage("usera", "")),
        link(START, ChatMessage("user", 'a"')),
        link(START, ChatMessage("system", "a")),
    }
    assert len(different) == 5


def test_a_message_keeps_its_session(laptop: Keeper) -> None:
    laptop.memory.history.add(laptop.id, batch(0, 1), session_key_hash="f" * 64)
    [message] = laptop.memory.history.search(laptop.id, limit=1).messages

    assert isinstance(message, Message)
    assert message.session_key_hash == "f" * 64
