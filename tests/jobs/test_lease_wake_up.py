"""On AWS: a message that waits for a long holder comes back when the holder has finished."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import pytest

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.aws.sqs_queue import SqsQueue
from nacre.core.errors import UnavailableError
from nacre.core.limits import JOB_SECONDS
from nacre.core.logs import Log
from nacre.faces.aws_lambda.patrol_worker import worker_handler
from nacre.jobs.job import Job, encode_job
from nacre.jobs.lease import Leases
from nacre.jobs.worker import Worker
from nacre.ports.items.table import Key
from nacre.ports.queue import Message
from tests.adapters.conftest import StillClock
from tests.scaffolding.aws_stack import Stack, aws_stack

KEY = Key("B#b1", "LOCK#PATROL")


@dataclass
class Place:
    """A queue and a table of AWS, and the worker's function before them."""

    stack: Stack
    clock: StillClock
    queue: SqsQueue
    begun: list[str] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)

    @property
    def table(self) -> DynamoTable:
        return DynamoTable(self.stack.dynamodb, self.stack.ids["DataTable"], now=self.clock)

    def leases(self) -> Leases:
        return Leases(self.table, now=self.clock, wake=self.wake)

    def wake(self, receipt: str) -> None:
        self.queue.wake(receipt)

    def worker(self) -> Worker:
        worker = Worker(self.leases())
        worker.register("patrol", lambda work: self.begun.append(work.job.kind), lease="PATROL")
        return worker

    def deliver(self) -> list[Any]:
        """Hand the function the message that is visible now, as AWS does; return what failed."""
        message = self.queue.receive()
        assert message is not None
        event = {"Records": [record(message)]}
        handler = worker_handler(
            self.worker, self.queue.postpone, Log(stream=StringIO()), sleep=self.slept.append
        )
        failed = handler(event, None)["batchItemFailures"]
        if not failed:
            self.queue.done(message)
        return list(failed)


def record(message: Message) -> dict[str, Any]:
    attributes = {
        "MessageGroupId": message.group,
        "ApproximateReceiveCount": str(message.receives),
    }
    return {
        "messageId": message.id,
        "receiptHandle": message.receipt,
        "body": message.body,
        "attributes": attributes,
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-central-1:1:q.fifo",
    }


@pytest.fixture
def place() -> Iterator[Place]:
    with aws_stack() as stack:
        queue = SqsQueue(
            stack.sqs, stack.ids["PatrolQueue"], dead_letter_url=stack.ids["PatrolDeadLetterQueue"]
        )
        yield Place(stack, StillClock(), queue)


def waiting(place: Place) -> None:
    """Let a message meet a holder that is at work for longer than the function waits."""
    place.queue.send(encode_job(Job("patrol", "b1")), group="b1")
    assert place.deliver()
    assert place.begun == []
    assert place.queue.receive() is None  # hidden for as long as the holder may have the lease


def test_the_holder_wakes_the_message_that_waits_for_it(place: Place) -> None:
    leases = place.leases()
    lease = leases.take(KEY)
    waiting(place)

    leases.give_back(lease)

    assert place.deliver() == []
    assert place.begun == ["patrol"]


def test_so_does_a_worker_that_did_the_long_job(place: Place) -> None:
    long = Worker(place.leases())
    long.register("patrol", lambda _work: waiting(place), lease="PATROL")
    long.run(Message("m", "other", encode_job(Job("patrol", "b1")), 1, "r"))

    assert place.deliver() == []
    assert place.begun == ["patrol"]


def test_nothing_is_woken_twice_and_nobody_pays_where_nobody_waits(place: Place) -> None:
    woken: list[str] = []
    leases = Leases(place.table, now=place.clock, wake=woken.append)
    lease = leases.take(KEY)
    waiting(place)
    leases.give_back(lease)
    for _ in range(2):
        leases.give_back(leases.take(KEY))

    assert len(woken) == 1


def test_several_waiters_are_woken_one_by_one_in_their_order(place: Place) -> None:
    woken: list[str] = []

    def wake(waiter: str) -> None:
        if waiter == "gone":
            raise UnavailableError("the message has come back already")
        woken.append(waiter)

    leases = Leases(place.table, now=place.clock, wake=wake)
    lease = leases.take(KEY)
    assert all(leases.wait(KEY, waiter) for waiter in ("first", "gone", "second"))
    for expected in (["first"], ["first", "second"], ["first", "second"]):
        leases.give_back(lease)
        assert woken == expected
        lease = leases.take(KEY)

    assert all(leases.wait(KEY, str(number)) for number in range(12))
    leases.give_back(lease)
    assert woken[-1] == "2"  # of many, the newest are kept


def test_a_message_whose_holder_has_just_finished_comes_back_at_once(place: Place) -> None:
    leases = place.leases()
    lease = leases.take(KEY)
    leases.give_back(lease)

    assert not leases.wait(KEY, "receipt")
    assert not place.worker().wait(Message("m", "b1", encode_job(Job("patrol", "b1")), 1, "r"))


def test_a_holder_that_died_wakes_nobody_and_its_time_bounds_the_wait(place: Place) -> None:
    place.leases().take(KEY)
    shown: list[float] = []
    place.queue.send(encode_job(Job("patrol", "b1")), group="b1")
    message = place.queue.receive()
    assert message is not None
    handler = worker_handler(
        place.worker,
        lambda _message, seconds: shown.append(seconds),
        Log(stream=StringIO()),
        sleep=lambda _: None,
    )
    assert handler({"Records": [record(message)]}, None)["batchItemFailures"]
    assert shown == [JOB_SECONDS]

    place.clock.move(JOB_SECONDS + 1)
    assert handler({"Records": [record(message)]}, None)["batchItemFailures"] == []
    assert place.begun == ["patrol"]


def test_a_queue_that_cannot_be_reached_does_not_fail_the_holders_work(place: Place) -> None:
    def broken(_receipt: str) -> None:
        raise UnavailableError("the queue does not answer")

    leases = Leases(place.table, now=place.clock, wake=broken)
    lease = leases.take(KEY)
    waiting(place)
    leases.give_back(lease)

    assert leases.take(KEY).fence == lease.fence + 1
