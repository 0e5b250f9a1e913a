"""A task from its call to its end, over the stores of both wirings."""

import asyncio
import json
import time
from dataclasses import replace
from threading import Semaphore
from typing import Any

import pytest

from nacre import Context, ToolError, ToolResult, tool
from nacre.being.tasks import watch
from nacre.being.tasks.task import head_key
from nacre.core.errors import ConditionFailedError, InvalidParamsError, UnavailableError
from nacre.core.limits import (
    MAX_JSON_DEPTH,
    MAX_RECEIVES,
    TASK_ANSWER_BYTES,
    TASK_INLINE_BYTES,
    TASK_KEPT_SECONDS,
    TASK_NOTE_BYTES,
    TASK_QUESTION_BYTES,
    TASK_RESEND_SECONDS,
)
from nacre.jobs.job import decode_job
from nacre.jobs.lease import Lease
from nacre.jobs.notifying_queue import AnnouncingQueue, JobSignal
from nacre.ports.queue import Queue
from nacre.protocol.principal import READ_ONLY, Principal
from nacre.protocol.versions import LEGACY_VERSIONS
from tests.being.tasks.worlds import CALLER, KEY, World, text_of
from tests.end_to_end.conformance.fixture_questions import elicit, field
from tests.scaffolding.lambda_events import BEING

OTHER_BEING = "0198c1f0-0000-4000-8000-00000000000f"
NAME = elicit("Your name?", {"name": {"type": "string"}})
CITY = elicit("Your city?", {"city": {"type": "string"}})


def said(**content: str) -> dict[str, Any]:
    return {"action": "accept", "content": content}


@tool(task="optional", blocking=True)
async def echo(text: str, context: Context) -> str:
    """Says it back, and how."""
    return f"{text} {'task' if context.task else 'inline'}"


@tool(task="required")
async def asks(context: Context) -> str:
    """Asks two things, then a third."""
    answers = await context.ask({"name": NAME, "city": CITY})
    more = await context.ask({"again": NAME})
    parts = (answers["name"], "name"), (answers["city"], "city"), (more["again"], "name")
    return " ".join(str(field(answer, key)) for answer, key in parts)


def test_a_call_becomes_a_task_and_its_result_is_fetched(world: World) -> None:
    world.add(echo)
    created = world.call("echo", text="hi")
    task_id = created.pop("taskId")
    working = world.get(task_id)
    world.clock.move(2)
    assert world.work()
    finished = world.get(task_id)

    assert created == {
        "resultType": "task",
        "status": "working",
        "createdAt": "2026-07-28T12:00:00.000Z",
        "lastUpdatedAt": "2026-07-28T12:00:00.000Z",
        "ttlMs": 86_400_000,
        "pollIntervalMs": 1000,
        "_meta": created["_meta"],
    }
    assert working == {**created, "resultType": "complete", "taskId": task_id}
    assert (finished["status"], finished["lastUpdatedAt"]) == (
        "completed",
        "2026-07-28T12:00:02.000Z",
    )
    assert finished["result"] == {
        "resultType": "complete",
        "content": [{"type": "text", "text": "hi task"}],
    }
    assert world.outcomes[-1].result == "done"
    assert not world.work()


def test_a_client_that_does_not_take_tasks_waits(world: World) -> None:
    world.add(echo)
    without = replace(world.caller, peer=replace(world.caller.peer, capabilities={}))
    legacy = replace(world.caller, version=LEGACY_VERSIONS[0])

    assert text_of(world.call("echo", text="a", caller=without)) == "a inline"
    assert text_of(world.call("echo", text="b", caller=legacy)) == "b inline"
    assert world.items() == []


def test_a_tool_that_is_only_a_task_says_what_the_client_lacks(laptop: World) -> None:
    laptop.add(asks)
    without = replace(laptop.caller, peer=replace(laptop.caller.peer, capabilities={}))
    legacy = replace(laptop.caller, version=LEGACY_VERSIONS[0])

    refused = laptop.ask("tools/call", {"name": "asks"}, caller=without)["error"]
    reply = laptop.call("asks", caller=legacy)

    required: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    assert (refused["code"], refused["data"]) == (-32021, {"requiredCapabilities": required})
    assert reply["isError"] is True


def test_wrong_arguments_make_no_task(laptop: World) -> None:
    laptop.add(echo)
    refused = laptop.call("echo", text=7)

    assert refused["isError"] is True
    assert laptop.items() == []


