"""What every store of dead letters does: SQLite, and SQS with the queues of template.yaml."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from nacre.adapters.aws import sqs_queue
from nacre.adapters.aws.sqs_queue import SqsDeadLetters, SqsQueue
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.dead_letters import SqliteDeadLetters
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.core.clock import system_clock
from nacre.core.errors import ConfigurationError
from nacre.ports.operation.dead_letters import DeadLetter, DeadLetters
from nacre.ports.queue import Depth, Queue
from tests.adapters.conftest import StillClock
from tests.scaffolding.aws_stack import Stack, aws_stack


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqs_queue, "_WAIT_SECONDS", 0)


@dataclass(frozen=True)
class Pair:
    """A queue, and what it has given up."""

    queue: Queue
    dead: DeadLetters

    def give_up(self, *bodies: str, group: str = "g") -> None:
        for body in bodies:
            self.queue.send(body, group=group)
        for body in bodies:
            for _ in range(3):
                message = self.queue.receive()
                assert message is not None
                assert message.body == body
                self.queue.postpone(message, 0)
        assert self.queue.receive() is None

    def letters(self) -> list[DeadLetter]:
        with closing(self.dead.look()) as found:
            return list(found)

    def bodies(self) -> list[str]:
        return [letter.body for letter in self.letters()]

    def send_all_back(self) -> list[bool]:
        with closing(self.dead.look()) as found:
            return [self.dead.send_back(letter) for letter in found]

    def drain(self) -> list[str]:
        bodies = []
        while (message := self.queue.receive()) is not None:
            assert message.receives == 1
            bodies.append(message.body)
            self.queue.done(message)
        return bodies


def on_sqs(stack: Stack, client: Any = None) -> Pair:
    url, dead = stack.ids["PatrolQueue"], stack.ids["PatrolDeadLetterQueue"]
    return Pair(
        SqsQueue(stack.sqs, url, dead_letter_url=dead),
        SqsDeadLetters(client or stack.sqs, url, dead_letter_url=dead),
    )


@pytest.fixture
def database() -> Iterator[SqliteDatabase]:
    with closing(SqliteDatabase(":memory:")) as database:
        yield database


@pytest.fixture(params=["sqlite", "sqs"])
def pair(request: pytest.FixtureRequest, database: SqliteDatabase) -> Iterator[Pair]:
    if request.param == "sqlite":
        yield Pair(SqliteQueue(database, "patrol"), SqliteDeadLetters(database, "patrol"))
        return
    with aws_stack() as stack:
        yield on_sqs(stack)


def test_a_letter_says_what_was_given_up_and_when(pair: Pair) -> None:
    pair.give_up("poison", group="being-1")

    (letter,) = pair.letters()

    assert (letter.group, letter.body, letter.receives) == ("being-1", "poison", 3)
    assert abs(letter.died_at - system_clock()) < timedelta(minutes=5)
    assert letter.died_at.utcoffset() == timedelta(0)


def test_where_nothing_was_given_up_nothing_lies(pair: Pair) -> None:
    pair.queue.send("waits", group="g")

    assert (pair.letters(), pair.dead.count()) == ([], 0)


def test_a_look_changes_nothing(pair: Pair) -> None:
    pair.give_up("1", "2")
    pair.give_up("3", group="h")
    first = pair.letters()
    with closing(pair.dead.look()) as found:
        next(found)

    again = pair.letters()

    assert [replace(each, receipt="") for each in again] == [
        replace(each, receipt="") for each in first
    ]
    assert pair.dead.count() == 3


def test_letters_go_back_in_order_behind_what_waits_in_their_group(pair: Pair) -> None:
    numbers = [str(number) for number in range(23)]  # more than SQS hands out at once
    pair.give_up(*numbers)
    pair.queue.send("waits", group="g")

    assert pair.send_all_back() == [True] * 23

    assert pair.drain() == ["waits", *numbers]
    assert pair.queue.depth() == Depth(0, 0, 0)


def test_a_letter_does_not_overtake_what_is_being_worked_on_in_its_group(pair: Pair) -> None:
    pair.give_up("old")
    pair.queue.send("new", group="g")
    working = pair.queue.receive()
    pair.send_all_back()

    assert working is not None
    assert pair.queue.receive() is None
    pair.queue.done(working)
    assert pair.drain() == ["old"]


def test_one_of_several_goes_back_and_the_others_stay(pair: Pair) -> None:
    pair.give_up("1", "2", "3")
    with closing(pair.dead.look()) as found:
        for letter in found:
            if letter.body == "2":
                pair.dead.send_back(letter)

    assert pair.drain() == ["2"]
    assert pair.bodies() == ["1", "3"]


def test_a_letter_that_was_sent_back_dies_again_and_goes_back_again(pair: Pair) -> None:
    pair.give_up("poison")
    for _ in range(2):
        pair.send_all_back()
        for _ in range(3):
            message = pair.queue.receive()
            assert message is not None
            pair.queue.postpone(message, 0)
        assert pair.queue.receive() is None
        assert [(each.body, each.receives) for each in pair.letters()] == [("poison", 3)]

    pair.send_all_back()
    assert pair.drain() == ["poison"]


def test_who_sends_a_letter_back_twice_queues_it_once(pair: Pair) -> None:
    pair.give_up("poison")
    with closing(pair.dead.look()) as found:
        letter = next(found)
        pair.dead.send_back(letter)
        pair.dead.send_back(letter)

    assert pair.drain() == ["poison"]


def test_more_than_a_page_is_found_and_another_queue_is_not(
    database: SqliteDatabase, clock: StillClock
) -> None:
    for name in ("other", "patrol"):
        queue = SqliteQueue(database, name, now=clock, max_receives=0)
        for number in range(250):
            queue.send(f"{name}{number}", group="g")
        assert queue.receive() is None
    dead = SqliteDeadLetters(database, "patrol", now=clock)

    found = list(dead.look())

    assert [letter.body for letter in found] == [f"patrol{number}" for number in range(250)]
    assert {letter.died_at for letter in found} == {clock()}
    assert all(dead.send_back(letter) for letter in found)
    assert (dead.send_back(found[0]), dead.count(), list(dead.look())) == (False, 0, [])


# What only SQS can do: break between two calls.


class Stopped:
    """A client of SQS whose process ends before it deletes; a killed one tidies nothing up."""

    def __init__(self, client: Any, *, killed: bool) -> None:
        self._client = client
        self._killed = killed

    def __getattr__(self, name: str) -> Any:
        if name == "delete_message" or (self._killed and name == "change_message_visibility"):
            raise KeyboardInterrupt
        return getattr(self._client, name)


@pytest.mark.parametrize("killed", [False, True])
def test_who_is_stopped_between_two_calls_loses_nothing_and_queues_nothing_twice(
    monkeypatch: pytest.MonkeyPatch, *, killed: bool
) -> None:
    with aws_stack() as stack:
        whole, stopped = on_sqs(stack), on_sqs(stack, Stopped(stack.sqs, killed=killed))
        whole.give_up("1", "2")
        with monkeypatch.context() as patch:
            if killed:  # the minute for which they are hidden is over at once
                patch.setattr(sqs_queue, "_HIDDEN_SECONDS", 0)
            with pytest.raises(KeyboardInterrupt):
                stopped.send_all_back()
        assert whole.queue.depth() == Depth(waiting=1, in_flight=0, dead=2)

        assert whole.send_all_back() == [True, True]

        assert whole.drain() == ["1", "2"]
        assert whole.queue.depth() == Depth(0, 0, 0)


def test_what_one_looks_at_another_does_not_send_back() -> None:
    with aws_stack() as stack:
        one, other = on_sqs(stack), on_sqs(stack)
        one.give_up("1", "2")
        with closing(one.dead.look()) as found:
            next(found)
            assert (other.letters(), other.dead.count()) == ([], 2)

        assert other.bodies() == ["1", "2"]


def test_of_one_group_ten_are_seen_and_all_are_counted() -> None:
    with aws_stack() as stack:
        pair = on_sqs(stack)
        pair.give_up(*map(str, range(12)))
        pair.give_up("other", group="h")

        assert pair.bodies() == [*map(str, range(10)), "other"]
        assert pair.dead.count() == 13


def test_a_queue_of_dead_letters_that_is_not_there_is_named() -> None:
    with aws_stack() as stack:
        url = stack.ids["PatrolQueue"]
        missing = url.replace("patrol.fifo", "missing.fifo")
        dead = SqsDeadLetters(stack.sqs, url, dead_letter_url=missing)

        with pytest.raises(ConfigurationError, match=r"nacre-test-missing\.fifo does not exist"):
            next(dead.look())
