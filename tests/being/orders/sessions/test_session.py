"""Sessions: continued by their key, each its caller's own, one order at a time, of bounded size."""

import re
import threading
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import session_key_hash
from nacre.being.memory.store.partitions import items_in
from nacre.being.orders.media.media_limits import MediaLimits
from nacre.being.orders.order.request import OrderLimits
from nacre.being.orders.sessions.session import Session, Turn
from nacre.being.orders.sessions.store import SessionStore
from nacre.core.limits import (
    SESSION_BYTES,
    SESSION_DAYS,
    SESSION_LEASE_SECONDS,
    SESSION_SUMMARY_BYTES,
    SESSION_TEXT_BYTES,
)
from nacre.jobs.lease import Leases
from nacre.ports.items.table import Key
from tests.adapters.conftest import StillClock
from tests.being.memory.minds import CountingTable
from tests.being.orders.conftest import World, world_over
from tests.scaffolding.model_server import Question, Response, saying


def conversation(question: Question) -> list[str]:
    """Return the turns that the model is shown."""
    return [str(message["content"]) for message in question.body["messages"][1:]]


@pytest.mark.requirement("000.session.continuity")
def test_the_same_key_goes_on(world: World) -> None:
    world.model.script(saying("I will."), saying("Blue."))
    world.text("Remember that my favorite color is blue.", sessionKey="user-123")
    world.text("What's my favorite color?", sessionKey="user-123")

    assert conversation(world.model.questions[1]) == [
        "Remember that my favorite color is blue.",
        "I will.",
        "What's my favorite color?",
    ]


@pytest.mark.requirement("000.session.isolated")
def test_without_a_key_every_order_stands_alone(world: World) -> None:
    results = [world.give(f"order {number}") for number in range(2)]

    assert [conversation(question) for question in world.model.questions] == [
        ["order 0"],
        ["order 1"],
    ]
    first, second = (result["_meta"]["nacre/session"] for result in results)
    assert first != second
    assert all(re.fullmatch(r"mcp-\d{13}-[0-9a-f]{6}", key) for key in (first, second))
    assert world.sessions.heads(world.being_id) == []
    # The key of an order that stood alone opens nothing.
    world.text("order 2", sessionKey=first)
    assert conversation(world.model.questions[2]) == ["order 2"]


@pytest.mark.requirement("000.session.secret")
def test_a_key_belongs_to_its_caller_and_is_not_stored(world: World) -> None:
    key = "client-123-secret-key"
    result = world.give("my secret word is pearl", sessionKey=key, subject="ann")
    world.give("what is it?", sessionKey=key, subject="bob")

    assert conversation(world.model.questions[1]) == ["what is it?"]
    assert "_meta" not in result
    partitions = (keys.sessions(world.being_id), keys.session_turns(world.being_id))
    stored = str([list(items_in(world.mind.table, name)) for name in partitions])
    assert "pearl" in stored
    assert key not in stored
    assert session_key_hash("token ann", key) in stored


def test_a_client_keeps_its_sessions_through_new_tokens(laptop: World) -> None:
    for subject, client, message in (
        ("token-1", "c1", "one"),
        ("token-2", "c1", "two"),
        ("token-3", "c2", "three"),
        ("c1", None, "four"),
    ):
        context = laptop.context(subject, client=client)
        laptop.call({"message": message, "sessionKey": "s"}, context)

    assert [conversation(question)[0] for question in laptop.model.questions] == [
        *("one", "one", "three", "four")
    ]


