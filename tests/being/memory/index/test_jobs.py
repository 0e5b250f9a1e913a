"""Tasks for a whole index: in this process, and through a queue and a worker."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from random import Random

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.being.memory.index.jobs import LEASE, IndexJobs, LocalIndexWork, QueuedIndexWork
from nacre.being.memory.index.maintenance import IndexMaintenance
from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.model import keys
from nacre.core.errors import LeaseHeldError, UnavailableError
from nacre.core.limits import (
    INDEX_GRACE_SECONDS,
    INDEX_SLICE_SECONDS,
    JOB_SECONDS,
    QUEUE_DEDUPE_SECONDS,
)
from nacre.jobs.job import Job, decode_job, encode_job
from nacre.jobs.lease import Leases
from nacre.jobs.loop import Outcome, WorkerLoop
from nacre.jobs.worker import Worker
from nacre.ports.items.table import Key
from nacre.ports.vectors.embedder import Vector
from tests.adapters.conftest import StillClock
from tests.being.memory.indexed import Bench, Words, entry


class Yard:
    """A bench with a queue and a worker whose settings ask for another embedding."""

    def __init__(self, database: SqliteDatabase, clock: StillClock) -> None:
        table = SqliteTable(database, now=clock)
        self.bench = Bench(table, lambda emb_id: LocalVectors(database, emb_id), clock)
        self.table = table
        self.clock = clock
        self.queue = SqliteQueue(database, "jobs", now=clock)
        self.leases = Leases(table, now=clock)
        self.jobs = IndexJobs(table, self.queue, clock=clock)
        self.new = Words("others", 8)
        self.upkeep = IndexMaintenance(self.bench.process(self.new, self.bench.words))
        self.outcomes: list[Outcome] = []
        worker = Worker(self.leases)
        self.jobs.register(worker, self.upkeep)
        self.loop = WorkerLoop(self.queue, worker, self.outcomes.append)
        self.there = QueuedIndexWork(table, self.queue, clock=clock, rng=Random(1), sleep=self.turn)

    def exist(self) -> None:
        """Give the bench's Being its item, in which the sweep notes its jobs."""
        self.table.put({**keys.meta(self.bench.being_id).attributes(), "schema": 1})

    def turn(self, _seconds: float = 0) -> None:
        """Let the worker do one job, as it does while somebody waits."""
        assert self.loop.run_next(), "nothing is left to do, so the wait would never end"

    def results(self) -> list[tuple[str, str | None]]:
        return [(outcome.result, outcome.error) for outcome in self.outcomes]


@pytest.fixture
def yard() -> Iterator[Yard]:
    database = SqliteDatabase(":memory:")
    yield Yard(database, StillClock())
    database.close()


def test_a_check_through_the_queue_says_what_it_found(yard: Yard) -> None:
    yard.bench.write(entry("a", "pearl"), entry("z", "shell"))
    yard.bench.active.delete(yard.bench.being_id, ["a"])

    report = yard.there.run(yard.bench.being_id, "check", lambda *_: None)

    assert report == {
        "task": "check",
        "embedding": yard.bench.words.emb_id,
        "points": 2,
        "missing": 1,
        "stale": 0,
        "orphaned": 0,
        "without_vector": 0,
        "sound": False,
    }
    assert yard.there.run(yard.bench.being_id, "repair", lambda *_: None)["missing"] == 1
    assert yard.there.run(yard.bench.being_id, "check", lambda *_: None)["sound"] is True


def test_a_new_embedding_through_the_queue_says_how_far_it_is(yard: Yard) -> None:
    for number in range(150):
        yard.bench.write(entry(f"p{number:03}", f"pearl {number}"))
    steps: list[tuple[int, int]] = []

    report = yard.there.run(yard.bench.being_id, "reindex", lambda *step: steps.append(step))

    assert report == {
        "task": "reindex",
        "changed": True,
        "embedding": yard.new.emb_id,
        "before": yard.bench.words.emb_id,
        "points": 150,
    }
    assert steps[0] == (0, 0)
    again = yard.there.run(yard.bench.being_id, "reindex", lambda *_: None)
    assert again == {"task": "reindex", "changed": False}


def test_a_long_change_is_done_in_several_jobs(yard: Yard) -> None:
    for number in range(200):
        yard.bench.write(entry(f"p{number:03}", f"pearl {number}"))

    class Slow(Words):
        def documents(self, texts: Sequence[str]) -> list[Vector]:
            yard.clock.move(INDEX_SLICE_SECONDS / 3)
            return super().documents(texts)

    slow = Slow("slow", 8)
    upkeep = IndexMaintenance(yard.bench.process(slow, yard.bench.words))
    worker = Worker(yard.leases)
    yard.jobs.register(worker, upkeep)
    loop = WorkerLoop(yard.queue, worker, yard.outcomes.append)
    jobs = 0

    def turn(_seconds: float) -> None:
        nonlocal jobs
        jobs += loop.run_next()

    there = QueuedIndexWork(
        yard.bench.table, yard.queue, clock=yard.clock, rng=Random(2), sleep=turn
    )
    report = there.run(yard.bench.being_id, "reindex", lambda *_: None)

    assert report["points"] == 200
    assert jobs > 1
    assert len(slow.texts) == 200
    assert {result for result, _ in yard.results()} == {"done"}


