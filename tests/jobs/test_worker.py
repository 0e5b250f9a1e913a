"""Jobs by kind, in the laptop's loop and behind the Lambda face."""

import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from hypothesis import given
from hypothesis import strategies as st

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.errors import LeaseLostError, NewerSchemaError, UnavailableError
from nacre.core.limits import (
    JOB_RETRY_SECONDS,
    LEASE_LONGEST_LOOK_SECONDS,
    LEASE_LOOK_SECONDS,
    LEASE_WAIT_SECONDS,
    NEWER_JOB_RETRY_SECONDS,
)
from nacre.core.logs import Log
from nacre.faces.aws_lambda.patrol_worker import message_of, worker_handler
from nacre.jobs.job import Job, UnknownJobError, decode_job, encode_job
from nacre.jobs.lease import Leases
from nacre.jobs.loop import Outcome, WorkerLoop
from nacre.jobs.notifying_queue import AnnouncingQueue, JobSignal
from nacre.jobs.worker import Work, Worker
from nacre.ports.items.table import Key
from nacre.ports.queue import Depth, Message
from tests.adapters.conftest import StillClock


class Shop:
    """A worker with its queue, and what it did."""

    def __init__(self, database: SqliteDatabase) -> None:
        self.clock = StillClock()
        self.queue = SqliteQueue(database, "patrol", now=self.clock, visibility=300)
        self.leases = Leases(
            SqliteTable(database, now=self.clock),
            now=self.clock,
            duration=timedelta(seconds=300),
        )
        self.worker = Worker(self.leases)
        self.seen: list[Work] = []
        self.outcomes: list[Outcome] = []
        self.postponed: list[tuple[str, float]] = []
        self.worker.register("note", self.seen.append)
        self.worker.register("patrol", self.seen.append, lease="PATROL")
        self.worker.register("fail", self.fail)

    def fail(self, work: Work) -> None:
        self.seen.append(work)
        raise ValueError("a private thought")

    def postpone(self, message: Message, seconds: float) -> None:
        self.postponed.append((message.receipt, seconds))

    def send(self, job: Job, group: str = "g") -> str:
        return self.queue.send(encode_job(job), group=group)

    def loop(self, **options: Any) -> WorkerLoop:
        return WorkerLoop(self.queue, self.worker, self.outcomes.append, **options)

    def results(self) -> list[tuple[str, str | None]]:
        return [(outcome.result, outcome.error) for outcome in self.outcomes]


@pytest.fixture
def shop() -> Iterator[Shop]:
    database = SqliteDatabase(":memory:")
    yield Shop(database)
    database.close()


names = st.text(max_size=10)


@given(st.builds(Job, names, st.none() | names, st.dictionaries(names, names, max_size=3)))
def test_a_job_survives_its_message(job: Job) -> None:
    assert decode_job(encode_job(job)) == job


def test_the_schedules_short_message_is_a_job() -> None:
    assert decode_job('{"kind": "sweep"}') == Job("sweep")


@pytest.mark.parametrize(
    "body",
    ["", "x", "[]", "null", "{}", '{"kind": 5}', '{"kind": "a", "being_id": 1}',
     '{"kind": "a", "refs": []}', '{"kind": "a", "refs": {"x": 1}}'],
)  # fmt: skip
def test_a_body_that_is_no_job_is_refused(body: str) -> None:
    with pytest.raises(UnknownJobError, match="a message of the queue is not"):
        decode_job(body)


def test_a_job_of_a_newer_version_says_so() -> None:
    with pytest.raises(UnknownJobError, match="a job has version 2, and this version of nacre"):
        decode_job('{"version": 2, "kind": "a"}')


def test_a_handler_gets_its_job(shop: Shop) -> None:
    job = Job("note", "b1", {"run": "r1"})
    shop.send(job)

    assert shop.loop().run_next()
    assert not shop.loop().run_next()

    [work] = shop.seen
    assert (work.job, work.attempt, work.lease) == (job, 1, None)
    assert shop.results() == [("done", None)]
    assert shop.queue.depth() == Depth(0, 0, 0)