def test_orders_of_one_session_wait_for_each_other(laptop: World) -> None:
    running: list[str] = []
    most: list[int] = []

    def reply(question: Question) -> Response:
        running.append(question.user)
        most.append(len(running))
        time.sleep(0.02)
        running.remove(question.user)
        return saying(f"to {question.user}")(question)

    laptop.model.reply = reply
    results: list[dict[str, Any]] = []

    def give(number: int) -> None:
        arguments = {"message": f"m{number}", "sessionKey": "s"}
        results.append(laptop.call(arguments, laptop.context()))

    threads = [threading.Thread(target=give, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == [1, 1, 1, 1]
    assert not any(result["isError"] for result in results)
    # Each has seen all before it, and none is lost.
    assert sorted(len(conversation(question)) for question in laptop.model.questions) == [
        1,
        3,
        5,
        7,
    ]
    [head] = laptop.sessions.heads(laptop.being_id)
    assert head.turns == 4


def test_orders_of_several_sessions_do_not_wait(laptop: World) -> None:
    both = threading.Barrier(2, timeout=60)

    def reply(question: Question) -> Response:
        both.wait()
        return saying("ok")(question)

    laptop.model.reply = reply
    threads = [
        threading.Thread(
            target=laptop.call, args=({"message": "x", "sessionKey": key}, laptop.context())
        )
        for key in ("a", "b")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(laptop.sessions.heads(laptop.being_id)) == 2


def test_an_order_that_waits_too_long_says_for_what(world: World, clock: StillClock) -> None:
    hasty = world_over(
        world.mind, world.model, clock, limits=OrderLimits(0.25, MediaLimits.laptop())
    )
    session_id = session_key_hash("token test", "s")
    lease = hasty.sessions.try_begin(hasty.being_id, session_id)
    assert lease is not None

    assert "another order of this session still runs" in hasty.error("x", sessionKey="s")
    assert world.model.questions == []

    hasty.sessions.end(lease, is_empty=True)
    slower = world_over(world.mind, world.model, clock)
    assert slower.text("x", sessionKey="s") == "Very well."


def test_a_session_that_is_deleted_in_use_begins_anew_with_the_turn_that_ran(
    world: World,
) -> None:
    sessions, being_id = world.sessions, world.being_id
    waiting: list[bool] = []

    def delete(question: Question) -> Response:
        [head] = sessions.heads(being_id)
        session_id = head.session_id
        sessions.delete(being_id, session_id)
        assert sessions.heads(being_id) == []
        waiting.append(sessions.try_begin(being_id, session_id) is None)
        return saying("two")(question)

    world.model.script(saying("one"), delete, saying("three"))
    for message in ("first", "second", "third"):
        world.text(message, sessionKey="s")

    assert waiting == [True]  # another order would not have run beside it
    assert conversation(world.model.questions[2]) == ["second", "two", "third"]
    [head] = sessions.heads(being_id)
    assert head.turns == 2
    sessions.delete(being_id, head.session_id)
    assert list(items_in(world.mind.table, keys.sessions(being_id))) == []


def test_an_order_whose_process_died_frees_its_session(laptop: World, clock: StillClock) -> None:
    session_id = session_key_hash("token test", "s")
    assert laptop.sessions.try_begin(laptop.being_id, session_id) is not None
    clock.move(SESSION_LEASE_SECONDS + 1)

    assert laptop.text("x", sessionKey="s") == "Very well."


def test_an_order_that_died_at_once_leaves_nothing_for_ever(
    laptop: World, clock: StillClock
) -> None:
    assert laptop.sessions.try_begin(laptop.being_id, "ab" * 32) is not None
    partition = keys.sessions(laptop.being_id)

    assert len(list(items_in(laptop.mind.table, partition))) == 1
    assert laptop.sessions.heads(laptop.being_id) == []
    clock.move((SESSION_DAYS + 1) * 86_400)
    assert list(items_in(laptop.mind.table, partition)) == []


def test_a_turn_that_was_added_twice_counts_once(laptop: World) -> None:
    turn = Turn(turn_id="t1", at="2026-07-01T10:00:00.000Z", message="m", answer="a")
    for _ in range(2):
        laptop.sessions.add(laptop.being_id, "ab" * 32, turn, caller="c", marker_id=None)

    assert laptop.sessions.load(laptop.being_id, "ab" * 32).count == 1


def test_turns_of_two_writers_are_both_kept(laptop: World) -> None:
    """A lease that ran out must not cost a turn."""
    barrier = threading.Barrier(4, timeout=60)

    def add(number: int) -> None:
        barrier.wait()
        turn = Turn(turn_id=f"t{number}", at="2026-07-01T10:00:00.000Z", message="m", answer="a")
        laptop.sessions.add(laptop.being_id, "ab" * 32, turn, caller="c", marker_id=None)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    session = laptop.sessions.load(laptop.being_id, "ab" * 32)
    assert {turn.turn_id for turn in session.turns} == {"t0", "t1", "t2", "t3"}


def test_a_session_that_rests_ends(world: World, clock: StillClock) -> None:
    world.text("first", sessionKey="s")
    clock.move((SESSION_DAYS - 1) * 86_400)
    world.text("second", sessionKey="s")
    clock.move((SESSION_DAYS + 1) * 86_400)
    world.text("third", sessionKey="s")

    assert [len(conversation(question)) for question in world.model.questions] == [1, 3, 1]


def test_an_order_costs_as_much_in_a_long_session_as_in_a_short_one(laptop: World) -> None:
    """Reads, writes and what the model is shown are bounded, however many turns there were."""
    counted = _Counted(laptop.mind.table)
    store = SessionStore(counted, Leases(counted, now=StillClock()), clock=StillClock())
    costs = []
    for number in range(60):
        before = (counted.reads, counted.writes)
        turn = Turn(turn_id=f"t{number}", at="now", message="m" * 900, answer="a")
        session = store.add(laptop.being_id, "ab" * 32, turn, caller="c", marker_id=None)
        costs.append((counted.reads - before[0], counted.writes - before[1]))

    assert len(set(costs)) == 1, costs
    assert session.count == 60
    assert sum(turn.size for turn in session.turns) <= SESSION_BYTES
    [item] = items_in(laptop.mind.table, keys.session_turns(laptop.being_id))
    assert len(str(item)) < 3 * (SESSION_BYTES + SESSION_SUMMARY_BYTES)


class _Counted(CountingTable):
    """A table that counts reads too."""

    reads = 0

    def get(self, key: Key) -> Any:
        self.reads += 1
        return super().get(key)

    def get_many(self, keys: Any, *, may_lag: bool = False) -> Any:
        self.reads += len(list(keys))
        return super().get_many(keys, may_lag=may_lag)

    def query(self, *args: Any, **options: Any) -> Any:
        self.reads += 1
        return super().query(*args, **options)


def test_the_older_turns_stay_as_lines(laptop: World) -> None:
    for number in range(5):
        laptop.text(f"number {number}: " + "x" * 7_000, sessionKey="s")

    system = laptop.model.questions[-1].system
    [earlier] = re.findall(
        r"## Earlier in this conversation.*?\n\n(.*?)(?:\n\n|\Z)", system, re.DOTALL
    )
    assert earlier.startswith("- number 0: xxx")
    assert "number 3" not in earlier
    assert [text[:8] for text in conversation(laptop.model.questions[-1])][:-1:2] == [
        *("number 1", "number 2", "number 3")
    ]


turns = st.lists(st.tuples(st.text(max_size=80), st.integers(0, 12_000)), min_size=1, max_size=12)


@settings(max_examples=30, deadline=None)
@given(turns)
def test_a_session_is_bounded_and_holds_its_latest_turn(entries: list[tuple[str, int]]) -> None:
    session = Session(session_id="s")
    for number, (text, size) in enumerate(entries):
        turn = Turn(turn_id=str(number), at="t", message=text, answer="\u00e9" * size)
        session = session.with_turn(turn)

    assert session.count == len(entries)
    assert session.turns[-1].turn_id == str(len(entries) - 1)
    latest = list(range(len(entries)))[-len(session.turns) :]
    assert [int(turn.turn_id) for turn in session.turns] == latest
    sizes = [turn.size for turn in session.turns]
    assert len(sizes) == 1 or sum(sizes) <= SESSION_BYTES
    assert sum(len(line.encode()) + 1 for line in session.summary) <= SESSION_SUMMARY_BYTES
    assert len(session.turns) + len(session.summary) <= session.count
    for turn in session.turns:
        assert len(turn.answer.encode()) <= SESSION_TEXT_BYTES