def test_what_stops_a_task_reaches_whoever_waits_and_kills_no_message(yard: Yard) -> None:
    yard.bench.write(entry("a", "pearl"))
    yard.new.is_down = True

    with pytest.raises(UnavailableError, match="does not answer; run 'nacre reindex' again"):
        yard.there.run(yard.bench.being_id, "reindex", lambda *_: None)

    assert yard.results() == [("done", None)]


def test_a_task_in_this_process_waits_for_nobody_and_lets_nobody_in(yard: Yard) -> None:
    yard.bench.write(entry("a", "pearl"))
    here = LocalIndexWork(yard.upkeep, yard.leases)
    lease = yard.leases.take(Key(f"B#{yard.bench.being_id}", f"LOCK#{LEASE}"))

    with pytest.raises(LeaseHeldError):
        here.run(yard.bench.being_id, "reindex", lambda *_: None)
    assert here.run(yard.bench.being_id, "check", lambda *_: None)["sound"]

    yard.leases.give_back(lease)
    assert here.run(yard.bench.being_id, "reindex", lambda *_: None)["changed"]


def test_nobody_waits_for_ever_for_a_worker_that_says_nothing(yard: Yard) -> None:
    def busy(_seconds: float) -> None:
        yard.clock.move(10)

    there = QueuedIndexWork(
        yard.bench.table, yard.queue, clock=yard.clock, rng=Random(2), sleep=busy
    )
    began = yard.clock()

    with pytest.raises(UnavailableError, match="worker has said nothing about this for 300 s"):
        there.run(yard.bench.being_id, "repair", lambda *_: None)

    assert yard.clock() - began == timedelta(seconds=310)
    assert yard.queue.depth().waiting == 1


def test_an_index_that_is_down_holds_no_later_work_up(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object) -> None:
        raise UnavailableError("the index is down")

    yard.bench.write(entry("a", "pearl"), apply=False)
    with monkeypatch.context() as patched:
        patched.setattr(LocalVectors, "upsert", down)
        yard.jobs.repair_later(yard.bench.being_id)
        yard.turn()

    assert yard.results() == [("done", None)]
    assert yard.bench.marks() == [("a",)]
    report = yard.there.run(yard.bench.being_id, "repair", lambda *_: None)
    assert report["embedding"] == yard.bench.words.emb_id
    assert yard.bench.marks() == []


def test_a_write_that_could_not_tell_the_index_sends_one_repair(yard: Yard) -> None:
    for name in "abc":
        yard.jobs.repair_later(yard.bench.being_id)
        yard.bench.write(entry(name, "pearl"), apply=False)

    yard.turn()

    assert yard.bench.marks() == []
    assert yard.queue.depth().waiting == 0
    assert len(yard.bench.found("pearl")[0]) == 3


def test_the_sweep_sends_repairs_for_what_was_left(yard: Yard) -> None:
    yard.exist()
    yard.bench.write(entry("a", "pearl"), apply=False)
    just_written = yard.jobs.sweep(yard.bench.indexing.marks)
    assert yard.queue.depth().waiting == 0

    yard.clock.move(INDEX_GRACE_SECONDS + 1)
    left_behind = yard.jobs.sweep(yard.bench.indexing.marks)

    assert (just_written, left_behind) == (0, 1)
    message = yard.queue.receive()
    assert message is not None
    assert decode_job(message.body) == Job("repair", yard.bench.being_id, {"claimed": "yes"})
    assert message.group == f"{yard.bench.being_id}#reindex"


def test_the_sweep_sends_no_second_repair_while_one_waits(yard: Yard) -> None:
    yard.exist()
    yard.bench.write(entry("a", "pearl"), apply=False)
    yard.clock.move(INDEX_GRACE_SECONDS + 1)
    for _ in range(3):
        assert yard.jobs.sweep(yard.bench.indexing.marks) == 1
        yard.clock.move(QUEUE_DEDUPE_SECONDS + 1)
    assert yard.queue.depth().waiting == 1

    yard.turn()  # which ends the claim
    assert yard.bench.marks() == []
    yard.bench.write(entry("b", "pearl"), apply=False)
    yard.clock.move(INDEX_GRACE_SECONDS + 1)
    yard.jobs.sweep(yard.bench.indexing.marks)
    assert yard.queue.depth().waiting == 1


def test_a_task_of_a_newer_version_is_not_done(yard: Yard) -> None:
    job = Job("reindex", yard.bench.being_id, {"task": "polish", "run": "RUN#1"})
    yard.queue.send(encode_job(job), group="g")

    yard.loop.run_next()

    [(result, error)] = yard.results()
    assert result == "failed"
    assert error is not None
    assert "upgrade nacre" in error


