"""The command `nacre dlq`, on the laptop's queue and on a stack's."""

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import boto3
import pytest

from nacre.adapters.aws import sqs_queue
from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.adapters.aws.sqs_queue import SqsQueue
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.clock import system_clock
from nacre.core.errors import UnavailableError
from nacre.jobs.job import Job, encode_job
from nacre.jobs.lease import Leases
from nacre.jobs.loop import WorkerLoop
from nacre.jobs.worker import Work, Worker
from nacre.ports.items.table import Table
from nacre.ports.queue import Depth, Queue
from nacre.wiring.data_folder import DATABASE
from nacre.wiring.laptop import QUEUE
from tests.cli.conftest import Nacre
from tests.scaffolding.aws_stack import REGION
from tests.wiring.deployed import deployed, outputs_of

PRIVATE = "the diary says"


@dataclass(frozen=True)
class Place:
    """A queue and a table, and the options that name where they are."""

    options: list[str]
    queue: Queue
    table: Table

    def give_up(self, body: str, group: str) -> None:
        self.queue.send(body, group=group)
        for _ in range(3):
            message = self.queue.receive()
            assert message is not None
            self.queue.postpone(message, 0)
        assert self.queue.receive() is None

    def drain(self) -> list[str]:
        bodies = []
        while (message := self.queue.receive()) is not None:
            bodies.append(message.body)
            self.queue.done(message)
        return bodies


