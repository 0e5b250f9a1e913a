"""Calls of other servers that become tasks: questions in the middle of a call reach the client."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from nacre.being.tasks.store import TaskStore
from nacre.core.errors import UnavailableError
from nacre.core.limits import RECEIVED_SECONDS
from nacre.core.logs import Log
from nacre.faces.aws_lambda.patrol_worker import worker_handler
from nacre.firewall.entry.noted_results import NotedResults
from nacre.protocol.http import error_map
from nacre.protocol.versions import MODERN, TASKS
from nacre.wiring.compose import Home
from tests.gateway.asking_upstream import FORM, AskingUpstream, asking_upstream
from tests.gateway.http_upstream import http_upstream
from tests.scaffolding.deployments import Deployment, on_laptop, on_stack
from tests.scaffolding.gateway_world import EVERYTHING_GOES
from tests.scaffolding.lambda_events import LambdaContext
from tests.scaffolding.waiting import until

TAKES: Mapping[str, Any] = {"extensions": {TASKS: {}}, "elicitation": {}}
YES = {"action": "accept", "content": {"code": "4711"}}
NO_QUESTIONS = """
[[rule]]
action = "deny"
method = "elicitation/create"
server = "shop"
"""
AFTERWARDS = """
[[rule]]
action = "deny"
tool = "get_current_time"
tainted = true
description = "Not after the shop"
"""


class World(Deployment):
    """A deployment behind which a shop asks before it is paid, and a client that takes tasks."""

    shop: AskingUpstream
    job: threading.Thread | None = None

    def modern(self, method: str, params: Mapping[str, Any], **caller: Any) -> dict[str, Any]:
        caller = {"version": MODERN, "capabilities": TAKES, **caller}
        return self.request(method, params, **caller)

    def begin(self, tool: str = "pay", **caller: Any) -> dict[str, Any]:
        answer = self.modern(
            "tools/call", {"name": f"mcp__shop__{tool}", "arguments": {}}, **caller
        )
        result: dict[str, Any] = answer["result"]
        return result

    def task(self, task_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.modern("tasks/get", {"taskId": task_id})["result"]
        return found

    def becomes(self, task_id: str, *states: str) -> dict[str, Any]:
        until(lambda: self.task(task_id)["status"] in states)
        return self.task(task_id)

    def answer(self, task_id: str, *answers: Any) -> None:
        asked = self.task(task_id)["inputRequests"]
        given = dict(zip(asked, answers, strict=True))
        self.modern("tasks/update", {"taskId": task_id, "inputResponses": given})

    def take_jobs(self) -> list[Any]:
        assert self.stack is not None
        found = self.stack.sqs.receive_message(
            QueueUrl=self.stack.ids["PatrolQueue"], MaxNumberOfMessages=10, AttributeNames=["All"]
        )
        return list(found.get("Messages", []))

    def start_worker(self) -> None:
        """Let a worker take what is in the queue: the function of a stack, in an own thread."""
        if self.stack is None:
            return  # a laptop's works all the time
        assert self.worker_of_stack is not None
        home = self.worker_of_stack(self.clock)
        worker = home.worker(error_map)
        handle = worker_handler(lambda: worker, home.ports.postpone, Log(stream=StringIO()))  # type: ignore[attr-defined]

        def work() -> None:
            for message in self.take_jobs():
                record = {
                    "messageId": message["MessageId"],
                    "receiptHandle": message["ReceiptHandle"],
                    "body": message["Body"],
                    "attributes": message["Attributes"],
                }
                assert handle({"Records": [record]}, LambdaContext()) == {"batchItemFailures": []}
            home.close()

        self.job = threading.Thread(target=work, daemon=True)
        self.job.start()

    def end_worker(self) -> None:
        if self.job is not None:
            self.job.join(60)
            assert not self.job.is_alive()
            self.job = None


@contextmanager
def shop(
    kind: str, folder: Path, entry: Mapping[str, Any], rules: str = EVERYTHING_GOES
) -> Iterator[World]:
    with asking_upstream() as upstream:
        opened: Any = on_stack(World, rules) if kind == "stack" else on_laptop(World, folder, rules)
        with opened as world:
            world.shop = upstream
            world.add("shop", {"url": upstream.url, **entry})
            world.restart()
            yield world
            world.end_worker()
            world.home.close()


def run_next(home: Home) -> None:
    """Do the next job of a laptop, if there is one; it comes again at once if that fails."""
    message = home.ports.queue.receive()
    if message is None:
        return
    try:
        home.worker(error_map).run(message)
    except BaseException:
        home.ports.queue.give_back(message, 0)
        raise
    home.ports.queue.done(message)


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[World]:
    with shop("stack", tmp_path, {"tasks": True}) as world:
        yield world


def text_of(result: Mapping[str, Any]) -> Any:
    return json.loads(result["content"][0]["text"])


def test_a_question_in_the_middle_of_a_call_reaches_the_client(stack: World) -> None:
    task_id = stack.begin("twice")["taskId"]
    stack.start_worker()
    for number in range(2):
        asking = stack.becomes(task_id, "input_required", "failed", "completed")
        (question,) = asking["inputRequests"].values()
        assert question["params"]["message"] == "May I pay 20 euros?"
        assert question["method"] == "elicitation/create"
        stack.answer(task_id, {**YES, "content": {"code": f"{number}"}})
        until(lambda: len(stack.shop.answers) > number)  # noqa: B023
    done = stack.becomes(task_id, "completed", "failed")

    heard = [answer["content"]["code"] for answer in text_of(done["result"])]
    assert heard == ["0", "1"]
    assert stack.shop.calls == ["twice"]


def test_without_a_question_the_task_ends_with_the_result(stack: World) -> None:
    task_id = stack.begin("quick")["taskId"]
    stack.start_worker()

    assert text_of(stack.becomes(task_id, "completed", "failed")["result"]) == []


def test_a_client_without_tasks_gets_its_result_at_once(stack: World) -> None:
    result = stack.begin("quick", capabilities={"elicitation": {}})

    assert text_of(result) == []
    assert text_of(stack.call("mcp__shop__quick", {})) == []


def test_without_the_setting_the_question_is_declined(tmp_path: Path) -> None:
    with shop("stack", tmp_path, {}) as world:
        upstream, result = world.shop, world.begin("pay")

    assert text_of(result) == [{"action": "decline"}]
    assert upstream.calls == ["pay"]


def test_a_rule_may_keep_the_question_from_the_client(tmp_path: Path) -> None:
    with shop("stack", tmp_path, {"tasks": True}, NO_QUESTIONS + EVERYTHING_GOES) as world:
        task_id = world.begin("pay")["taskId"]
        world.start_worker()
        done = world.becomes(task_id, "completed", "failed", "input_required")

    assert done["status"] == "completed"
    assert text_of(done["result"]) == [{"action": "decline"}]


def test_a_call_whose_worker_is_gone_is_not_made_again(stack: World) -> None:
    task_id = stack.begin("pay")["taskId"]
    stack.start_worker()
    stack.becomes(task_id, "input_required")
    task = stack.home.tasks.requests.store.find(stack.being.being_id, task_id)
    assert task is not None
    stack.clock.move(3600)  # as if the lease had ended with its worker
    ended = stack.task(task_id)
    stack.shop._arrived.put(None)

    assert ended["status"] == "failed"
    assert "may have been carried out" in ended["error"]["message"]
    assert stack.shop.calls == ["pay"]


def test_a_call_that_was_begun_is_not_begun_again(stack: World) -> None:
    task_id = stack.begin("quick")["taskId"]
    store, leases = stack.home.tasks.requests.store, stack.home.leases
    task = store.find(stack.being.being_id, task_id)
    assert task is not None
    lease = leases.take(task.head)  # of a worker that is killed
    store.begin(task, lease, 1)
    store.note(task, lease, b'{"begun": 0}')
    leases.give_back(lease)
    stack.start_worker()
    done = stack.becomes(task_id, "completed", "failed")

    assert done["result"]["isError"] is True
    assert "may have been carried out" in str(done["result"]["content"])
    assert stack.shop.calls == []


def test_an_answer_that_no_worker_hears_makes_no_second_call(stack: World) -> None:
    task_id = stack.begin("pay")["taskId"]
    store, leases = stack.home.tasks.requests.store, stack.home.leases
    task = store.find(stack.being.being_id, task_id)
    assert task is not None
    lease = leases.take(task.head)  # of a worker that is killed while it waits
    store.begin(task, lease, 1)
    store.note(task, lease, b'{"begun": 0}')
    store.ask(task, lease, b'{"code": {"method": "elicitation/create"}}')
    stack.answer(task_id, YES)
    leases.give_back(lease)
    stack.start_worker()
    done = stack.becomes(task_id, "completed", "failed")

    assert "may have been carried out" in str(done["result"]["content"])
    assert stack.shop.calls == []


@pytest.mark.parametrize("pins", ["", '[settings]\npins = "record"\n'])
def test_a_call_that_was_not_sent_yet_is_not_lost(tmp_path: Path, pins: str) -> None:
    with shop("stack", tmp_path, {"tasks": True}, EVERYTHING_GOES + pins) as world:
        upstream, task_id = world.shop, world.begin("quick")["taskId"]
        upstream.tools = [{**tool, "description": "Another one"} for tool in upstream.tools]
        world.start_worker()  # which has no session yet, and compares what is offered in it
        done = world.becomes(task_id, "completed", "failed")

    text = done["result"]["content"][0]["text"]
    assert (text == "[]") if pins else ("has changed since it was approved" in text)
    assert upstream.calls == (["quick"] if pins else [])


def test_a_question_that_could_not_be_stored_makes_no_second_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    park, failures = TaskStore.park, iter([UnavailableError("not now")])

    def fails_once(*args: Any) -> bool:
        for failure in failures:
            raise failure
        return park(*args)

    monkeypatch.setattr(TaskStore, "park", fails_once)
    with http_upstream() as web, shop("laptop", tmp_path, {}) as world:
        plain = web.answer

        def asks(asked: dict[str, Any]) -> tuple[int, bytes, str]:
            if asked["method"] != "tools/call":
                return plain(asked)
            question = {"method": "elicitation/create", "params": FORM}
            result = {"resultType": "input_required", "inputRequests": {"code": question}}
            body = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
            return 200, json.dumps(body).encode(), "application/json"

        web.answer = asks  # type: ignore[method-assign]
        world.add("web", {"url": web.url, "tasks": True})
        world.restart()
        begun = world.modern("tools/call", {"name": "mcp__web__echo", "arguments": {}})
        with suppress(UnavailableError):  # as in a process that is killed in this moment
            run_next(world.home)
        run_next(world.home)
        done = world.task(begun["result"]["taskId"])

    assert "may have been carried out" in str(done["result"]["content"])
    assert web.calls == 1


def test_an_answer_reaches_the_call_whatever_process_takes_the_next_job(tmp_path: Path) -> None:
    with shop("laptop", tmp_path, {"tasks": True}) as world:
        upstream, other = world.shop, world._opened(world.clock)
        task_id = world.begin("pay")["taskId"]
        first = threading.Thread(target=run_next, args=(world.home,), daemon=True)
        first.start()
        world.becomes(task_id, "input_required")
        world.answer(task_id, YES)
        run_next(other)
        done = world.becomes(task_id, "completed", "failed")
        first.join(60)
        other.close()

    assert text_of(done["result"])[0]["content"] == YES["content"]
    assert upstream.calls == ["pay"]


@pytest.mark.parametrize("kind", ["laptop", "stack"])
def test_a_result_counts_as_received_when_the_client_comes_for_it(
    kind: str, tmp_path: Path
) -> None:
    with shop(kind, tmp_path, {"tasks": True}, AFTERWARDS + EVERYTHING_GOES) as world:
        task_id = world.begin("quick")["taskId"]
        if kind == "stack":
            world.start_worker()
            world.end_worker()
        else:
            run_next(world.home)
        world.clock.move(3 * RECEIVED_SECONDS)
        before = world.call("get_current_time", {})
        world.task(task_id)
        after = world.call("get_current_time", {})
        another = world.call("get_current_time", {}, token="t2")

    assert "isError" not in before
    assert "Not after the shop" in str(after)
    assert "isError" not in another


def test_a_result_that_cannot_be_noted_is_not_handed_out(
    stack: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise UnavailableError("the table cannot be reached")

    task_id = stack.begin("quick")["taskId"]
    stack.start_worker()
    stack.end_worker()
    with monkeypatch.context() as patched:
        patched.setattr(NotedResults, "note", fail)
        withheld = stack.modern("tasks/get", {"taskId": task_id})

    assert "result" not in withheld
    assert text_of(stack.task(task_id)["result"]) == []


def test_if_nobody_can_tell_what_was_received_it_counts_as_external(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise UnavailableError("the table cannot be reached")

    with shop("stack", tmp_path, {"tasks": True}, AFTERWARDS + EVERYTHING_GOES) as world:
        task_id = world.begin("quick")["taskId"]
        with monkeypatch.context() as patched:
            patched.setattr(NotedResults, "origins", fail)
            world.start_worker()
            world.end_worker()
        world.clock.move(3 * RECEIVED_SECONDS)

        assert text_of(world.task(task_id)["result"]) == []
        assert "Not after the shop" in str(world.call("get_current_time", {}))


def test_a_laptop_asks_as_well(tmp_path: Path) -> None:
    with shop("laptop", tmp_path, {"tasks": True}) as world:
        upstream = world.shop
        loop = world.home.worker_loop(lambda _: None, error_map)
        loop.start()
        task_id = world.begin("pay")["taskId"]
        world.becomes(task_id, "input_required")
        world.answer(task_id, YES)
        done = world.becomes(task_id, "completed", "failed")
        loop.stop(10)

    assert text_of(done["result"])[0]["content"] == YES["content"]
    assert upstream.calls == ["pay"]