def test_a_kind_is_registered_once(shop: Shop) -> None:
    with pytest.raises(ValueError, match="'note' is registered twice"):
        shop.worker.register("note", shop.seen.append)
    assert shop.worker.kinds == ("fail", "note", "patrol")


def test_a_job_runs_under_its_beings_lease_and_gives_it_back(shop: Shop) -> None:
    shop.send(Job("patrol", "b1"))

    shop.loop().run_next()

    [work] = shop.seen
    assert work.lease is not None
    assert work.lease.key == Key("B#b1", "LOCK#PATROL")
    assert shop.leases.take(work.lease.key).fence == 2


def test_a_job_whose_lease_is_held_begins_seconds_after_its_end(shop: Shop) -> None:
    lease = shop.leases.take(Key("B#b1", "LOCK#PATROL"))
    shop.send(Job("patrol", "b1"))
    loop = shop.loop()
    shop.clock.move(100)

    for _ in range(20):  # far more looks than deliveries that a message has
        assert loop.run_next()
        assert not loop.run_next()  # no hot loop
        shop.clock.move(LEASE_LOOK_SECONDS)
    assert shop.results() == [
        ("busy", "LeaseHeldError: LOCK#PATROL is held by someone else for up to 200 s")
    ]
    shop.leases.give_back(lease)
    loop.run_next()

    assert [work.attempt for work in shop.seen] == [1]
    assert shop.results()[1:] == [("done", None)]


def test_a_job_that_was_busy_still_dies_when_it_fails_three_times(shop: Shop) -> None:
    lease = shop.leases.take(Key("B#b1", "LOCK#FAIL"))
    shop.worker.register("leased", shop.fail, lease="FAIL")
    shop.send(Job("leased", "b1"))
    loop = shop.loop(retry_seconds=1)
    for _ in range(5):
        loop.run_next()
        shop.clock.move(LEASE_LOOK_SECONDS)
    shop.leases.give_back(lease)
    for _ in range(5):
        loop.run_next()
        shop.clock.move(LEASE_LOOK_SECONDS)

    assert [work.attempt for work in shop.seen] == [1, 2, 3]
    assert shop.queue.depth() == Depth(0, 0, 1)


def test_a_long_job_keeps_its_lease_and_its_message(shop: Shop) -> None:
    def long_job(work: Work) -> None:
        for _ in range(4):
            shop.clock.move(299)
            work.keep()
            assert shop.queue.receive() is None

    shop.worker.register("long", long_job, lease="LONG")
    shop.send(Job("long", "b1"))
    shop.loop().run_next()

    assert shop.results() == [("done", None)]
    assert shop.queue.depth() == Depth(0, 0, 0)


def test_a_job_that_lost_its_lease_stops_and_is_tried_again(shop: Shop) -> None:
    def slow_job(work: Work) -> None:
        shop.clock.move(301)
        if work.attempt == 1:
            assert work.lease is not None
            shop.leases.give_back(shop.leases.take(work.lease.key))
            with pytest.raises(LeaseLostError):
                work.keep()
            work.keep()

    shop.worker.register("slow", slow_job, lease="SLOW")
    shop.send(Job("slow", "b1"))

    shop.loop().run_next()

    assert shop.outcomes[-1].result == "failed"
    assert shop.queue.depth().dead == 0


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (encode_job(Job("fail")), "ValueError"),
        (
            encode_job(Job("unheard", "b1")),
            "NewerJobError: no handler for jobs of kind 'unheard'",
        ),
        (encode_job(Job("patrol")), "UnknownJobError: a job of kind 'patrol' names no Being"),
        ("nonsense", "UnknownJobError: a message of the queue is not JSON"),
    ],
    ids=["failing", "unknown kind", "no being", "no job"],
)
def test_poison_is_set_aside_and_blocks_no_other_group(shop: Shop, body: str, error: str) -> None:
    shop.queue.send(body, group="poison")
    shop.send(Job("note", "behind"), group="poison")
    shop.send(Job("note", "b1"), group="other")
    loop = shop.loop()
    for _ in range(4):
        while loop.run_next():
            pass
        shop.clock.move(10)

    notes = [work.job.being_id for work in shop.seen if work.job.kind == "note"]
    assert notes == ["b1", "behind"]
    assert shop.queue.depth() == Depth(waiting=0, in_flight=0, dead=1)
    failures = [outcome for outcome in shop.outcomes if outcome.result == "failed"]
    assert [outcome.attempt for outcome in failures] == [1, 2, 3]
    assert all((outcome.error or "").startswith(error) for outcome in failures)


