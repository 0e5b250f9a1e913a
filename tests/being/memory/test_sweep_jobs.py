"""The sweep as jobs: it pages, fans out and goes on, and an overload does not feed itself."""

from collections import Counter
from datetime import datetime, timedelta
from random import Random

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.memory.index.jobs import IndexJobs
from nacre.being.memory.index.marks import REPAIR_PARTITIONS, Marks
from nacre.being.memory.model import keys
from nacre.being.memory.sweep_jobs import SweepJobs, SweepTotals
from nacre.core.limits import QUEUE_BUSY, SWEEP_SHARD_SECONDS, SWEEP_SLICE_SECONDS
from nacre.jobs.job import SWEEP, Job, decode_job
from nacre.jobs.lease import Leases
from nacre.jobs.loop import Outcome, WorkerLoop
from nacre.jobs.worker import Work, Worker
from nacre.ports.items.table import Change, Value
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import keeper


class WorkingClock:
    """A clock that moves with each look, as the work between two looks takes time."""

    def __init__(self, clock: StillClock, seconds: float) -> None:
        self.clock = clock
        self.seconds = seconds

    def __call__(self) -> datetime:
        self.clock.move(self.seconds)
        return self.clock()


class Yard:
    """Beings with work, the sweep, and a worker that only ends the claims of patrols."""

    def __init__(
        self, database: SqliteDatabase, clock: StillClock, *, being_seconds: float
    ) -> None:
        table = SqliteTable(database, now=clock)
        self.queue = SqliteQueue(database, "jobs", now=clock)
        self.kept = keeper(table, self.queue, clock)
        self.beings = [self.kept.id]
        self.totals: list[SweepTotals] = []
        self.patrolled: Counter[str] = Counter()
        marks = Marks(table, clock=clock, rng=Random(3))
        self.sweep = SweepJobs(
            self.kept.memory.trigger,
            IndexJobs(table, self.queue, clock=clock),
            marks,
            self.queue,
            WorkingClock(clock, being_seconds),
            self.totals.append,
        )
        self.outcomes: list[Outcome] = []
        worker = Worker(Leases(table, now=clock))
        self.sweep.register(worker)
        worker.register("patrol", self._patrol)
        self.loop = WorkerLoop(self.queue, worker, self.outcomes.append)

    def grow(self, beings: int) -> None:
        for number in range(beings):
            self.beings.append(self.kept.another(f"Being {number}"))

    def note(self) -> None:
        for being_id in self.beings:
            work: dict[str, Value] = {
                "gsi1pk": keys.work(being_id),
                "gsi1sk": being_id,
                "pending_scenes": 1,
            }
            self.kept.table.update(keys.meta(being_id), Change(set=work))

    def _patrol(self, work: Work) -> None:
        being_id = work.job.being_id
        assert being_id is not None
        self.patrolled[being_id] += 1
        done = Change(
            set={"pending_scenes": 0}, remove=frozenset({"queued_at", "gsi1pk", "gsi1sk"})
        )
        self.kept.table.update(keys.meta(being_id), done)

    def schedule(self) -> None:
        self.queue.send('{"kind": "sweep"}', group="sweep")

    def work(self, jobs: int = 10_000) -> int:
        done = 0
        while done < jobs and self.loop.run_next():
            done += 1
        return done


@pytest.fixture
def database() -> SqliteDatabase:
    return SqliteDatabase(":memory:")


def test_a_few_beings_are_swept_in_one_job(database: SqliteDatabase, clock: StillClock) -> None:
    yard = Yard(database, clock, being_seconds=0.005)
    yard.grow(20)
    yard.note()
    yard.schedule()

    assert yard.work() == 1 + 21
    assert yard.patrolled == Counter(yard.beings)
    [total] = yard.totals
    assert (total.patrols.beings, total.patrols.sent) == (21, 21)


def test_with_many_each_shard_goes_on_in_jobs_of_its_own(
    database: SqliteDatabase, clock: StillClock
) -> None:
    yard = Yard(database, clock, being_seconds=SWEEP_SLICE_SECONDS * 0.6)
    yard.grow(60)
    yard.note()
    yard.schedule()
    yard.work(1)
    messages = []
    while (message := yard.queue.receive()) is not None:
        messages.append(message)
    shards = [decode_job(message.body).refs["shard"] for message in messages]
    for message in messages:
        yard.queue.postpone(message, 0)

    assert shards == [*REPAIR_PARTITIONS[1:], *keys.work_partitions()]
    assert [message.group for message in messages] == [f"sweep-{shard}" for shard in shards]
    yard.work()
    assert yard.patrolled == Counter(yard.beings)
    assert sum(total.patrols.sent for total in yard.totals) == 61
    assert {outcome.result for outcome in yard.outcomes} == {"done"}


def test_the_job_of_a_shard_goes_on_in_another_behind_its_last_being(
    database: SqliteDatabase, clock: StillClock
) -> None:
    yard = Yard(database, clock, being_seconds=SWEEP_SHARD_SECONDS * 0.3)
    yard.grow(60)
    yard.note()
    shard = keys.work(yard.kept.id)
    expected = sorted(being for being in yard.beings if keys.work(being) == shard)
    job: Job | None = Job(SWEEP, refs={"shard": shard})
    swept = []
    jobs = 0
    while job is not None:
        yard.sweep.do(Work(job, 1, None, lambda: None))
        job, jobs = None, jobs + 1
        while (message := yard.queue.receive()) is not None:
            sent = decode_job(message.body)
            if sent.kind == SWEEP:
                job = sent
            else:
                swept.append(sent.being_id)
            yard.queue.done(message)

    assert len(expected) > 2
    assert jobs >= len(expected) // 2
    assert sorted(map(str, swept)) == expected


def test_an_overload_drains_instead_of_feeding_itself(
    database: SqliteDatabase, clock: StillClock
) -> None:
    """Hours in which workers do a fifth of what comes, with a sweep in each."""
    yard = Yard(database, clock, being_seconds=0)
    yard.grow(QUEUE_BUSY + 50)
    deepest = []
    for _ in range(8):
        yard.note()
        yard.schedule()
        yard.work(30)
        clock.move(3601)
        deepest.append(yard.queue.depth().waiting)
    before = sum(yard.patrolled.values())
    yard.schedule()
    yard.work()

    # One job a Being, and the sweeps.
    assert max(deepest) <= len(yard.beings) + 8
    assert sum(yard.patrolled.values()) - before <= len(yard.beings)
    assert set(yard.patrolled) == set(yard.beings)
    assert yard.queue.depth().waiting == 0
    clock.move(timedelta(hours=1).total_seconds() + 1)
    yard.schedule()
    assert yard.work() == 1  # nothing is left