def test_a_token_that_only_reads_gets_no_task_where_the_call_can_be_answered(
    laptop: World,
) -> None:
    look = tool(name="look", read_only=True, task="optional", blocking=True)(echo.__wrapped__)
    keep = tool(name="keep", read_only=True, task="required", blocking=True)(echo.__wrapped__)
    laptop.add(look)
    laptop.add(keep)
    reader = laptop.by(Principal("tok_2", BEING, READ_ONLY))

    assert text_of(laptop.call("look", text="a", caller=reader)) == "a inline"
    task_id = laptop.call("keep", text="b", caller=reader)["taskId"]
    laptop.work()
    task = laptop.ask("tasks/get", {"taskId": task_id}, caller=reader)["result"]
    assert text_of(task["result"]) == "b task"
    assert laptop.code("tasks/cancel", task_id, caller=reader) == 403


def test_only_its_maker_knows_a_task(world: World) -> None:
    world.add(echo)
    task_id = world.begin("echo", text="private")
    strangers = [
        world.by(replace(CALLER, subject="tok_2")),
        world.by(replace(CALLER, being_id=OTHER_BEING)),
    ]

    for stranger in strangers:
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            assert world.code(method, task_id, caller=stranger) == -32602
    assert world.get(task_id)["status"] == "working"


@pytest.mark.parametrize(
    "task_id",
    ["", "x", "a" * 36, "../../../etc/passwd", "0198c1f0-0000-4000-8000-0000000000é", "#" * 36],
)
@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_an_unknown_task_is_an_error(laptop: World, method: str, task_id: str) -> None:
    assert laptop.code(method, task_id) == -32602


def test_a_client_that_did_not_declare_tasks_is_told_so(laptop: World) -> None:
    silent = replace(laptop.caller, peer=replace(laptop.caller.peer, capabilities={}))

    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        assert laptop.code(method, "x", caller=silent) == -32021


@pytest.mark.parametrize("method", ["tasks/list", "tasks/result", "tasks/get"])
def test_older_clients_have_no_tasks(laptop: World, method: str) -> None:
    legacy = replace(laptop.caller, version=LEGACY_VERSIONS[0])

    assert laptop.code(method, "x", caller=legacy) == -32601


def test_a_task_dies_with_its_time(world: World) -> None:
    world.add(echo)
    task_id = world.begin("echo", text="hi")
    world.work()
    world.clock.move(TASK_KEPT_SECONDS - 1)
    assert world.get(task_id)["status"] == "completed"
    world.clock.move(2)

    assert world.code("tasks/get", task_id) == -32602
    assert world.items() == []


# What becomes of the work.


def test_a_tool_that_fails_completes_with_its_error(world: World) -> None:
    @tool(task="required")
    async def fails() -> str:
        """Fails."""
        raise ToolError("no luck")

    @tool(task="required")
    async def breaks() -> str:
        """Breaks."""
        raise RuntimeError("a private detail")

    world.add(fails)
    world.add(breaks)
    first, second = world.begin("fails"), world.begin("breaks")
    world.work()
    world.work()

    assert world.get(first)["status"] == world.get(second)["status"] == "completed"
    assert (text_of(world.get(first)["result"]), world.get(first)["result"]["isError"]) == (
        "Error: no luck",
        True,
    )
    assert "private" not in text_of(world.get(second)["result"])


def test_a_protocol_error_fails_the_task(world: World) -> None:
    @tool(task="required")
    async def refuses() -> str:
        """Refuses."""
        raise InvalidParamsError("not like this")

    world.add(refuses)
    task_id = world.begin("refuses")
    world.work()
    failed = world.get(task_id)

    assert (failed["status"], failed["error"]) == (
        "failed",
        {"code": -32602, "message": "not like this"},
    )
    assert failed["statusMessage"] == "not like this"
    assert "result" not in failed


def test_what_is_no_json_fails_the_task(laptop: World) -> None:
    @tool(task="required")
    async def half() -> str:
        """Returns half a character."""
        return "\ud800"

    laptop.add(half)
    task_id = laptop.begin("half")
    laptop.work()

    assert laptop.get(task_id)["error"] == {"code": -32603, "message": "Internal error"}


