"""Tasks that wait for an answer in the middle of their work, which cannot begin again."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from nacre import Context, tool
from nacre.being.tasks.client_requests import NOBODY_WAITS
from nacre.being.tasks.store import TaskStore
from nacre.being.tasks.task import Task, call_key
from nacre.core.errors import InvalidInputError, NacreError, UnavailableError
from nacre.core.limits import TASK_QUESTION_BYTES
from nacre.jobs.lease import Lease
from nacre.ports.items.table import Change, Present
from nacre.protocol.client_answers import check_answer
from nacre.protocol.versions import MODERN
from tests.being.tasks.worlds import World, text_of
from tests.end_to_end.conformance.fixture_questions import elicit, field
from tests.scaffolding.waiting import until

NAME = elicit("Your name?", {"name": {"type": "string"}})
CITY = elicit("Your city?", {"city": {"type": "string"}})


def said(**content: str) -> dict[str, Any]:
    return {"action": "accept", "content": content}


class Work:
    """A tool that counts how often its work begins, and asks in the middle of it."""

    def __init__(self, *rounds: dict[str, Any]) -> None:
        self.begun = 0
        work = self

        @tool(task="required")
        async def pay(context: Context) -> str:
            """Asks, and goes on with the answers."""
            work.begun += 1
            context.waits_here = True
            heard = []
            for requests in rounds:
                answers = await context.ask(requests)
                heard += [str(field(answers[key], key.partition("-")[0])) for key in requests]
            return " ".join(heard)

        self.tool = pay


@contextmanager
def working(world: World, **options: Any) -> Iterator[None]:
    """Do one job beside the block, and wait for its end."""
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(world.work, **options)
        yield
        assert job.result(60)


def status(world: World, task_id: str, wanted: str) -> dict[str, Any]:
    until(lambda: world.get(task_id)["status"] == wanted)
    return world.get(task_id)


def answer(world: World, task_id: str, **answers: Any) -> None:
    world.ask("tasks/update", {"taskId": task_id, "inputResponses": answers})


def test_an_answer_reaches_the_attempt_that_asked(world: World) -> None:
    work = Work({"name": NAME, "city": CITY}, {"name-2": NAME})
    world.add(work.tool)
    task_id = world.begin("pay")

    with working(world):
        asking = status(world, task_id, "input_required")
        answer(world, task_id, name=said(name="Ann"), other=said(name="Eve"))
        left = world.get(task_id)
        answer(world, task_id, city=said(city="Oslo"))
        until(lambda: "name-2" in world.get(task_id).get("inputRequests", {}))
        answer(world, task_id, **{"name-2": said(name="Bo")})
    finished = world.get(task_id)

    assert asking["inputRequests"] == {"name": NAME, "city": CITY}
    assert left["inputRequests"] == {"city": CITY}
    assert text_of(finished["result"]) == "Ann Oslo Bo"
    assert work.begun == 1
    assert not world.work()  # an answer sends no second job


def test_a_client_may_give_up_while_its_task_waits(world: World) -> None:
    work = Work({"name": NAME})
    world.add(work.tool)
    task_id = world.begin("pay")

    with working(world):
        status(world, task_id, "input_required")
        world.ask("tasks/cancel", {"taskId": task_id})

    assert world.get(task_id)["status"] == "cancelled"
    answer(world, task_id, name=said(name="Ann"))
    assert world.get(task_id)["status"] == "cancelled"
    assert not world.work()


def test_waiting_counts_among_the_time_of_an_attempt(laptop: World) -> None:
    work = Work({"name": NAME})
    laptop.add(work.tool)
    task_id = laptop.begin("pay")

    with working(laptop, seconds=0.2):
        pass

    ended = laptop.get(task_id)
    assert (ended["status"], ended["error"]["message"][:20]) == ("failed", "The work took longer")


def test_an_answer_that_does_not_fit_is_an_error_of_the_work(laptop: World) -> None:
    work = Work({"name": NAME})
    laptop.add(work.tool)
    task_id = laptop.begin("pay")

    with working(laptop):
        status(laptop, task_id, "input_required")
        answer(laptop, task_id, name={"action": "maybe"})

    ended = laptop.get(task_id)
    with pytest.raises(Exception, match="action") as refused:
        check_answer("name", NAME, {"action": "maybe"})
    assert str(refused.value) in str(ended)


def test_a_question_may_not_be_endless(laptop: World) -> None:
    long = elicit("?" * TASK_QUESTION_BYTES, {"name": {"type": "string"}})
    seen: list[Exception] = []

    @tool(task="required")
    async def asks(context: Context) -> str:
        """Asks too much, and goes on."""
        context.waits_here = True
        try:
            await context.ask({"name": long})
        except InvalidInputError as error:
            seen.append(error)
        return "on"

    laptop.add(asks)
    task_id = laptop.begin("asks")
    laptop.work()

    assert text_of(laptop.get(task_id)["result"]) == "on"
    assert str(TASK_QUESTION_BYTES) in str(seen)


def own_task(world: World, task_id: str) -> Task:
    return world.requests._own_task(task_id, world.caller.principal)  # type: ignore[arg-type]


def left_alone(world: World) -> str:
    """Return a task whose worker was killed while it waited for an answer."""
    world.add(Work({"name": NAME}).tool)
    task_id = world.begin("pay")
    task = own_task(world, task_id)
    lease = world.leases.take(task.head)
    assert world.store.begin(task, lease, 1) is not None
    assert world.store.ask(task, lease, b'{"name": {"method": "elicitation/create"}}')
    return task_id


def lost(world: World, task_id: str) -> bool:
    ended = world.get(task_id)
    return (ended["status"], ended.get("error")) == ("failed", NOBODY_WAITS)


def test_a_client_learns_at_its_next_look_that_nobody_waits_any_more(world: World) -> None:
    task_id = left_alone(world)
    waits = world.get(task_id)["status"]
    world.clock.move(24 * 3600 / 2)

    assert waits == "input_required"
    assert lost(world, task_id)


def test_the_next_worker_does_not_begin_what_may_have_been_carried_out(world: World) -> None:
    task_id = left_alone(world)
    world.clock.move(3600)
    assert world.work()  # its message comes back

    assert lost(world, task_id)


def test_an_answer_after_the_worker_is_gone_sends_no_job(world: World) -> None:
    task_id = left_alone(world)
    answer(world, task_id, name=said(name="Ann"))

    assert world.get(task_id)["status"] == "working"  # its message comes back later


def test_an_answer_in_the_moment_the_task_is_given_up_continues_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = left_alone(world)
    world.clock.move(3600)
    give_up = TaskStore.fail_stuck

    def answered_first(*args: Any) -> None:
        answer(world, task_id, name=said(name="Ann"))
        give_up(*args)

    monkeypatch.setattr(TaskStore, "fail_stuck", answered_first)
    assert world.work()

    assert text_of(world.get(task_id)["result"]) == "Ann"  # and not `working` for a day


def test_an_answer_that_an_older_version_took_continues_the_task(world: World) -> None:
    task_id = left_alone(world)
    task = own_task(world, task_id)
    world.table.update(
        call_key(task.being_id, task_id),
        Change(set={"answers": json.dumps({"name": said(name="Ann")}).encode()}),
        when=Present(),
    )
    change = Change(  # as before `waiting` was there
        set={"status": "working", "due_ms": world.store.now()},
        add={"round": 1},
        remove=frozenset({"asked"}),
    )
    world.table.update(task.head, change, when=Present())
    world.clock.move(3600)
    assert world.work()

    assert text_of(world.get(task_id)["result"]) == "Ann"


class Careful:
    """A tool that takes an error for a refusal, as the question of a server does."""

    def __init__(self) -> None:
        self.refused: list[Exception] = []
        careful = self

        @tool(task="required")
        async def pay(context: Context) -> str:
            """Asks, and goes on whatever becomes of the question."""
            context.waits_here = True
            try:
                return str(field((await context.ask({"name": NAME}))["name"], "name"))
            except NacreError as error:
                careful.refused.append(error)
                return "refused"

        self.tool = pay


def test_a_store_that_fails_for_a_moment_is_no_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, failures = TaskStore.awaited, iter([UnavailableError("not now")] * 3)

    def awaited(*args: Any) -> Any:
        for failure in failures:
            raise failure
        return look(*args)

    monkeypatch.setattr(TaskStore, "awaited", awaited)
    careful = Careful()
    world.add(careful.tool)
    task_id = world.begin("pay")
    with working(world):
        status(world, task_id, "input_required")
        answer(world, task_id, name=said(name="Ann"))

    assert text_of(world.get(task_id)["result"]) == "Ann"


def test_a_client_that_gives_up_gives_no_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The watch beside the work would stop it too, sooner or later than this.
    monkeypatch.setattr(TaskStore, "store_progress", lambda *_: True)
    careful = Careful()
    world.add(careful.tool)
    task_id = world.begin("pay")
    with working(world):
        status(world, task_id, "input_required")
        world.ask("tasks/cancel", {"taskId": task_id})

    assert world.get(task_id)["status"] == "cancelled"
    assert careful.refused == []


def test_another_lease_may_neither_ask_nor_learn_answers(world: World) -> None:
    task_id = left_alone(world)
    task = world.store.find(world.caller.principal.being_id, task_id)  # type: ignore[union-attr]
    assert task is not None
    other = Lease(task.head, 7)

    assert not world.store.ask(task, other, b"{}")
    with pytest.raises(Exception, match="another worker"):
        world.store.awaited(task, other)


def test_without_a_task_a_question_ends_the_call_as_ever(laptop: World) -> None:
    @tool
    async def asks(context: Context) -> str:
        """Asks."""
        context.waits_here = True
        return str(await context.ask({"name": NAME}))

    laptop.add(asks)
    assert laptop.caller.version == MODERN
    assert laptop.call("asks")["resultType"] == "input_required"
