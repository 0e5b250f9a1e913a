"""The tool `trigger_patrol`: what it hands over, what it waits for, and what it says."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from nacre.being.memory.model import keys
from nacre.being.patrol.compare.neighbours import NeighbourSearch
from nacre.being.patrol.jobs import LEASE
from nacre.being.patrol.patrol import Patrol
from nacre.being.patrol.run.claim import claim
from nacre.being.patrol.run.runs import run_id_of
from nacre.core.errors import InvalidInputError, UnavailableError
from nacre.jobs.job import decode_job
from nacre.jobs.lease import Lease, Leases
from nacre.ports.items.table import Key
from nacre.ports.queue import Message
from nacre.protocol.context import Context
from tests.adapters.conftest import StillClock
from tests.being.memory.conftest import a_mind
from tests.being.memory.minds import Minded, ticking
from tests.being.tools.writing import SCENE, Served
from tests.scaffolding.model_server import failing, model_server

MESSAGES = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
KEY = "sk-test-0123456789"


@pytest.fixture
def tools(mind: Minded) -> Served:
    return Served(mind)


@pytest.mark.requirement("003.trigger_patrol.answer")
def test_a_patrol_makes_memories_before_the_call_returns(tools: Served) -> None:
    tools.call("update_notes", scenes=[SCENE, {**SCENE, "action": "Bob sold his boat"}])
    answer = tools.call("trigger_patrol", messages=MESSAGES)

    assert list(answer)[:4] == ["status", "scenes_created", "nodes_created", "marker_id"]
    assert (answer["status"], answer["scenes_created"], answer["nodes_created"]) == ("ok", 0, 2)
    assert (answer["messages_stored"], answer["messages_known"]) == (2, 0)
    assert answer["run_id"] == run_id_of(tools.being_id, 1)
    assert len(answer["marker_id"]) == 36
    assert tools.memory.trigger.pending(tools.being_id) == (0, 0)
    assert tools.queue.depth().waiting == 0


@pytest.mark.requirement("003.trigger_patrol.empty")
def test_without_messages_it_processes_the_scenes_that_wait(tools: Served) -> None:
    nothing = tools.call("trigger_patrol", messages=[])
    tools.call("update_notes", scenes=[SCENE])
    answer = tools.call("trigger_patrol", messages=[])

    assert nothing == {
        "status": "ok",
        "scenes_created": 0,
        "nodes_created": 0,
        "marker_id": "",
        "messages_stored": 0,
        "messages_known": 0,
        "reasons": ["nothing to do: no scene and no message waits"],
    }
    assert (answer["status"], answer["nodes_created"], answer["messages_stored"]) == ("ok", 1, 0)


@pytest.mark.requirement("003.trigger_patrol.no-key")
def test_without_a_key_no_scene_is_taken_from_messages_and_the_reason_is_said(
    tools: Served,
) -> None:
    answer = tools.call("trigger_patrol", messages=MESSAGES)

    assert (answer["status"], answer["scenes_created"]) == ("ok", 0)
    assert any("no_llm" in reason for reason in answer["reasons"])


def test_the_same_batch_again_changes_nothing(tools: Served) -> None:
    first = tools.call("trigger_patrol", messages=MESSAGES)
    runs = tools.mind.runs()
    again = tools.call("trigger_patrol", messages=MESSAGES)
    marked = tools.call("trigger_patrol", messages=MESSAGES, marker_id=first["marker_id"])

    for answer in (again, marked):
        assert (answer["status"], answer["messages_stored"]) == ("ok", 0)
        assert answer["messages_known"] == 2
        assert answer["marker_id"] == first["marker_id"]
    assert tools.mind.runs() == runs


def test_what_a_batch_shares_with_its_markers_history_is_known(tools: Served) -> None:
    first = tools.call("trigger_patrol", messages=MESSAGES)
    more = [MESSAGES[1], {"role": "user", "content": "and how are you?"}]
    answer = tools.call("trigger_patrol", messages=more, marker_id=first["marker_id"])

    assert (answer["messages_known"], answer["messages_stored"]) == (1, 1)
    assert answer["marker_id"] != first["marker_id"]


def test_an_unknown_marker_is_said(tools: Served) -> None:
    answer = tools.call("trigger_patrol", messages=MESSAGES, marker_id="made up")

    assert answer["reasons"][0].startswith("the marker is not known")
    assert answer["messages_stored"] == 2


def lease_of(mind: Minded) -> Key:
    return Key(keys.home(mind.being_id), f"LOCK#{LEASE}")


def running(mind: Minded, clock: StillClock) -> Lease:
    """Begin a run as a worker that is at it now."""
    lease = Leases(mind.table, now=clock).take(lease_of(mind))
    claim(
        mind.table,
        mind.being_id,
        trigger="auto",
        now="2026-07-01T10:00:00.000Z",
        model=None,
        lease=lease,
    )
    return lease


def test_while_one_runs_a_second_call_joins_it(tools: Served, clock: StillClock) -> None:
    tools.call("update_notes", scenes=[SCENE])
    lease = running(tools.mind, clock)
    answer = tools.call("trigger_patrol", messages=MESSAGES)

    assert (answer["status"], answer["run_id"]) == ("running", run_id_of(tools.being_id, 1))
    assert answer["reasons"] == [
        "a patrol was running already; anything sent now is processed after it ends"
    ]
    assert answer["marker_id"]
    assert tools.call("trigger_patrol", messages=[])["status"] == "running"
    assert tools.queue.depth().waiting == 1

    # What was handed over meanwhile is taken once that run has ended.
    Leases(tools.mind.table, now=clock).give_back(lease)
    tools.memory.trigger.ask(tools.being_id)
    assert set(tools.mind.work()) == {"done"}
    assert [run.state for run in tools.mind.runs()] == ["done", "done"]
    assert tools.mind.runs()[1].run_id == answer["run_id"]
    assert tools.memory.trigger.pending(tools.being_id) == (0, 0)


def test_a_run_whose_worker_died_is_not_joined_but_resumed(
    tools: Served, clock: StillClock
) -> None:
    tools.call("update_notes", scenes=[SCENE])
    running(tools.mind, clock)
    clock.move(301)  # its lease has ended
    answer = tools.call("trigger_patrol", messages=[])

    assert (answer["status"], answer["run_id"]) == ("ok", run_id_of(tools.being_id, 1))
    assert answer["nodes_created"] == 1


def test_a_call_that_waits_too_long_is_told_the_run_that_goes_on(tools: Served) -> None:
    tools.call("update_notes", scenes=[SCENE])
    idle(tools.mind)
    answer = tools.call("trigger_patrol", messages=[])

    assert (answer["status"], answer["run_id"]) == ("running", run_id_of(tools.being_id, 1))
    assert answer["reasons"][0] == "the patrol is queued and has not begun"
    tools.mind.work()
    assert [run.state for run in tools.mind.runs()] == ["done"]


def idle(mind: Minded) -> None:
    """Let nobody work while a caller waits."""
    calls = replace(mind.patrolling.calls, sleep=lambda _seconds: None, monotonic=ticking())
    mind.patrolling.calls = calls


def test_a_queue_that_is_down_keeps_the_messages_and_says_so(
    tools: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: Any, **__: Any) -> str:
        raise UnavailableError("the queue cannot answer")

    with monkeypatch.context() as patch:
        patch.setattr(type(tools.queue), "send", down)
        with pytest.raises(Exception, match="the queue cannot answer"):
            tools.call("trigger_patrol", messages=MESSAGES)
    answer = tools.call("trigger_patrol", messages=MESSAGES)

    assert (answer["messages_known"], answer["status"]) == (2, "ok")
    assert tools.memory.trigger.pending(tools.being_id) == (0, 0)


def taken(mind: Minded) -> Message:
    message = mind.queue.receive()
    assert message is not None
    return message


def called_with_key(mind: Minded, **arguments: Any) -> None:
    context = Context(principal=mind.context().principal, llm_api_key=KEY)
    asyncio.run(mind.server.call_tool("trigger_patrol", {"messages": [], **arguments}, context))


@pytest.fixture(params=["laptop", "lambda"])
def refused(request: pytest.FixtureRequest, clock: StillClock) -> Iterator[Minded]:
    """A mind whose model's provider knows no key."""
    with model_server() as server:
        server.reply = failing(401)
        yield from a_mind(request, clock, llm_base_url=server.url)