def test_a_result_may_nest_as_deep_as_a_tool_may_return_it(laptop: World) -> None:
    deep: Any = "bottom"
    for _ in range(MAX_JSON_DEPTH - 1):
        deep = [deep]

    @tool(task="required")
    async def digs() -> ToolResult:
        """Returns something deep."""
        return ToolResult((), structured_content={"deep": deep})

    laptop.add(digs)
    task_id = laptop.begin("digs")
    laptop.work()

    assert laptop.get(task_id)["result"]["structuredContent"] == {"deep": deep}


def test_a_handler_may_not_end_the_worker(laptop: World) -> None:
    @tool(task="required", blocking=True)
    async def leaves() -> str:
        """Leaves."""
        raise SystemExit(3)

    laptop.add(leaves)
    task_id = laptop.begin("leaves")
    laptop.work()

    assert laptop.get(task_id)["result"]["isError"] is True


def test_a_tool_that_is_gone_fails_the_task(laptop: World) -> None:
    laptop.add(echo)
    task_id = laptop.begin("echo", text="hi")
    laptop.server._tools.clear()
    laptop.work()

    assert laptop.get(task_id)["error"]["message"] == "Unknown tool: echo"


def test_progress_is_told_in_the_task(world: World) -> None:
    states: list[Any] = []

    @tool(task="required", blocking=True)
    async def slow(context: Context) -> str:
        """Says how far it is."""
        context.progress(2, 5, "reading")
        context.log("error", "a task has no log")
        end = time.monotonic() + 60
        while time.monotonic() < end and not states:
            task = world.get(world_task[0])
            if "statusMessage" in task:
                states.append(task["statusMessage"])
            time.sleep(0.005)  # the store of this test serves one thread at a time
        return "done"

    world.add(slow)
    world_task = [world.begin("slow")]
    world.work()

    assert states == ["2 of 5: reading"]
    assert "statusMessage" not in world.get(world_task[0])


# Large things, and secrets.


def test_large_arguments_and_results_are_blobs_that_end_with_their_use(world: World) -> None:
    world.add(echo)
    large = "x" * TASK_INLINE_BYTES
    task_id = world.begin("echo", text=large)
    assert [path.name for path in world.blob_files()] == ["call.json.blob"]
    assert all(len(repr(item)) < 2000 for item in world.items())
    world.work()
    finished = world.get(task_id)

    assert text_of(finished["result"]) == f"{large} task"
    assert [path.name for path in world.blob_files()] == ["result-1.json.blob"]
    assert all(len(repr(item)) < 2000 for item in world.items())


@pytest.mark.parametrize("spare", [0, 1])
def test_contents_at_the_bound_are_still_an_item(laptop: World, spare: int) -> None:
    attributes = laptop.store.contents.store(
        f"{BEING}/x.json", b"x" * (TASK_INLINE_BYTES + spare), until=laptop.clock.at(60)
    )

    assert ("blob" in attributes) == (spare == 1)


def test_a_cancelled_task_leaves_no_blob(laptop: World) -> None:
    laptop.add(echo)
    task_id = laptop.begin("echo", text="x" * TASK_INLINE_BYTES)
    laptop.ask("tasks/cancel", {"taskId": task_id})

    assert laptop.blob_files() == []
    assert laptop.kinds() == ["TASK"]


def test_a_blob_that_is_gone_fails_the_task(laptop: World) -> None:
    laptop.add(echo)
    task_id = laptop.begin("echo", text="x" * TASK_INLINE_BYTES)
    for path in laptop.blob_files():
        path.unlink()
    laptop.work()

    assert laptop.get(task_id)["error"]["code"] == -32602
    assert laptop.outcomes[-1].result == "done"


def test_the_callers_key_is_sealed_and_ends_with_the_task(world: World) -> None:
    keys: list[str | None] = []

    @tool(task="required")
    async def keyed(context: Context) -> str:
        """Uses the key."""
        keys.append(context.llm_api_key)
        return "done"

    world.add(keyed)
    task_id = world.begin("keyed")
    assert any("sealed" in item for item in world.items())
    assert KEY not in repr(world.items())
    world.work()

    assert keys == [KEY]
    assert world.get(task_id)["status"] == "completed"
    assert world.kinds() == ["RESULT", "TASK"]
    assert not any("sealed" in item for item in world.items())


def test_a_header_without_a_key_is_none(laptop: World) -> None:
    laptop.add(echo)
    laptop.call("echo", text="hi", caller=replace(laptop.caller, llm_api_key=""))

    assert not any("sealed" in item for item in laptop.items())
    assert laptop.work()