def default_of(yard: Yard) -> IndexSync:
    """Return what a process has whose embedding takes over by itself."""
    return yard.bench.process(
        yard.new,
        yard.bench.words,
        gives_way=lambda active, configured: (
            (active, configured) == (yard.bench.words.emb_id, yard.new.emb_id)
        ),
        outdated=yard.jobs.reindex_later,
    )


def test_a_new_default_takes_over_after_a_search(yard: Yard) -> None:
    yard.bench.write(entry("a", "pearl"), entry("z", "shell"))
    default = default_of(yard)

    reading = default.active_index(yard.bench.being_id)
    assert (reading.index.emb_id, reading.remark) == (yard.bench.words.emb_id, None)
    assert yard.bench.found("pearl", by=default) == (["a"], ["a"])
    yard.turn()

    assert yard.results() == [("done", None)]
    assert not yard.loop.run_next()
    reading = default.active_index(yard.bench.being_id)
    assert (reading.index.emb_id, reading.remark) == (yard.new.emb_id, None)
    assert yard.bench.found("pearl", by=default) == (["a"], ["a"])


def test_a_new_default_takes_over_after_a_write_which_both_indexes_have(yard: Yard) -> None:
    yard.bench.write(entry("a", "pearl"))
    default = default_of(yard)

    yard.bench.write(entry("b", "oyster"), by=default)
    assert yard.bench.found("oyster", by=default) == (["b"], ["b"])
    yard.turn()

    assert default.active_index(yard.bench.being_id).index.emb_id == yard.new.emb_id
    assert yard.bench.found("oyster", by=default) == (["b"], ["b"])


def test_a_process_with_the_old_setting_does_not_undo_it(yard: Yard) -> None:
    yard.bench.write(entry("a", "pearl"))
    default_of(yard).active_index(yard.bench.being_id)
    yard.turn()
    old = yard.bench.process(yard.bench.words, yard.new, outdated=yard.jobs.reindex_later)

    reading = old.active_index(yard.bench.being_id)
    yard.bench.write(entry("b", "oyster"), by=old)

    assert reading.index.emb_id == yard.new.emb_id
    assert reading.remark is not None
    assert "run 'nacre reindex'" in reading.remark
    assert yard.queue.depth().waiting == 0


def test_a_change_is_queued_once_in_five_minutes(yard: Yard) -> None:
    yard.bench.write(entry("a", "pearl"))
    default = default_of(yard)
    yard.new.is_down = True
    for _ in range(3):
        default.active_index(yard.bench.being_id)
        assert yard.queue.depth().waiting <= 1
    yard.turn()
    assert yard.results() == [("done", None)]

    default.active_index(yard.bench.being_id)
    assert not yard.loop.run_next()
    yard.clock.move(QUEUE_DEDUPE_SECONDS)
    yard.new.is_down = False
    default.active_index(yard.bench.being_id)
    yard.turn()

    assert default.active_index(yard.bench.being_id).index.emb_id == yard.new.emb_id


def test_a_change_that_was_killed_goes_on_where_it_was(yard: Yard) -> None:
    for number in range(200):
        yard.bench.write(entry(f"p{number:03}", f"pearl {number}"))

    class Killed(BaseException):
        pass

    class Dying(Words):
        def documents(self, texts: Sequence[str]) -> list[Vector]:
            if len(self.texts) > 100:
                raise Killed
            return super().documents(texts)

    dying = Dying("others", 8)
    worker = Worker(yard.leases)
    yard.jobs.register(worker, IndexMaintenance(yard.bench.process(dying, yard.bench.words)))
    default_of(yard).active_index(yard.bench.being_id)
    with pytest.raises(Killed):
        WorkerLoop(yard.queue, worker, yard.outcomes.append).run_next()
    state = yard.bench.indexing.states.get(yard.bench.being_id)
    assert state is not None
    assert (state.active, state.target) == (yard.bench.words.emb_id, yard.new.emb_id)
    assert 0 < state.done < 200

    yard.clock.move(JOB_SECONDS + 1)  # the message and the lease of the dead come back
    yard.turn()

    assert len(dying.texts) + len(yard.new.texts) == 200
    assert default_of(yard).active_index(yard.bench.being_id).index.emb_id == yard.new.emb_id


def test_a_change_goes_on_beside_a_patrol_that_changes_every_memory(yard: Yard) -> None:
    names = [f"p{number:03}" for number in range(100)]
    for name in names:
        yard.bench.write(entry(name, f"pearl {name}"))
    default = default_of(yard)
    index = yard.bench.index(yard.new.emb_id)
    states = iter(["dying", "active"] * 500)

    def busy() -> None:
        """Change a memory, as a patrol does, each time that others have been indexed."""
        if not yard.bench.found("pearl", by=default)[0]:
            return
        index.before_upsert = lambda: None
        yard.bench.write(entry("p000", "pearl p000", state=next(states)), by=default)
        index.before_upsert = busy

    index.before_upsert = busy
    default.active_index(yard.bench.being_id)
    yard.turn()
    index.before_upsert = lambda: None

    assert yard.results() == [("done", None)]
    assert default.active_index(yard.bench.being_id).index.emb_id == yard.new.emb_id
    assert yard.upkeep.check(yard.bench.being_id).is_in_sync
