"""What every queue does: SQLite, and SQS with the queues of template.yaml."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from nacre.adapters.aws.sqs_queue import SqsQueue
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.errors import ConfigurationError, InvalidInputError
from nacre.core.limits import CLOCK_TOLERANCE_SECONDS
from nacre.ports.queue import Depth, Message, Queue
from tests.adapters.conftest import StillClock
from tests.scaffolding.aws_stack import aws_stack


@pytest.fixture
def database() -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(":memory:")
    yield database
    database.close()


@pytest.fixture(params=["sqlite", "sqs"])
def queue(
    request: pytest.FixtureRequest, database: SqliteDatabase, clock: StillClock
) -> Iterator[Queue]:
    if request.param == "sqlite":
        yield SqliteQueue(database, "patrol", now=clock)
        return
    with aws_stack() as stack:  # queues of its own for each test
        yield SqsQueue(
            stack.sqs,
            stack.ids["PatrolQueue"],
            dead_letter_url=stack.ids["PatrolDeadLetterQueue"],
        )


def take(queue: Queue) -> Message:
    message = queue.receive()
    assert message is not None
    return message


def drain(queue: Queue) -> list[str]:
    bodies = []
    while (message := queue.receive()) is not None:
        bodies.append(message.body)
        queue.done(message)
    return bodies


def test_a_message_comes_out_as_it_went_in(queue: Queue) -> None:
    body = '{"kind": "patrol", "text": "\u00e9\u4e16\U0001f41a\\n\n"}'

    sent = queue.send(body, group="being-1")

    message = take(queue)
    assert (message.id, message.group, message.body, message.receives) == (sent, "being-1", body, 1)


def test_an_empty_queue_gives_none(queue: Queue) -> None:
    assert queue.receive() is None
    assert queue.depth() == Depth(0, 0, 0)


def test_a_group_is_delivered_in_order(queue: Queue) -> None:
    for number in range(5):
        queue.send(str(number), group="g")

    assert drain(queue) == ["0", "1", "2", "3", "4"]


def test_a_group_has_one_message_in_flight_and_others_do_not_wait(queue: Queue) -> None:
    for body in ("a1", "a2", "b1"):
        queue.send(body, group=body[0])

    first, second = take(queue), take(queue)
    assert (first.body, second.body, queue.receive()) == ("a1", "b1", None)
    assert queue.depth() == Depth(waiting=1, in_flight=2, dead=0)

    queue.done(first)
    assert take(queue).body == "a2"


def test_a_postponed_message_keeps_its_place(queue: Queue) -> None:
    queue.send("1", group="g")
    queue.send("2", group="g")

    queue.postpone(take(queue), 0)

    again = take(queue)
    assert (again.body, again.receives) == ("1", 2)
    queue.postpone(again, 600)
    assert queue.receive() is None


def test_a_message_that_failed_three_times_is_dead_and_its_group_goes_on(queue: Queue) -> None:
    queue.send("poison", group="g")
    queue.send("good", group="g")

    for _ in range(3):
        message = take(queue)
        assert message.body == "poison"
        queue.postpone(message, 0)

    assert drain(queue) == ["good"]
    assert queue.depth() == Depth(waiting=0, in_flight=0, dead=1)


def test_a_repeat_is_dropped(queue: Queue) -> None:
    queue.send("first", group="g", dedupe_key="r")
    queue.send("second", group="g", dedupe_key="r")

    assert drain(queue) == ["first"]


def test_a_repeat_is_dropped_even_after_the_first_was_done(queue: Queue) -> None:
    if isinstance(queue, SqsQueue):
        pytest.skip("moto forgets a deduplication id with its message; SQS keeps it 5 minutes")
    queue.send("first", group="g", dedupe_key="r")
    queue.done(take(queue))

    queue.send("second", group="g", dedupe_key="r")
    assert drain(queue) == []


def test_messages_without_a_repeat_are_all_kept(queue: Queue) -> None:
    queue.send("same", group="g")
    queue.send("same", group="g")

    assert drain(queue) == ["same", "same"]


def test_a_receipt_is_good_for_its_delivery_only(queue: Queue) -> None:
    queue.send("1", group="g")
    first = take(queue)
    queue.postpone(first, 0)
    second = take(queue)
    queue.done(second)

    queue.done(second)
    queue.done(first)
    queue.postpone(first, 0)

    assert queue.receive() is None


@pytest.mark.parametrize(
    ("body", "group", "dedupe_key"),
    [
        ("", "g", None),
        ("x" * 65_537, "g", None),
        ("\u00e9" * 33_000, "g", None),
        ("nul\x00", "g", None),
        ("\ufffe", "g", None),
        ("\ud800", "g", None),
        ("x", "", None),
        ("x", "a b", None),
        ("x", "\u00e9", None),
        ("x", "g" * 129, None),
        ("x", "g", ""),
        ("x", "g", "r" * 129),
        ("x", "g\n", None),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_cannot_be_sent_is_refused(
    queue: Queue, body: str, group: str, dedupe_key: str | None
) -> None:
    with pytest.raises(InvalidInputError):
        queue.send(body, group=group, dedupe_key=dedupe_key)
    assert queue.receive() is None


def test_the_largest_names_and_body_go_through(queue: Queue) -> None:
    name = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~".ljust(128, "z")

    queue.send("x" * 65_536, group=name, dedupe_key=name)

    message = take(queue)
    assert (message.group, len(message.body)) == (name, 65_536)


# What only a clock of our own can show; SQS keeps its own time.


def test_an_unfinished_message_comes_back_after_its_time(
    database: SqliteDatabase, clock: StillClock
) -> None:
    queue = SqliteQueue(database, "q", now=clock, visibility=60)
    queue.send("1", group="g")
    late = take(queue)
    clock.move(59)
    assert queue.receive() is None
    clock.move(1)

    queue.done(late)
    again = take(queue)
    assert again.receives == 2
    queue.done(late)
    queue.done(again)
    assert queue.depth() == Depth(0, 0, 0)


def test_a_worker_that_needs_more_time_keeps_its_message(
    database: SqliteDatabase, clock: StillClock
) -> None:
    queue = SqliteQueue(database, "q", now=clock, visibility=60)
    queue.send("1", group="g")
    message = take(queue)
    for _ in range(5):
        clock.move(59)
        queue.postpone(message, 60)

    assert queue.receive() is None
    queue.done(message)
    assert queue.depth() == Depth(0, 0, 0)


def test_a_repeat_counts_for_five_minutes_within_its_group_and_queue(
    database: SqliteDatabase, clock: StillClock
) -> None:
    queue = SqliteQueue(database, "q", now=clock)
    other = SqliteQueue(database, "other", now=clock)
    first = queue.send("1", group="g", dedupe_key="r")
    clock.move(299)
    assert queue.send("2", group="g", dedupe_key="r") == first
    queue.send("3", group="h", dedupe_key="r")
    other.send("4", group="g", dedupe_key="r")
    clock.move(1)
    queue.send("5", group="g", dedupe_key="r")

    assert (drain(queue), drain(other)) == (["1", "3", "5"], ["4"])


def test_dead_messages_are_forgotten_once_two_weeks_have_certainly_passed(
    database: SqliteDatabase, clock: StillClock
) -> None:
    queue = SqliteQueue(database, "q", now=clock, max_receives=1)
    table = SqliteTable(database, now=clock)

    def bury(body: str) -> int:
        queue.send(body, group="g")
        queue.postpone(take(queue), 0)
        assert queue.receive() is None
        return queue.depth().dead

    def run(days: int) -> None:
        for _ in range(days):
            clock.move(86_400)
            table.purge()

    bury("old")
    run(20)
    assert bury("new") == 2
    run(80)
    assert bury("newest") == 1


def test_messages_survive_their_process(tmp_path: object, clock: StillClock) -> None:
    path = f"{tmp_path}/nacre.db"
    first = SqliteDatabase(path)
    SqliteQueue(first, "q", now=clock).send("1", group="g")
    first.close()

    second = SqliteDatabase(path)
    assert drain(SqliteQueue(second, "q", now=clock)) == ["1"]
    second.close()


def test_a_queue_that_is_not_there_is_named() -> None:
    with aws_stack() as stack:
        url = stack.ids["PatrolQueue"].replace("patrol.fifo", "missing.fifo")

        with pytest.raises(ConfigurationError, match=r"nacre-test-missing\.fifo does not exist"):
            SqsQueue(stack.sqs, url, dead_letter_url=url).receive()


# A clock that is set back or forward: by hand, after a sleep, by a time server.


@pytest.mark.parametrize("hours", [-24 * 100, -5, 0, 5, 24 * 100])
def test_a_message_is_received_although_the_clock_was_set(
    database: SqliteDatabase, clock: StillClock, hours: int
) -> None:
    queue = SqliteQueue(database, "q", now=clock)
    queue.send("before", group="g")
    clock.move(3600 * hours)
    queue.send("after", group="h")

    assert queue.depth() == Depth(waiting=2, in_flight=0, dead=0)
    assert drain(queue) == ["before", "after"]


@pytest.mark.parametrize("hours", [-24 * 100, -5, 5, 24 * 100])
def test_a_message_in_flight_comes_back_although_the_clock_was_set(
    database: SqliteDatabase, clock: StillClock, hours: int
) -> None:
    queue = SqliteQueue(database, "q", now=clock, visibility=60)
    queue.send("1", group="g")
    take(queue)
    clock.move(3600 * hours)

    assert queue.depth() == Depth(waiting=1, in_flight=0, dead=0)
    assert take(queue).receives == 2


def test_a_postponed_message_comes_back_although_the_clock_was_set_back(
    database: SqliteDatabase, clock: StillClock
) -> None:
    queue = SqliteQueue(database, "q", now=clock, visibility=60)
    queue.send("1", group="g")
    queue.postpone(take(queue), 86_400)
    clock.move(-3600)

    assert take(queue).receives == 2


def test_a_worker_is_done_although_the_clock_was_set_back_meanwhile(
    database: SqliteDatabase, clock: StillClock
) -> None:
    queue = SqliteQueue(database, "q", now=clock, visibility=60)
    for body in ("1", "2"):
        queue.send(body, group=body)
    first, second = take(queue), take(queue)
    clock.move(-3600)
    queue.done(first)
    queue.postpone(second, 30)

    assert queue.receive() is None
    clock.move(30)
    assert drain(queue) == ["2"]


def test_a_clock_that_is_a_little_behind_takes_no_message_in_flight(
    database: SqliteDatabase, clock: StillClock
) -> None:
    queue = SqliteQueue(database, "q", now=clock, visibility=60)
    queue.send("1", group="g")
    take(queue)
    clock.move(-CLOCK_TOLERANCE_SECONDS)

    assert queue.receive() is None
    clock.move(60 + CLOCK_TOLERANCE_SECONDS)
    assert take(queue).receives == 2


def test_a_repeat_is_forgotten_when_the_clock_was_set_back(
    database: SqliteDatabase, clock: StillClock
) -> None:
    queue = SqliteQueue(database, "q", now=clock)
    queue.send("1", group="g", dedupe_key="r")
    clock.move(-3600)
    queue.send("2", group="g", dedupe_key="r")
    queue.send("3", group="g", dedupe_key="r")

    assert drain(queue) == ["1", "2"]


def test_a_pause_lasts_no_longer_than_a_delivery(
    database: SqliteDatabase, clock: StillClock
) -> None:
    queue = SqliteQueue(database, "q", now=clock, visibility=60)
    queue.send("1", group="g")
    queue.postpone(take(queue), 3600)
    clock.move(59)
    assert queue.receive() is None
    clock.move(1)

    assert take(queue).receives == 2


def test_a_worker_that_waited_for_the_store_takes_no_message_of_another(
    clock: StillClock, tmp_path: Path
) -> None:
    class Waiting(SqliteDatabase):
        @contextmanager
        def write(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
            clock.move(3600)
            other = take(SqliteQueue(first, "q", now=clock, visibility=60))
            assert other.body == "1"
            with super().write(durable=durable) as connection:
                yield connection

    with (
        closing(SqliteDatabase(tmp_path / "nacre.db")) as first,
        closing(Waiting(tmp_path / "nacre.db")) as second,
    ):
        SqliteQueue(first, "q", now=clock).send("1", group="g")

        assert SqliteQueue(second, "q", now=clock, visibility=60).receive() is None


class Names:
    """Processes by name; whoever is in `ended` is no more."""

    def __init__(self, me: str, ended: set[str]) -> None:
        self.me, self.ended = me, ended

    def is_gone(self, name: str) -> bool:
        return name in self.ended


def test_what_a_process_had_that_was_killed_comes_at_once_to_the_next(
    database: SqliteDatabase, clock: StillClock
) -> None:
    ended: set[str] = set()
    first = SqliteQueue(database, "q", now=clock, holders=Names("first", ended))
    next_one = SqliteQueue(database, "q", now=clock, holders=Names("next", ended))
    unaware = SqliteQueue(database, "q", now=clock)
    for body in ("1", "2"):
        first.send(body, group="g")
    lost = take(first)

    assert next_one.receive() is None  # its holder may be at it
    ended.add("first")
    assert unaware.receive() is None
    found = take(next_one)
    assert (found.body, found.receives) == ("1", 2)
    first.done(lost)  # too late
    assert next_one.receive() is None
    next_one.done(found)
    assert drain(next_one) == ["2"]


def test_a_job_that_kills_each_process_is_given_up(
    database: SqliteDatabase, clock: StillClock
) -> None:
    ended: set[str] = set()
    for number in range(3):
        queue = SqliteQueue(database, "q", now=clock, holders=Names(f"p{number}", ended))
        if number == 0:
            queue.send("deadly", group="g")
        assert take(queue).receives == number + 1
        ended.add(f"p{number}")

    assert SqliteQueue(database, "q", now=clock, holders=Names("p3", ended)).receive() is None
    assert queue.depth() == Depth(waiting=0, in_flight=0, dead=1)