@pytest.fixture(params=["laptop", "stack"])
def place(
    request: pytest.FixtureRequest, folder: Path, nacre: Nacre, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    if request.param == "laptop":
        nacre("owner", "list")  # makes the folder
        with closing(SqliteDatabase(folder / DATABASE)) as database:
            yield Place([], SqliteQueue(database, QUEUE), SqliteTable(database))
        return
    monkeypatch.setattr(sqs_queue, "_WAIT_SECONDS", 0)
    with deployed(monkeypatch) as stack:
        session = boto3.Session(region_name=REGION)
        outputs = outputs_of(stack)
        queue = SqsQueue(
            session.client("sqs"),
            outputs["QueueUrl"],
            dead_letter_url=outputs["DeadLetterQueueUrl"],
        )
        table = DynamoTable(session.client("dynamodb"), outputs["DataTableName"])
        yield Place(["--stack", stack], queue, table)


def job(being_id: str, kind: str = "patrol") -> str:
    return encode_job(Job(kind, being_id))


def test_what_was_given_up_is_shown_by_its_ids_alone(nacre: Nacre, place: Place) -> None:
    place.give_up(job("b1"), "b1")
    place.give_up(f'{{"{PRIVATE}": 1, "kind": ["{PRIVATE}"]}}', "b2")
    place.give_up(f'{{"kind": "{PRIVATE}", "being_id": "b3"}}', "b3")
    place.give_up(f'{{"kind": "patrol", "version": "{PRIVATE}"}}', "b4")
    place.give_up("[" * 60_000, "b5")

    shown = nacre("dlq", "show", "--json", *place.options)
    facts = {fact["group"]: fact for fact in shown.json()}
    table = nacre("dlq", "show", *place.options)

    died_at = facts["b1"].pop("died_at")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", died_at)
    assert facts["b1"] == {
        "id": facts["b1"]["id"],
        "kind": "patrol",
        "being_id": "b1",
        "group": "b1",
        "tried": 3,
        "why": None,
    }
    assert {group: (fact["kind"], fact["why"]) for group, fact in facts.items()} == {
        "b1": ("patrol", None),
        "b2": (None, "a message of the queue is not a job"),
        "b3": ("?", None),
        "b4": (None, "a message of the queue is not a job"),
        "b5": (None, "a message of the queue is not JSON"),
    }
    assert f"{facts['b1']['id']}  patrol  b1     {died_at}  3      -\n" in table.out
    for written in (shown.out, shown.err, table.out, table.err):
        assert PRIVATE not in written
    assert place.queue.depth() == Depth(0, 0, dead=5)


def test_where_nothing_was_given_up_that_is_said(nacre: Nacre, place: Place) -> None:
    shown = nacre("dlq", "show", *place.options)
    queued = nacre("dlq", "redrive", *place.options)

    assert (shown.code, shown.out, shown.err) == (0, "", "There are no failed jobs.\n")
    assert nacre("dlq", "show", "--json", *place.options).json() == []
    assert (queued.code, queued.out, queued.err) == (0, "", "0 queued again, 0 left.\n")


def test_a_limit_says_how_many_are_not_shown(nacre: Nacre, place: Place) -> None:
    for number in range(3):
        place.give_up(job("b1", f"k{number}"), "b1")
    shown = nacre("dlq", "show", "--limit", "2", "--json", *place.options)

    assert [fact["kind"] for fact in shown.json()] == ["k0", "k1"]
    assert shown.err == "1 more not shown.\n"


def test_jobs_of_one_being_are_shown_and_queued_alone(nacre: Nacre, place: Place) -> None:
    made = nacre("being", "create", "Ann", "--json", *place.options).json()["being_id"]
    place.give_up("nonsense", "sweep")
    place.give_up(job(made), made)
    place.give_up(job("b2"), "b2")
    named = ["--being", "Ann", *place.options]

    shown = nacre("dlq", "show", "--json", *named)
    queued = nacre("dlq", "redrive", "--json", *named).json()

    assert [fact["being_id"] for fact in shown.json()] == [made]
    assert [fact["being_id"] for fact in queued["queued"]] == [made]
    assert place.drain() == [job(made)]
    assert place.queue.depth().dead == 2


def test_what_can_be_read_is_queued_and_the_rest_is_named_and_stays(
    nacre: Nacre, place: Place
) -> None:
    for body in (job("b1", "first"), "nonsense", job("b1", "second")):
        place.give_up(body, "b1")
    dry = nacre("dlq", "redrive", "--dry-run", *place.options)
    assert place.queue.depth() == Depth(0, 0, dead=3)
    done = nacre("dlq", "redrive", *place.options)

    assert place.drain() == [job("b1", "first"), job("b1", "second")]
    (stays,) = nacre("dlq", "show", "--json", *place.options).json()
    left = f"{stays['id']} is left: a message of the queue is not JSON; --all queues it too\n"
    assert (dry.code, dry.err) == (1, f"2 would be queued again, 1 left.\n{left}")
    assert (done.code, done.err) == (1, f"2 queued again, 1 left.\n{left}")
    assert [line.split()[1:] for line in done.out.splitlines()] == [
        ["first", "b1"],
        ["second", "b1"],
    ]

    everything = nacre("dlq", "redrive", "--all", "--json", *place.options)
    assert [fact["id"] for fact in everything.json()["queued"]] == [stays["id"]]
    assert place.drain() == ["nonsense"]
    assert place.queue.depth() == Depth(0, 0, 0)


def test_the_named_ones_are_queued_and_a_wrong_name_is_told(nacre: Nacre, place: Place) -> None:
    for kind in ("first", "second", "third"):
        place.give_up(job("b1", kind), "b1")
    facts = nacre("dlq", "show", "--json", *place.options).json()
    ids = {fact["kind"]: fact["id"] for fact in facts}

    done = nacre("dlq", "redrive", ids["third"], ids["second"], "nobody", *place.options)

    assert done.code == 3
    assert "error: there is no failed job nobody\n" in done.err
    assert place.drain() == [job("b1", "second"), job("b1", "third")]
    assert nacre("dlq", "redrive", ids["first"], *place.options).code == 0
    assert nacre("dlq", "redrive", ids["first"], *place.options).code == 3
    assert place.drain() == [job("b1", "first")]


def test_ids_and_all_exclude_each_other(nacre: Nacre) -> None:
    refused = nacre("dlq", "redrive", "x", "--all")

    assert (refused.code, "either IDs or --all" in refused.err) == (2, True)


def test_poison_goes_from_the_queue_to_the_dead_and_back_and_ends_done(
    nacre: Nacre, place: Place
) -> None:
    service_is_down = True
    done: list[str | None] = []

    def handle(work: Work) -> None:
        if service_is_down and work.job.being_id == "b1":
            raise UnavailableError("the service is down")
        done.append(work.job.being_id)

    worker = Worker(Leases(place.table, now=system_clock))
    worker.register("patrol", handle, lease="PATROL")
    results: list[str] = []
    loop = WorkerLoop(
        place.queue, worker, lambda outcome: results.append(outcome.result), retry_seconds=0
    )

    def work() -> None:
        while loop.run_next():
            pass

    place.queue.send(job("b1"), group="b1")
    place.queue.send(job("b2"), group="b2")
    work()
    assert (done, sorted(results)) == (["b2"], ["done", "failed", "failed", "failed"])
    (dead,) = nacre("dlq", "show", "--json", *place.options).json()
    assert (dead["being_id"], dead["tried"], dead["why"]) == ("b1", 3, None)

    nacre("dlq", "redrive", *place.options)
    work()  # the cause is still there, and so it dies again
    assert (done, place.queue.depth()) == (["b2"], Depth(0, 0, dead=1))

    service_is_down = False
    assert nacre("dlq", "redrive", *place.options).code == 0
    work()

    assert (done, results[-1]) == (["b2", "b1"], "done")
    assert place.queue.depth() == Depth(0, 0, 0)
