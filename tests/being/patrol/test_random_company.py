"""Patrols in company: users who write meanwhile, a second worker, messages that come twice."""

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import strategies as st

from nacre.being.memory.patrol_trigger import KIND
from nacre.being.patrol.jobs import PatrolJobs
from nacre.being.patrol.planning.plans import Planner
from nacre.being.patrol.run.runs import Receipt
from nacre.being.patrol.steps import split_clusters
from nacre.being.patrol.trigger import lease_key
from nacre.core.errors import LeaseLostError, UnavailableError
from nacre.jobs.job import Job, encode_job
from nacre.jobs.lease import Leases
from nacre.jobs.worker import Worker
from nacre.ports.queue import Message
from tests.being.memory.minds import builtin
from tests.being.patrol.crashing import hold, hypothesised, same, state_of
from tests.being.patrol.histories import (
    Note,
    UserStep,
    nodes_of,
    stretches,
    user_steps,
)
from tests.being.patrol.stand_in import StandIn
from tests.being.patrol.worlds import Stopped, World, new_world

EMBEDDER = builtin()[0]
LEASE = timedelta(seconds=300)


@pytest.fixture(autouse=True)
def small_clusters_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_clusters, "SPLIT_FROM", 6)


examples = pytest.mark.parametrize("examples", [6, pytest.param(100, marks=pytest.mark.slow)])


def lived(data: st.DataObject) -> World:
    """Return a Being with a past, for which something waits."""
    planner = StandIn() if data.draw(st.booleans(), label="with a model") else None
    world = new_world(EMBEDDER if data.draw(st.booleans(), label="with vectors") else None, planner)
    history = data.draw(st.lists(stretches, min_size=1, max_size=2), label="history")
    for number, stretch in enumerate(history):
        for step in stretch:
            step.do(world)
        if number < len(history) - 1:
            world.run()
    return world.process()


@examples
def test_what_users_write_between_the_writes_of_a_patrol_stays(examples: int) -> None:
    def body(data: st.DataObject) -> None:
        world = lived(data)
        meanwhile = data.draw(
            st.dictionaries(st.integers(0, 40), user_steps, min_size=1, max_size=3),
            label="meanwhile",
        )
        promised = Promised()
        process = world.process()
        plant(process, meanwhile, promised)
        process.fuse.stop_before = data.draw(st.integers(1, 60), label="stops before")
        with suppress(Stopped):
            process.run()
        last = process.process(seconds=600)
        for _ in range(3):  # what came meanwhile is for the next one
            assert last.run().state == "done"
        hold(last)
        promised.check(last)
        world.database.close()

    hypothesised(body, examples=examples)


class Promised:
    """The acknowledged writes of users, which must be there afterwards."""

    def __init__(self) -> None:
        self._scenes: set[str] = set()
        self._pinned: set[str] = set()
        self._recalls: dict[str, int] = {}

    def after(self, world: World, step: UserStep) -> None:
        """Record the promises of a step."""
        nodes = nodes_of(world)
        here = {str(i["sk"]) for i in world.items() if str(i["pk"]).endswith("#S")}
        self._scenes = here if isinstance(step, Note) else self._scenes & here
        every = {node.node_id: node for node in nodes}
        self._pinned = {node_id for node_id, node in every.items() if node.pinned}
        self._recalls = {node_id: node.reactivation_count for node_id, node in every.items()}

    def check(self, world: World) -> None:
        """Raise AssertionError for what is not there any more."""
        here = {str(i["sk"]) for i in world.items() if str(i["pk"]).endswith("#S")}
        assert self._scenes <= here
        nodes = {node.node_id: node for node in nodes_of(world)}
        for node_id in self._pinned:
            assert nodes[node_id].pinned
        for node_id, count in self._recalls.items():
            assert nodes[node_id].reactivation_count >= count


def plant(process: World, meanwhile: dict[int, UserStep], promised: Promised) -> None:
    """Let users write just before these writes of a process, each once."""
    user = process.process(generation=500)

    def before(number: int) -> None:
        step = meanwhile.get(number)
        if step is not None:
            step.do(user)
            promised.after(user, step)

    process.fuse.before = before