def test_an_outcome_does_not_quote_other_errors(shop: Shop) -> None:
    shop.send(Job("fail"))
    shop.loop().run_next()

    assert "private" not in repr(shop.outcomes)


def test_a_queue_that_does_not_answer_is_reported_and_tried_again(shop: Shop) -> None:
    class Broken(SqliteQueue):
        def receive(self) -> Message | None:
            raise UnavailableError("the disk is full")

    with closing(SqliteDatabase(":memory:")) as database:
        loop = WorkerLoop(Broken(database, "q"), shop.worker, shop.outcomes.append)
        assert not loop.run_next()

    assert shop.results() == [("queue unavailable", "UnavailableError: the disk is full")]


def test_threads_work_side_by_side_and_stop_cleanly(shop: Shop) -> None:
    together = threading.Barrier(2, timeout=60)

    def meet(_: Work) -> None:
        together.wait()

    shop.worker.register("meet", meet)
    shop.send(Job("meet"), group="a")
    shop.send(Job("meet"), group="b")
    finished = threading.Semaphore(0)
    outcomes: list[Outcome] = []

    def report(outcome: Outcome) -> None:
        outcomes.append(outcome)
        finished.release()

    loop = WorkerLoop(shop.queue, shop.worker, report, threads=2, idle_seconds=60)
    loop.start()
    assert finished.acquire(timeout=60)
    assert finished.acquire(timeout=60)
    shop.send(Job("note"), group="c")
    loop.wake()
    assert finished.acquire(timeout=60)

    assert loop.stop(60)
    assert [outcome.result for outcome in outcomes] == ["done"] * 3


def test_the_loop_sweeps_when_it_begins_and_then_when_it_is_time(shop: Shop) -> None:
    swept = threading.Semaphore(0)
    loop = shop.loop(sweep=swept.release, sweep_seconds=0.01, idle_seconds=0.01)
    loop.start()

    assert all(swept.acquire(timeout=60) for _ in range(3))
    assert loop.stop(60)


def test_a_sweep_that_fails_ends_no_worker_and_tells_no_content(shop: Shop) -> None:
    told = threading.Semaphore(0)

    def sweep() -> None:
        raise ValueError("a private thought")

    def report(outcome: Outcome) -> None:
        shop.outcomes.append(outcome)
        told.release()

    loop = WorkerLoop(shop.queue, shop.worker, report, sweep=sweep)
    loop.start()
    assert told.acquire(timeout=60)
    shop.send(Job("note"))
    loop.wake()
    assert told.acquire(timeout=60)
    assert loop.stop(60)

    assert [(each.group, each.result, each.error) for each in shop.outcomes] == [
        ("sweep", "failed", "ValueError"), ("g", "done", None)
    ]  # fmt: skip


def test_a_queue_that_announces_rings_for_each_message_that_was_sent(shop: Shop) -> None:
    rung: list[int] = []
    signal = JobSignal()
    queue = AnnouncingQueue(shop.queue, signal)
    queue.send("unheard", group="g")
    signal.on_job = lambda: rung.append(queue.depth().waiting)
    queue.send("heard", group="g")
    message = queue.receive()

    assert rung == [2]
    assert message is not None
    assert message.body == "unheard"
    queue.done(message)
    assert shop.queue.depth() == Depth(1, 0, 0)