def test_a_key_opens_in_no_other_task(laptop: World) -> None:
    @tool(task="required")
    async def keyed(context: Context) -> str:
        """Uses the key."""
        return str(context.llm_api_key)

    laptop.add(keyed)
    mine = laptop.begin("keyed")
    sealed = next(item["sealed"] for item in laptop.items() if "sealed" in item)
    theirs = laptop.begin("keyed")
    for item in laptop.items():
        if item["sk"] == f"CALL#{theirs}":
            laptop.table.put({**item, "sealed": sealed})
    laptop.work()
    laptop.work()

    assert laptop.get(mine)["status"] == "completed"
    assert laptop.get(theirs)["status"] == "failed"
    assert KEY not in json.dumps(laptop.get(theirs))


# Questions.


def test_a_task_asks_waits_and_goes_on(world: World) -> None:
    world.add(asks)
    task_id = world.begin("asks")
    world.work()
    first = world.get(task_id)
    world.ask("tasks/update", {"taskId": task_id, "inputResponses": {"name": said(name="Ann")}})
    partly = world.get(task_id)
    assert not world.work()
    answers = {"city": said(city="Oslo"), "name": said(name="Eve"), "unknown": said(x="y")}
    acknowledged = world.ask("tasks/update", {"taskId": task_id, "inputResponses": answers})
    going_on = world.get(task_id)
    world.work()
    second = world.get(task_id)
    world.ask("tasks/update", {"taskId": task_id, "inputResponses": {"again": said(name="Bo")}})
    world.work()
    finished = world.get(task_id)

    assert (first["status"], first["inputRequests"]) == (
        "input_required",
        {"name": NAME, "city": CITY},
    )
    assert (partly["status"], partly["inputRequests"]) == ("input_required", {"city": CITY})
    assert {key for key in acknowledged["result"] if key != "_meta"} == {"resultType"}
    assert (going_on["status"], "inputRequests" in going_on) == ("working", False)
    assert second["inputRequests"] == {"again": NAME}
    assert text_of(finished["result"]) == "Ann Oslo Bo"


def test_answers_nobody_waits_for_are_ignored(laptop: World) -> None:
    laptop.add(echo)
    task_id = laptop.begin("echo", text="hi")
    update = {"taskId": task_id, "inputResponses": {"name": said(name="Ann")}}

    assert laptop.ask("tasks/update", update)["result"]["resultType"] == "complete"
    laptop.work()
    assert laptop.ask("tasks/update", update)["result"]["resultType"] == "complete"
    assert text_of(laptop.get(task_id)["result"]) == "hi task"
    assert not laptop.work()


@pytest.mark.parametrize("answers", [[], "yes", {"name": "Ann"}, {"name": None}])
def test_answers_of_another_shape_are_an_error(laptop: World, answers: Any) -> None:
    laptop.add(asks)
    task_id = laptop.begin("asks")
    laptop.work()

    refused = laptop.ask("tasks/update", {"taskId": task_id, "inputResponses": answers})

    assert refused["error"]["code"] == -32602
    assert len(laptop.get(task_id)["inputRequests"]) == 2


def test_answers_and_questions_have_bounds(laptop: World) -> None:
    @tool(task="required")
    async def verbose(context: Context) -> str:
        """Asks too much."""
        await context.ask({"much": elicit("x" * TASK_QUESTION_BYTES, {})})
        return ""

    laptop.add(asks)
    laptop.add(verbose)
    task_id, verbose_id = laptop.begin("asks"), laptop.begin("verbose")
    laptop.work()
    laptop.work()
    long = {"name": said(name="x" * TASK_ANSWER_BYTES)}
    refused = laptop.ask("tasks/update", {"taskId": task_id, "inputResponses": long})

    assert refused["error"]["code"] == -32602
    assert laptop.get(task_id)["status"] == "input_required"
    assert laptop.get(verbose_id)["status"] == "failed"