@examples
def test_of_two_workers_one_does_the_patrol(examples: int) -> None:
    taken_over = 0

    def body(data: st.DataObject) -> None:
        nonlocal taken_over
        start = lived(data)
        unstopped = start.copy()
        assert leased(unstopped).state == "done"
        expected = state_of(unstopped)

        number = data.draw(st.integers(0, unstopped.fuse.writes - 1), label="is slow before")
        gets = data.draw(st.one_of(st.none(), st.integers(3, 30)), label="the other one gets to")
        slow = start.copy()
        fast = slow.process(generation=700)
        fast.fuse.stop_before = gets

        def take_over(at: int) -> None:
            if at == number:
                with suppress(Stopped):
                    leased(fast, ahead=2 * LEASE)

        slow.fuse.before = take_over
        slow.fuse.failing_writes = data.draw(
            st.sampled_from([(), (number,), (number + 1,)]), label="what fails then"
        )
        with suppress(UnavailableError):
            try:
                leased(slow)
            except LeaseLostError:
                taken_over += 1
        slow.fuse.failing_writes = ()
        run = slow.patrol.runs.open(slow.being_id)
        assert run is None or run.state == "open", "who has lost the lease blocked the other's run"
        last = slow.process(generation=800)
        if last.patrol.runs.open(last.being_id) is not None:
            last.run()
        same(state_of(last), expected, (number, gets))
        for world in (start, unstopped, slow):
            world.database.close()

    hypothesised(body, examples=examples)
    assert taken_over > examples // 4


@examples
def test_a_model_that_fails_at_any_question_harms_nothing(examples: int) -> None:
    failed = 0

    def body(data: st.DataObject) -> None:
        nonlocal failed
        start = lived(data)
        failing = data.draw(st.frozensets(st.integers(0, 12), min_size=1), label="fails at")
        model = StandIn(failing=failing)
        start.planner = model
        process = start.process()
        process.fuse.stop_before = data.draw(
            st.one_of(st.none(), st.integers(1, 60)), label="stops before"
        )
        with suppress(Stopped):
            process.run()
        last = process.process(seconds=600)
        assert last.run().state == "done"
        hold(last)
        failed += sum(number < len(model.asked) for number in failing)
        last.planner = StandIn()
        for _ in range(2):  # what failed is asked again, or let be
            assert last.run().state == "done"
            hold(last)
        start.database.close()

    hypothesised(body, examples=examples)
    assert failed > examples


def leased(world: World, *, ahead: timedelta = timedelta()) -> Receipt:
    """Do a patrol as a worker does, under the lease; one that is ahead finds it run out."""
    leases = Leases(world.table.table, now=lambda: world.clock() + ahead, duration=LEASE)
    lease = leases.take(lease_key(world.being_id))
    return world.patrol.run(
        world.being_id,
        trigger="manual",
        renew_lease=lambda: None,
        planner=world.planner,
        lease=lease,
    )


@examples
def test_messages_that_come_twice_and_in_any_order_do_one_patrol(examples: int) -> None:
    def body(data: st.DataObject) -> None:
        start = lived(data)
        delivered_once = start.copy()
        deliver(delivered_once, 1)
        expected = state_of(delivered_once)

        world = start.copy()
        ends = data.draw(
            st.lists(st.one_of(st.none(), st.integers(0, 20)), max_size=8), label="stops before"
        )
        process = world
        for number, end in enumerate([*ends, None, None], start=1):
            process = process.process(generation=900 + number)
            process.fuse.stop_before = end
            with suppress(Stopped):
                deliver(process, number)
        process.fuse.stop_before = None
        same(state_of(process), expected, ends)
        for opened in (start, delivered_once, world):
            opened.database.close()

    hypothesised(body, examples=examples)


def deliver(world: World, attempt: int) -> None:
    """Hand a patrol's message to the worker, as the queue does."""
    leases = Leases(world.table.table, now=lambda: world.clock() + attempt * LEASE, duration=LEASE)
    jobs = PatrolJobs(
        patrol=world.patrol,
        table=world.table,
        queue=world.queue,
        models=Always(world.planner),  # type: ignore[arg-type]
        trigger=world.memory.trigger,
        clock=world.clock,
    )
    worker = Worker(leases)
    jobs.register(worker)
    body = encode_job(Job(KIND, world.being_id, {"trigger": "auto"}))
    worker.run(Message(f"m{attempt}", world.being_id, body, attempt, f"r{attempt}"))


class Always:
    """ModelAccess that give every job the same."""

    def __init__(self, planner: Planner | None) -> None:
        self._thinking = planner

    def for_job(self, being_id: str, job: Job) -> Planner | None:
        return self._thinking

    def job_ended(self, being_id: str, job: Job) -> None:
        return
