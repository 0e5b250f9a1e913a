"""The trigger: the tenth waiting scene fires one patrol, whoever writes it."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.memory.job_claims import SweepResult
from nacre.being.memory.model import keys
from nacre.being.memory.patrol_trigger import PatrolTrigger, TriggerResult
from nacre.being.memory.repositories import open_repositories
from nacre.core.clock import system_clock
from nacre.core.errors import UnavailableError
from nacre.core.limits import QUEUE_BUSY
from nacre.ports.items.table import Change, Item, Key, Page, Table, Write
from nacre.ports.queue import Depth, Message
from tests.adapters.conftest import StillClock
from tests.being.memory.keeping import Keeper, keeper, scene_draft


def note(kept: Keeper, count: int = 1) -> TriggerResult:
    kept.memory.scenes.record(kept.id, [scene_draft(f"event {number}") for number in range(count)])
    return kept.memory.trigger.after_scenes(kept.id)


@pytest.mark.requirement("003.update_notes.patrol")
def test_ten_waiting_scenes_fire_a_patrol(kept: Keeper) -> None:
    fired = [note(kept) for _ in range(12)]

    assert [waiting.patrol for waiting in fired] == [
        *["not due"] * 9,
        "queued",
        *["queued before"] * 2,
    ]
    message = kept.queue.receive()
    assert message is not None
    assert json.loads(message.body) == {
        "version": 1,
        "kind": "patrol",
        "being_id": kept.id,
        "refs": {"trigger": "auto"},
    }
    assert message.group == kept.id
    assert kept.queue.depth() == Depth(waiting=0, in_flight=1, dead=0)


def test_a_call_that_passes_ten_fires_too(kept: Keeper) -> None:
    assert [note(kept, 9).patrol, note(kept, 7)] == ["not due", TriggerResult(16, "queued")]


def test_after_a_patrol_has_ended_the_next_ten_fire_again(kept: Keeper) -> None:
    note(kept, 10)
    done = Change(set={"pending_scenes": 0}, remove=frozenset({"queued_at"}))
    kept.table.update(keys.meta(kept.id), done)

    assert [note(kept, 9).patrol, note(kept).patrol] == ["not due", "queued"]


def test_a_trigger_that_was_lost_is_repeated_by_a_scene_after_a_day(
    kept: Keeper, clock: StillClock
) -> None:
    """Sooner only the sweep repeats it, which can tell a lost job from one that waits."""
    note(kept, 10)
    clock.move(86_399)
    assert note(kept).patrol == "queued before"
    clock.move(2)
    assert note(kept).patrol == "queued"
    assert note(kept).patrol == "queued before"


@dataclass
class FlakyQueue:
    """A queue that is out of order until it is repaired."""

    is_down: bool = True
    sent: list[str] = field(default_factory=list)

    def send(self, body: str, *, group: str, dedupe_key: str | None = None) -> str:
        if self.is_down:
            raise UnavailableError("the queue cannot answer")
        self.sent.append(body)
        return "1"

    def receive(self) -> Message | None:
        return None

    def done(self, message: Message) -> None: ...

    def postpone(self, message: Message, seconds: float) -> None: ...
    def give_back(self, message: Message, seconds: float) -> None: ...

    def depth(self) -> Depth:
        return Depth(0, 0, 0)

    def waiting(self) -> int:
        if self.is_down:
            raise UnavailableError("the queue cannot answer")
        return 0


def test_a_trigger_of_a_clock_that_was_ahead_is_repeated_once_it_is_set_back(
    kept: Keeper, clock: StillClock
) -> None:
    queue = FlakyQueue()
    trigger = PatrolTrigger(kept.table, queue, clock=clock)
    kept.memory.scenes.record(kept.id, [scene_draft(f"event {number}") for number in range(10)])
    queue.is_down = False
    clock.move(400 * 86_400)
    assert trigger.after_scenes(kept.id) == TriggerResult(10, "queued")
    queue.sent.clear()  # it was lost
    clock.move(-400 * 86_400)

    assert trigger.after_scenes(kept.id) == TriggerResult(10, "queued")
    assert trigger.after_scenes(kept.id) == TriggerResult(10, "queued before")


def test_a_queue_that_is_down_leaves_the_trigger_to_the_next_scene(
    kept: Keeper, clock: StillClock
) -> None:
    queue = FlakyQueue()
    trigger = PatrolTrigger(kept.table, queue, clock=clock)
    kept.memory.scenes.record(kept.id, [scene_draft(f"event {number}") for number in range(10)])

    assert trigger.after_scenes(kept.id) == TriggerResult(10, "not queued")
    queue.is_down = False
    assert trigger.after_scenes(kept.id) == TriggerResult(10, "queued")
    assert trigger.after_scenes(kept.id) == TriggerResult(10, "queued before")
    assert len(queue.sent) == 1


class Blinking:
    """A table that cannot be read once a transaction is through."""

    def __init__(self, table: Table) -> None:
        self.put, self.update, self.delete = table.put, table.update, table.delete
        self.get_many, self.query = table.get_many, table.query
        self._table = table
        self.is_down = False

    def transact(self, writes: Sequence[Write], *, token: str | None = None) -> None:
        self._table.transact(writes, token=token)
        self.is_down = True

    def get(self, key: Key) -> Item | None:
        if self.is_down:
            raise UnavailableError("the store cannot answer")
        return self._table.get(key)


def test_scenes_that_are_stored_are_acknowledged_whatever_happens_to_the_trigger(
    laptop: Keeper, clock: StillClock
) -> None:
    table = Blinking(laptop.table)
    memory = open_repositories(
        table, laptop.queue, laptop.index, laptop.renewals, clock=clock, rng=Random(5)
    )
    memory.scenes.record(laptop.id, [scene_draft()])

    assert memory.trigger.after_scenes(laptop.id) == TriggerResult(None, "not queued")
    assert len(laptop.memory.scenes.page(laptop.id).scenes) == 1


def test_asking_sends_a_job_and_leaves_the_tenth_scene_to_send_its_own(kept: Keeper) -> None:
    kept.memory.trigger.ask(kept.id)
    kept.memory.trigger.ask(kept.id)

    assert kept.queue.depth().waiting == 2
    assert note(kept, 10).patrol == "queued"


def test_beings_with_waiting_scenes_stand_where_the_sweep_looks(kept: Keeper) -> None:
    idle = kept.another("Idle")
    note(kept)
    found = [
        item["being_id"]
        for partition in keys.work_partitions()
        for item in kept.table.query(partition, index="gsi1").items
    ]

    assert kept.id in found
    assert idle not in found


def test_of_many_writers_one_fires(tmp_path: Path, clock: StillClock) -> None:
    database = SqliteDatabase(tmp_path / "nacre.db")
    queue = SqliteQueue(database, "jobs", now=clock)
    kept = keeper(SqliteTable(database, now=clock), queue, clock)
    with ThreadPoolExecutor(8) as pool:
        fired = list(pool.map(lambda _: note(kept).patrol, range(40)))

    assert fired.count("queued") == 1
    assert kept.queue.depth().waiting == 1
    assert kept.meta("pending_scenes") == 40
    database.close()


def causes(kept: Keeper) -> list[tuple[str, str]]:
    """Take the jobs that wait, and return for whom and why each was sent."""
    found = []
    while (message := kept.queue.receive()) is not None:
        job = json.loads(message.body)
        found.append((job["being_id"], job["refs"]["trigger"]))
        kept.queue.done(message)
    return found


def test_the_sweep_sends_for_each_being_that_has_work_and_for_no_other(
    kept: Keeper, clock: StillClock
) -> None:
    other = kept.another("Busy")
    kept.another("Idle")
    note(kept)
    kept.memory.scenes.record(other, [scene_draft()])

    assert kept.memory.trigger.sweep().sent == 2
    assert sorted(causes(kept)) == sorted([(kept.id, "sweep"), (other, "sweep")])


def test_the_sweep_sends_no_second_job_while_one_waits(kept: Keeper, clock: StillClock) -> None:
    note(kept, 10)

    assert kept.memory.trigger.sweep().sent == 0
    clock.move(3601)  # the job was lost
    assert kept.memory.trigger.sweep().sent == 1
    assert kept.memory.trigger.sweep().sent == 0
    assert causes(kept) == [(kept.id, "auto"), (kept.id, "sweep")]


@dataclass
class BusyQueue(FlakyQueue):
    """A queue in which many messages wait."""

    is_down: bool = False
    many: int = QUEUE_BUSY + 1

    def waiting(self) -> int:
        return self.many


def test_while_the_queue_is_busy_an_old_job_is_taken_for_one_that_waits(
    kept: Keeper, clock: StillClock
) -> None:
    note(kept, 10)
    queue = BusyQueue()
    trigger = PatrolTrigger(kept.table, queue, clock=clock)
    hours = [0] * 26
    for hour in range(26):
        clock.move(3601)
        hours[hour] = trigger.sweep().sent

    assert hours == [0] * 23 + [1, 0, 0]  # at last it must have been lost
    queue.many = QUEUE_BUSY
    clock.move(3601)
    assert trigger.sweep().sent == 1


def test_a_being_without_a_job_gets_one_however_busy_the_queue_is(
    kept: Keeper, clock: StillClock
) -> None:
    note(kept)

    assert PatrolTrigger(kept.table, BusyQueue(), clock=clock).sweep().sent == 1


def test_a_shard_that_stops_goes_on_behind_its_last_being(laptop: Keeper) -> None:
    names = [laptop.id, *(laptop.another(f"Busy {number}") for number in range(40))]
    for being_id in names:
        laptop.memory.scenes.record(being_id, [scene_draft()])
    trigger = laptop.memory.trigger
    jobs, sent = 0, 0
    for partition in keys.work_partitions():
        after: str | None = ""
        while after is not None:
            looks = iter((False, True))
            result = trigger.sweep_shard(partition, after, is_over=partial(next, looks))
            after, jobs, sent = result.last, jobs + 1, sent + result.sent

    assert sent == len(names)
    assert jobs > len(names)  # one Being in each
    assert sorted(being for being, _ in causes(laptop)) == sorted(names)


def test_a_sweep_tells_how_many_wait_and_for_how_long(kept: Keeper, clock: StillClock) -> None:
    nothing = kept.memory.trigger.sweep()
    note(kept, 10)
    clock.move(2000)
    kept.memory.scenes.record(kept.another("Busy"), [scene_draft()])

    assert nothing == SweepResult(beings=0, sent=0, lag_seconds=0)
    assert kept.memory.trigger.sweep() == SweepResult(beings=2, sent=1, lag_seconds=2000)


def test_a_sweep_that_finds_the_queue_down_leaves_the_being_to_the_next(
    kept: Keeper, clock: StillClock
) -> None:
    queue = FlakyQueue()
    trigger = PatrolTrigger(kept.table, queue, clock=clock)
    note(kept)

    assert trigger.sweep().sent == 0
    queue.is_down = False
    assert trigger.sweep().sent == 1


def test_the_sweep_leaves_a_being_alone_that_was_erased_meanwhile(
    laptop: Keeper, clock: StillClock
) -> None:
    note(laptop)
    found = laptop.table.get(keys.meta(laptop.id))
    assert found is not None
    gone = found

    class Lagging(Blinking):
        """A table whose index lists what is gone, as that of AWS may."""

        def __init__(self) -> None:
            super().__init__(laptop.table)
            self.query = self.listed

        def listed(self, partition: str, **_: object) -> Page:
            return Page((gone,) if partition == gone["gsi1pk"] else (), None)

    laptop.table.delete(keys.meta(laptop.id))

    assert PatrolTrigger(Lagging(), laptop.queue, clock=clock).sweep().sent == 0
    assert laptop.table.get(keys.meta(laptop.id)) is None


def test_the_sweep_reads_as_little_among_many_beings(laptop: Keeper) -> None:
    """The table is never scanned: a page of each shard of the sparse list, whoever exists."""
    for number in range(60):
        laptop.another(f"Idle {number}")
    note(laptop)
    asked: list[str] = []

    class Counting(Blinking):
        def __init__(self) -> None:
            super().__init__(laptop.table)
            self.query = self.counted

        def counted(self, partition: str, **options: Any) -> Page:
            asked.append(partition)
            page = laptop.table.query(partition, **options)
            assert len(page.items) <= 1
            return page

    assert PatrolTrigger(Counting(), laptop.queue, clock=system_clock).sweep().sent == 1
    assert asked == [
        read
        for partition in keys.work_partitions()
        for read in (keys.uncounted_partition(partition), partition)
    ]