def test_stopping_waits_for_the_job_that_runs(shop: Shop) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def job(_: Work) -> None:
        begun.set()
        assert go_on.wait(60)

    shop.worker.register("wait", job)
    shop.send(Job("wait"))
    loop = shop.loop(threads=1)
    loop.start()
    assert begun.wait(60)

    assert not loop.stop(0.01)
    go_on.set()
    assert loop.stop(60)
    assert shop.queue.depth() == Depth(0, 0, 0)


# The Lambda face


def record(number: int, group: str, body: str, attempt: int = 1) -> dict[str, Any]:
    """Return one record as SQS sends it through an event source mapping."""
    return {
        "messageId": f"m{number}",
        "receiptHandle": f"receipt-{number}",
        "body": body,
        "attributes": {
            "ApproximateReceiveCount": str(attempt),
            "SentTimestamp": "1573251510774",
            "SequenceNumber": "18849496460467696128",
            "MessageGroupId": group,
            "SenderId": "AIDAIO23YVJENQZJOL4VO",
            "MessageDeduplicationId": "1",
            "ApproximateFirstReceiveTimestamp": "1573251510774",
        },
        "messageAttributes": {},
        "md5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-2:123456789012:fifo.fifo",
        "awsRegion": "us-east-2",
    }


def test_a_record_becomes_a_message() -> None:
    assert message_of(SQSRecord(record(1, "b1#order", "body", attempt=2))) == Message(
        id="m1", group="b1#order", body="body", receives=2, receipt="receipt-1"
    )


def answer(
    shop: Shop, records: list[dict[str, Any]], *, sleep: Callable[[float], None] = time.sleep
) -> tuple[list[str], list[dict[str, Any]]]:
    stream = io.StringIO()
    handle = worker_handler(lambda: shop.worker, shop.postpone, Log(stream=stream), sleep=sleep)
    failures = handle({"Records": records}, None)["batchItemFailures"]
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    return [failure["itemIdentifier"] for failure in failures], lines


def test_after_a_groups_first_failure_its_rest_is_returned_unhandled(shop: Shop) -> None:
    good, bad = encode_job(Job("note")), encode_job(Job("fail"))
    failed, lines = answer(
        shop,
        [
            record(1, "a", good),
            record(2, "a", bad),
            record(3, "b", good),
            record(4, "a", good),
            record(5, "b", "nonsense"),
            record(6, "c", good),
            record(7, "b", good),
        ],
    )

    assert failed == ["m2", "m4", "m5", "m7"]
    assert [(line["event"], line["message"]) for line in lines] == [
        ("job_done", "m1"), ("job_failed", "m2"), ("job_done", "m3"), ("job_failed", "m5"),
        ("job_done", "m6"),
    ]  # fmt: skip
    assert "private" not in str(lines)


def test_a_batch_without_failures_is_all_done(shop: Shop) -> None:
    assert answer(shop, [record(1, "a", encode_job(Job("note")))])[0] == []


def test_an_event_without_messages_is_a_sign_of_life() -> None:
    def no_worker() -> Worker:
        raise AssertionError("nothing to work on")

    def no_postponing(_message: Message, _seconds: float) -> None:
        raise AssertionError("nothing to postpone")

    reply: Callable[..., dict[str, Any]] = worker_handler(no_worker, no_postponing, Log())
    assert reply({}, None)["status"] == "ok"


def test_a_failed_message_comes_back_before_its_long_delivery_is_over(shop: Shop) -> None:
    failed, _ = answer(
        shop, [record(1, "a", encode_job(Job("fail"))), record(2, "b", encode_job(Job("note")))]
    )

    assert failed == ["m1"]
    assert shop.postponed == [("receipt-1", JOB_RETRY_SECONDS)]