def test_the_key_of_the_caller_goes_to_the_queue_by_name_and_ends_with_the_run(
    refused: Minded,
) -> None:
    mind = refused
    mind.note("Ann fed the cat")
    idle(mind)
    called_with_key(mind)
    message = taken(mind)
    refs = decode_job(message.body).refs
    kept = [item for item in home(mind) if str(item["sk"]).startswith("SECRET#RUN#")]

    assert set(refs) == {"trigger", "key"}
    assert KEY not in message.body + repr(home(mind))
    assert len(kept) == 1

    mind.queue.postpone(message, 0)
    mind.work()
    assert [item for item in home(mind) if str(item["sk"]).startswith("SECRET#")] == []


def test_a_key_that_is_none_is_refused_before_anything_is_stored(mind: Minded) -> None:
    context = Context(principal=mind.context().principal, llm_api_key="two words")
    with pytest.raises(InvalidInputError, match="not the key of a language model provider"):
        asyncio.run(mind.server.call_tool("trigger_patrol", {"messages": MESSAGES}, context))

    assert mind.mind.memory.trigger.pending(mind.being_id) == (0, 0)
    assert mind.queue.depth().waiting == 0


def test_a_key_ends_with_the_last_attempt_whatever_that_died_of(
    mind: Minded, clock: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    mind.note("Ann fed the cat")
    idle(mind)
    called_with_key(mind)
    monkeypatch.setattr(Patrol, "run", broken)
    for _ in range(3):
        assert mind.work() == ["failed"]
        clock.move(11)

    assert [item for item in home(mind) if str(item["sk"]).startswith("SECRET#")] == []


def home(mind: Minded) -> tuple[Any, ...]:
    return mind.table.query(keys.home(mind.being_id)).items


def test_a_client_that_asks_is_told_how_far_it_is(mind: Minded, clock: StillClock) -> None:
    mind.note("Ann fed the cat")
    told: list[dict[str, Any]] = []

    class Channel:
        can_ask = False
        cancelled = False

        def notify(self, method: str, params: dict[str, Any]) -> None:
            told.append({"method": method, **params})

        async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
            raise AssertionError("nothing to ask")

    running(mind, clock)
    clock.move(301)  # a run that somebody began, so there is something to tell at once
    context = Context(principal=mind.context().principal, progress_token="p", channel=Channel())
    asyncio.run(mind.server.call_tool("trigger_patrol", {"messages": []}, context))

    assert told
    assert {each["method"] for each in told} == {"notifications/progress"}
    steps = [each["progress"] for each in told]
    assert steps == sorted(set(steps))
    assert all(each["progress"] <= each["total"] for each in told)


def test_a_client_that_gives_up_ends_the_waiting_and_not_the_patrol(mind: Minded) -> None:
    mind.note("Ann fed the cat")
    idle(mind)

    class Gone:
        can_ask = False
        cancelled = True

        def notify(self, method: str, params: dict[str, Any]) -> None: ...

        async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
            raise AssertionError("nothing to ask")

    context = Context(principal=mind.context().principal, channel=Gone())
    asyncio.run(mind.server.call_tool("trigger_patrol", {"messages": []}, context))
    mind.work()

    assert [run.state for run in mind.runs()] == ["done"]


def test_ten_scenes_fire_one_patrol_that_really_runs(tools: Served) -> None:
    for number in range(12):
        tools.call("update_notes", scenes=[{**SCENE, "action": f"Ann met friend number {number}"}])

    assert tools.mind.work() == ["done"]
    assert [(run.trigger, run.state) for run in tools.mind.runs()] == [("auto", "done")]
    assert tools.memory.trigger.pending(tools.being_id) == (0, 0)
    answer = tools.call("update_notes", scenes=[SCENE])
    assert answer["patrol"] == "fires at 10 pending scenes"


def test_after_a_patrol_that_was_asked_for_the_tenth_scene_fires(tools: Served) -> None:
    tools.call("update_notes", scenes=[SCENE])
    tools.call("trigger_patrol", messages=[])
    fired = [
        tools.call("update_notes", scenes=[{**SCENE, "action": f"Ann met friend {number}"}])
        for number in range(10)
    ]

    assert [each["patrol"] for each in fired[8:]] == ["fires at 10 pending scenes", "fired"]
    assert tools.mind.work() == ["done"]
    assert [run.trigger for run in tools.mind.runs()] == ["auto", "manual"]


def test_two_jobs_for_the_same_work_make_one_run(tools: Served) -> None:
    tools.call("update_notes", scenes=[SCENE])
    tools.memory.trigger.ask(tools.being_id)
    tools.memory.trigger.ask(tools.being_id)

    assert tools.mind.work() == ["done", "done"]
    assert len(tools.mind.runs()) == 1


def test_a_job_for_a_being_that_is_gone_is_done(tools: Served) -> None:
    tools.memory.trigger.ask(tools.being_id)
    tools.mind.table.delete(keys.meta(tools.being_id))

    assert tools.mind.work() == ["done"]
    assert tools.mind.table.get(keys.meta(tools.being_id)) is None


def test_the_sweep_has_what_waits_taken(tools: Served) -> None:
    tools.call("update_notes", scenes=[SCENE])
    tools.mind.patrolling.jobs.trigger.sweep()

    assert tools.mind.work() == ["done"]
    assert [run.trigger for run in tools.mind.runs()] == ["sweep"]
    tools.mind.patrolling.jobs.trigger.sweep()
    assert tools.mind.work() == []


def test_a_run_that_takes_longer_than_a_worker_has_goes_on_in_another_job(
    tools: Served, clock: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools.call("update_notes", scenes=[SCENE])
    kept = Leases.renewals

    def slow(leases: Leases, lease: Lease) -> Callable[[], None]:
        renew = kept(leases, lease)

        def renew_late() -> None:
            renew()
            clock.move(250)

        return renew_late

    monkeypatch.setattr(Leases, "renewals", slow)
    tools.memory.trigger.ask(tools.being_id)

    results = tools.mind.work()
    assert set(results) == {"done"}
    assert len(results) > 1
    assert [run.state for run in tools.mind.runs()] == ["done"]
    assert tools.memory.trigger.pending(tools.being_id) == (0, 0)


def test_a_patrol_that_cannot_go_on_says_why_and_the_sweep_takes_it_up(
    tools: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: Any, **__: Any) -> None:
        raise UnavailableError("the index cannot be reached")

    tools.call("update_notes", scenes=[SCENE])
    with monkeypatch.context() as patch:
        patch.setattr(NeighbourSearch, "around", down)
        first = tools.call("trigger_patrol", messages=[])
        again = tools.call("trigger_patrol", messages=[])
        assert tools.mind.work() == []
    tools.mind.patrolling.jobs.trigger.sweep()

    for answer in (first, again):
        assert (answer["status"], answer["nodes_created"]) == ("blocked", 0)
        assert "the index cannot be reached" in answer["reasons"][0]
        assert answer["run_id"] == run_id_of(tools.being_id, 1)
    assert tools.mind.work() == ["done"]
    [run] = tools.mind.runs()
    assert (run.state, run.counts["nodes_created"]) == ("done", 1)