def test_what_was_asked_before_the_task_is_not_asked_again(world: World) -> None:
    @tool
    async def composed(context: Context) -> str:
        """Asks, then goes on as a task."""
        name = field((await context.ask({"name": NAME}))["name"], "name")
        await context.as_task(required=True)
        city = field((await context.ask({"city": CITY}))["city"], "city")
        return f"{name} {city}"

    world.add(composed)
    first = world.call("composed")
    params = {
        "name": "composed",
        "arguments": {},
        "requestState": first["requestState"],
        "inputResponses": {"name": said(name="Ann")},
    }
    created = world.ask("tools/call", params)["result"]
    world.work()
    world.ask(
        "tasks/update", {"taskId": created["taskId"], "inputResponses": {"city": said(city="Oslo")}}
    )
    world.work()

    assert (first["resultType"], created["resultType"]) == ("input_required", "task")
    assert text_of(world.get(created["taskId"])["result"]) == "Ann Oslo"


# The end that somebody wants.


@pytest.mark.parametrize("when", ["before", "parked", "after"])
def test_a_task_can_be_given_up(world: World, when: str) -> None:
    world.add(asks)
    world.add(echo)
    task_id = world.begin("asks") if when == "parked" else world.begin("echo", text="hi")
    if when != "before":
        world.work()
    acknowledged = world.ask("tasks/cancel", {"taskId": task_id})["result"]
    again = world.ask("tasks/cancel", {"taskId": task_id})["result"]
    world.work()

    assert {key for key in acknowledged if key != "_meta"} == {"resultType"}
    assert again == acknowledged
    ended = world.get(task_id)
    assert ended["status"] == ("completed" if when == "after" else "cancelled")
    assert "CALL" not in world.kinds()
    assert not world.work()


def test_work_that_is_given_up_stops(laptop: World) -> None:
    stopped: list[str] = []

    @tool(task="required")
    async def sleeps(context: Context) -> str:
        """Sleeps until it is stopped."""
        laptop.ask("tasks/cancel", {"taskId": task_ids[0]})
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            stopped.append("sleeps")
            raise
        return "slept"

    @tool(task="required", blocking=True)
    async def waits(context: Context) -> str:
        """Looks whether it is given up."""
        laptop.ask("tasks/cancel", {"taskId": task_ids[1]})
        end = time.monotonic() + 60
        while not context.cancelled and time.monotonic() < end:
            time.sleep(0.01)
        stopped.append("waits" if context.cancelled else "was not stopped")
        return "waited"

    laptop.add(sleeps)
    laptop.add(waits)
    task_ids = [laptop.begin("sleeps"), laptop.begin("waits")]
    laptop.work()
    laptop.work()

    assert stopped == ["sleeps", "waits"]
    assert [laptop.get(task_id)["status"] for task_id in task_ids] == ["cancelled"] * 2
    assert [outcome.result for outcome in laptop.outcomes] == ["done"] * 2


def test_work_that_takes_too_long_fails(laptop: World) -> None:
    @tool(task="required")
    async def sleeps() -> str:
        """Sleeps."""
        await asyncio.sleep(30)
        return "slept"

    laptop.add(sleeps)
    task_id = laptop.begin("sleeps")
    laptop.work(seconds=0.02)
    failed = laptop.get(task_id)

    assert (failed["status"], failed["error"]["code"]) == ("failed", -32603)
    assert "took longer" in failed["error"]["message"]


# Queues and workers that fail.