@pytest.mark.parametrize(
    "body",
    [
        encode_job(Job("of the next version", "b1")),
        json.dumps({"version": 2, "kind": "note"}),
        encode_job(Job("read a newer item")),
    ],
    ids=["kind", "version", "item"],
)
def test_what_only_a_newer_version_reads_waits_for_it(shop: Shop, body: str) -> None:
    def read_item(_work: Work) -> None:
        raise NewerSchemaError("the item SCENE#1", version=2, newest=1)

    shop.worker.register("read a newer item", read_item)
    failed, _ = answer(shop, [record(1, "a", body)])

    assert failed == ["m1"]
    assert shop.postponed == [("receipt-1", NEWER_JOB_RETRY_SECONDS)]


def test_on_aws_a_job_whose_being_is_at_work_begins_seconds_after_its_end(shop: Shop) -> None:
    lease = shop.leases.take(Key("B#b1", "LOCK#PATROL"))
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        shop.clock.move(seconds)
        if sum(pauses) > 30:
            shop.leases.give_back(lease)

    failed, lines = answer(shop, [record(1, "b1", encode_job(Job("patrol", "b1")))], sleep=sleep)

    assert failed == []
    assert [line["event"] for line in lines] == ["job_done"]
    assert sum(pauses) < 30 + LEASE_LONGEST_LOOK_SECONDS
    assert max(pauses) <= LEASE_LONGEST_LOOK_SECONDS
    assert len(pauses) < 12


def test_on_aws_a_wait_for_a_lease_has_an_end(shop: Shop) -> None:
    lease = shop.leases.take(Key("B#b1", "LOCK#PATROL"))
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        shop.clock.move(seconds)
        shop.leases.renew(lease)

    failed, lines = answer(shop, [record(1, "b1", encode_job(Job("patrol", "b1")))], sleep=sleep)

    assert failed == ["m1"]
    assert shop.postponed == [("receipt-1", 300.0)]
    assert [(line["level"], line["event"]) for line in lines] == [("info", "job_busy")]
    assert sum(waited) <= LEASE_WAIT_SECONDS


class Invocation:
    """What Lambda tells a function of its time."""

    def get_remaining_time_in_millis(self) -> int:
        return 900_000


def test_a_message_whose_function_is_stopped_comes_back_soon_after(shop: Shop) -> None:
    handle = worker_handler(lambda: shop.worker, shop.postpone, Log(stream=io.StringIO()))
    good, bad = record(1, "a", encode_job(Job("note"))), record(2, "a", encode_job(Job("fail")))
    handle({"Records": [good]}, Invocation())
    assert shop.postponed == [("receipt-1", 930.0)]

    handle({"Records": [bad]}, Invocation())
    assert shop.postponed[1:] == [("receipt-2", 930.0), ("receipt-2", JOB_RETRY_SECONDS)]


def test_a_queue_that_is_down_fails_no_other_message(shop: Shop) -> None:
    def no_queue(_message: Message, _seconds: float) -> None:
        raise UnavailableError("the queue cannot answer")

    handle = worker_handler(lambda: shop.worker, no_queue, Log(stream=io.StringIO()))
    records = [record(1, "a", encode_job(Job("fail"))), record(2, "b", encode_job(Job("note")))]

    assert handle({"Records": records}, None) == {"batchItemFailures": [{"itemIdentifier": "m1"}]}


def test_a_second_event_starts_anew(shop: Shop) -> None:
    handle = worker_handler(lambda: shop.worker, shop.postpone, Log(stream=io.StringIO()))
    bad, good = record(1, "a", encode_job(Job("fail"))), record(2, "a", encode_job(Job("note")))

    assert handle({"Records": [bad]}, None)["batchItemFailures"] == [{"itemIdentifier": "m1"}]
    assert handle({"Records": [good]}, None) == {"batchItemFailures": []}


def test_nothing_of_a_failure_is_printed(
    shop: Shop, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level("DEBUG"):
        answer(shop, [record(1, "a", encode_job(Job("fail")))])

    assert "private" not in caplog.text + "".join(capfd.readouterr())
