"""Tasks through random lives: calls, answers, refusals, crashes, lost and repeated jobs, time."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from nacre import Context, tool
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.errors import UnavailableError
from nacre.core.limits import JOB_SECONDS, TASK_RESEND_SECONDS
from nacre.jobs.job import Job, encode_job
from nacre.jobs.lease import Lease, Leases
from nacre.ports.queue import Queue
from tests.adapters.conftest import StillClock
from tests.being.tasks.test_tasks import CITY, NAME, said
from tests.being.tasks.worlds import KEY, World
from tests.scaffolding.lambda_events import BEING

pytestmark = pytest.mark.slow

OPEN, ENDED = {"working", "input_required"}, {"completed", "failed", "cancelled"}
KEYS = ["name", "city", "again", "nobody"]


class Killed(BaseException):
    """The worker's process is gone."""


class OfTheDead(Leases):
    """Leases that a killed process does not give back."""

    dead = False

    def give_back(self, lease: Lease) -> None:
        if not self.dead:
            super().give_back(lease)


class ShakyQueue:
    """A queue that fails when it should."""

    def __init__(self, queue: Queue) -> None:
        self.queue, self.fails = queue, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.queue, name)

    def send(self, body: str, *, group: str, dedupe_key: str | None = None) -> str:
        if self.fails:
            raise UnavailableError("the queue is away")
        return self.queue.send(body, group=group, dedupe_key=dedupe_key)


class Lives(RuleBasedStateMachine):
    """A client, a worker and a clock."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.database = SqliteDatabase(":memory:")
        self.clock = StillClock()
        table = SqliteTable(self.database, now=self.clock)
        self.world = World(table, self.database, self.clock, Path(self.folder.name))
        self.leases = self.world.leases = OfTheDead(table, now=self.clock)
        self.queue = self.world.queue = ShakyQueue(self.world.queue)
        self.dying = False
        self.seen: dict[str, dict[str, Any]] = {}

        @tool(task="required", blocking=True)
        async def asks(context: Context) -> str:
            """Asks twice."""
            await context.ask({"name": NAME, "city": CITY})
            self.maybe_die()
            await context.ask({"again": NAME})
            return "asked"

        @tool(task="required", blocking=True)
        async def slices(context: Context, many: int) -> str:
            """Takes several attempts."""
            assert context.task is not None
            slice_number = int(context.task.notes.get("done", 0)) + 1
            context.task.keep({"done": slice_number})
            self.maybe_die()
            if slice_number < many:
                context.task.go_on_later()
            return "x" * 70_000 if many == 3 else "done"

        self.world.add(asks)
        self.world.add(slices)

    def maybe_die(self) -> None:
        if self.dying:
            self.dying = False
            self.leases.dead = True
            raise Killed

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        self.queue.fails = self.dying = False
        for _ in range(40):
            for task_id in self.seen:
                self.world.get(task_id)
                answers = {key: said(name="x", city="y") for key in KEYS}
                self.world.ask("tasks/update", {"taskId": task_id, "inputResponses": answers})
            self.turn()
            self.clock.move(TASK_RESEND_SECONDS + JOB_SECONDS)
        states = {self.world.get(task_id)["status"] for task_id in self.seen}
        assert states <= ENDED, states
        self.database.close()
        self.folder.cleanup()

    @rule(many=st.sampled_from([1, 3, 5]), asks=st.booleans())
    def call(self, many: int, asks: bool) -> None:
        if len(self.seen) < 4:
            result = self.world.call("asks") if asks else self.world.call("slices", many=many)
            assert ("taskId" in result) == (not self.queue.fails)
            if "taskId" in result:
                self.seen[result["taskId"]] = self.world.get(result["taskId"])

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        task_id = data.draw(st.sampled_from(sorted(self.seen)))
        keys = data.draw(st.sets(st.sampled_from(KEYS)))
        answers = {key: said(name=key, city=key) for key in keys}
        self.world.ask("tasks/update", {"taskId": task_id, "inputResponses": answers})

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        task_id = data.draw(st.sampled_from(sorted(self.seen)))
        self.world.ask("tasks/cancel", {"taskId": task_id})
        assert self.world.get(task_id)["status"] in ENDED

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def repeat_a_job(self, data: st.DataObject) -> None:
        task_id = data.draw(st.sampled_from(sorted(self.seen)))
        job = Job("task", BEING, {"task": task_id, "round": "0"})
        self.queue.queue.send(encode_job(job), group=f"{BEING}#again")

    @rule()
    def turn(self) -> None:
        try:
            for _ in range(3):
                self.world.work()
        except Killed:
            self.leases.dead = False

    @rule()
    def let_the_worker_die(self) -> None:
        self.dying = True

    @rule(fails=st.booleans())
    def shake_the_queue(self, fails: bool) -> None:
        self.queue.fails = fails

    @rule(seconds=st.sampled_from([1, JOB_SECONDS + 1, TASK_RESEND_SECONDS + 1]))
    def wait(self, seconds: int) -> None:
        if self.clock.time.hour < 20:  # a task lives for a day
            self.clock.move(seconds)

    @invariant()
    def nothing_ends_twice_and_nothing_is_left(self) -> None:
        if not hasattr(self, "world"):
            return
        items = {str(item["sk"]) for item in self.world.items()}
        assert KEY not in repr(self.world.items())
        for task_id, before in self.seen.items():
            now = self.world.get(task_id)
            if before["status"] in ENDED:
                assert now == before
            self.seen[task_id] = now
            items = {str(item["sk"]) for item in self.world.items()}
            assert (f"CALL#{task_id}" in items) == (now["status"] in OPEN)
            assert (f"RESULT#{task_id}" in items) == (now["status"] in {"completed", "failed"})
            assert bool(now.get("inputRequests")) == (now["status"] == "input_required")


def test_every_task_ends_once_whatever_happens() -> None:
    run_state_machine_as_test(
        Lives,
        settings=settings(
            max_examples=150,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