class BrokenQueue:
    """A queue that cannot be reached."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue

    def __getattr__(self, name: str) -> Any:
        return getattr(self.queue, name)

    def send(self, body: str, *, group: str, dedupe_key: str | None = None) -> str:
        raise UnavailableError("the queue is away")


def test_a_task_whose_job_cannot_be_sent_is_none(world: World) -> None:
    world.add(echo)
    working, world.queue = world.queue, BrokenQueue(world.queue)
    refused = world.call("echo", text="hi")
    world.queue = working

    assert (refused["isError"], "taskId" in refused) == (True, False)
    assert "the queue is away" in text_of(refused)
    assert world.kinds() == ["TASK"]
    assert not world.work()


def test_a_being_that_is_gone_gets_no_task(laptop: World) -> None:
    laptop.add(echo)
    stranger = laptop.by(replace(CALLER, being_id=OTHER_BEING))

    assert laptop.call("echo", text="hi", caller=stranger)["isError"] is True
    assert not laptop.work()


def test_an_answer_whose_job_was_lost_is_sent_again(world: World) -> None:
    world.add(asks)
    task_id = world.begin("asks")
    world.work()
    answers = {"name": said(name="Ann"), "city": said(city="Oslo")}
    working, world.queue = world.queue, BrokenQueue(world.queue)
    lost = world.ask("tasks/update", {"taskId": task_id, "inputResponses": answers})
    world.queue = working
    assert world.get(task_id)["status"] == "working"
    assert not world.work()
    world.clock.move(TASK_RESEND_SECONDS + 1)
    world.get(task_id)
    world.get(task_id)

    assert lost["error"]["code"] == 503
    assert world.work()
    assert world.get(task_id)["inputRequests"] == {"again": NAME}
    assert not world.work()


def test_a_job_that_comes_twice_is_done_once(world: World) -> None:
    calls: list[int] = []

    @tool(task="required", blocking=True)
    async def counts() -> str:
        """Counts."""
        calls.append(1)
        return "done"

    world.add(counts)
    task_id = world.begin("counts")
    message = world.queue.receive()
    assert message is not None
    world.queue.done(message)
    for again in range(3):
        world.queue.send(message.body, group=f"{message.group}-{again}")
    while world.work():
        pass

    assert calls == [1]
    assert world.get(task_id)["status"] == "completed"


def test_two_workers_do_not_work_on_one_task(world: World) -> None:
    inner: list[str] = []

    @tool(task="required", blocking=True)
    async def counts() -> str:
        """Has another worker look for work meanwhile."""
        world.queue.send(bodies[0], group="another")
        world.work()
        inner.append(world.outcomes[-1].result)
        return "done"

    world.add(counts)
    task_id = world.begin("counts")
    message = world.queue.receive()
    assert message is not None
    bodies = [message.body]
    world.queue.postpone(message, 0)
    world.work()

    assert inner == ["busy"]
    assert world.get(task_id)["status"] == "completed"


def test_after_a_crash_another_worker_begins_again(world: World) -> None:
    attempts: list[tuple[str, int]] = []

    class Crash(BaseException):
        """The process is gone."""

    @tool(task="required", blocking=True)
    async def crashes(context: Context) -> str:
        """Dies the first time."""
        assert context.task is not None
        attempts.append((context.task.id, context.task.attempt))
        if len(attempts) == 1:
            context.task.keep({"done": ["one"]})
            raise Crash
        return f"after {context.task.notes['done']}"

    world.add(crashes)
    task_id = world.begin("crashes")
    with pytest.raises(Crash):
        world.work()
    assert world.get(task_id)["status"] == "working"
    world.clock.move(301)  # the delivery is over, and the lease with it
    world.work()

    assert attempts == [(task_id, 1), (task_id, 2)]
    assert text_of(world.get(task_id)["result"]) == "after ['one']"


def test_a_task_that_no_worker_survives_fails_in_the_end(world: World) -> None:
    class Crash(BaseException):
        """The process is gone."""

    @tool(task="required", blocking=True)
    async def deadly() -> str:
        """Dies."""
        raise Crash

    world.add(deadly)
    task_id = world.begin("deadly")
    for _ in range(MAX_RECEIVES):
        assert world.get(task_id)["status"] == "working"
        with pytest.raises(Crash):
            world.work()
        world.clock.move(301)
    assert not world.work()
    failed = world.get(task_id)

    assert (failed["status"], failed["error"]["code"]) == ("failed", -32603)
    assert "CALL" not in world.kinds()


def test_long_work_keeps_its_lease_and_its_job(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "TASK_RENEW_SECONDS", 0.0)
    renewals, renew = Semaphore(0), world.leases.renew
    observations: list[object] = []

    def counted(lease: Lease) -> None:
        renewals.release()
        renew(lease)

    monkeypatch.setattr(world.leases, "renew", counted)

    @tool(task="required", blocking=True)
    async def long(context: Context) -> str:
        """Takes ten minutes, and looks whether another worker could begin."""
        assert context.task is not None
        for _ in range(4):
            world.clock.move(150)
            while renewals.acquire(blocking=False):
                pass
            # When the second one begins, the first has kept both.
            assert all(renewals.acquire(timeout=60) for _ in range(2))
        head = head_key(BEING, context.task.id)
        observations.append(world.leases.is_held(head))
        observations.append(world.queue.receive())
        return "done"

    world.add(long)
    task_id = world.begin("long")
    world.work()

    assert observations == [True, None]
    assert world.get(task_id)["status"] == "completed"


def test_an_attempt_that_lost_its_lease_to_another_changes_nothing(world: World) -> None:
    world.add(echo)
    task = world.store.find(BEING, world.begin("echo", text="hi"))
    assert task is not None
    lost_lease = world.leases.take(task.head)
    world.store.begin(task, lost_lease, 1)
    world.clock.move(301)
    mine = world.leases.take(task.head)
    store = world.store
    outcome: dict[str, Any] = {"result": {"content": []}}

    assert store.begin(task, lost_lease, 2) is None
    assert not store.store_progress(task, lost_lease, None)
    assert not store.store_progress(task, lost_lease, "far")
    assert not store.park(task, lost_lease, b"{}", b"{}")
    assert store.go_on(task, lost_lease) is None
    assert not store.finish(task, lost_lease, "completed", outcome, None)
    with pytest.raises(ConditionFailedError):
        store.note(task, lost_lease, b"{}")
    assert world.get(task.task_id)["status"] == "working"
    assert store.store_progress(task, mine, "far")
    assert store.finish(task, mine, "completed", outcome, None)
    assert not store.finish(task, mine, "completed", outcome, None)


def test_a_worker_that_lost_its_lease_hears_of_it(world: World) -> None:
    heard: list[bool] = []

    @tool(task="required", blocking=True)
    async def late(context: Context) -> str:
        """Is overtaken by another worker at the first attempt."""
        assert context.task is not None
        if context.task.attempt == 1:
            world.clock.move(301)
            world.work()
            end = time.monotonic() + 60
            while not context.cancelled and time.monotonic() < end:
                time.sleep(0.01)
            heard.append(context.cancelled)
        return f"attempt {context.task.attempt}"

    world.add(late)
    task_id = world.begin("late")
    world.work()

    assert heard == [True]
    assert text_of(world.get(task_id)["result"]) == "attempt 2"


def test_an_attempt_can_end_so_that_other_work_gets_its_turn(world: World) -> None:
    order: list[str] = []

    @tool(task="required", blocking=True)
    async def sliced(context: Context, name: str) -> str:
        """Takes three attempts."""
        assert context.task is not None
        slice_number = context.task.notes.get("done", 0) + 1
        order.append(f"{name}{slice_number}")
        context.task.keep({"done": slice_number})
        if slice_number < 3:
            context.task.go_on_later()
        return f"{name} after {slice_number}"

    world.add(sliced)
    first, second = world.begin("sliced", name="a"), world.begin("sliced", name="b")
    while world.work():
        pass

    assert order == ["a1", "b1", "a2", "b2", "a3", "b3"]
    assert text_of(world.get(first)["result"]) == "a after 3"
    assert text_of(world.get(second)["result"]) == "b after 3"
    assert {outcome.attempt for outcome in world.outcomes} == {1}


def test_notes_have_a_bound(laptop: World) -> None:
    @tool(task="required", blocking=True)
    async def notes(context: Context) -> str:
        """Keeps too much."""
        assert context.task is not None
        context.task.keep({"x": "y" * TASK_NOTE_BYTES})
        return ""

    laptop.add(notes)
    task_id = laptop.begin("notes")
    laptop.work()

    assert "at most" in text_of(laptop.get(task_id)["result"])


# The queue.


def test_tasks_of_one_group_wait_for_one_another(laptop: World) -> None:
    @tool(blocking=True)
    async def grouped(context: Context, group: str) -> str:
        """Goes on as a task of a group."""
        await context.as_task(group, required=True)
        return "done"

    laptop.add(grouped)
    laptop.add(echo)
    laptop.begin("grouped", group="order#1")
    laptop.begin("grouped", group="order#1")
    task_id = laptop.begin("echo", text="hi")
    groups = []
    while (message := laptop.queue.receive()) is not None:
        groups.append(message.group)

    assert groups == [f"{BEING}#order#1", f"{BEING}#task#{task_id}"]
    assert laptop.call("grouped", group="no blanks")["isError"] is True


def test_a_job_carries_ids_and_nothing_else(laptop: World) -> None:
    laptop.add(echo)
    task_id = laptop.begin("echo", text="private words")
    message = laptop.queue.receive()
    assert message is not None
    job = decode_job(message.body)

    assert (job.kind, job.being_id, job.refs) == ("task", BEING, {"task": task_id, "round": "0"})


def test_sending_a_job_rings_the_bell(laptop: World) -> None:
    rung: list[int] = []
    laptop.queue = AnnouncingQueue(laptop.queue, JobSignal(lambda: rung.append(1)))
    laptop.add(echo)
    laptop.begin("echo", text="hi")

    assert rung == [1]
