"""Tasks of the laptop's own server: its tools, its policy, its worker."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nacre.access.owners import DEFAULT_OWNER
from nacre.adapters.files.audit import JsonlRecords
from nacre.being.patrol import trigger
from nacre.being.tools import trigger_patrol
from nacre.core.clock import system_clock
from nacre.core.coroutines import step
from nacre.faces.mcp_endpoint import dispatcher
from nacre.jobs.lease import Leases
from nacre.jobs.loop import Outcome
from nacre.protocol.caller import Caller, Peer
from nacre.protocol.context import Silence
from nacre.protocol.http import error_map
from nacre.protocol.messages import Answer, Request
from nacre.protocol.principal import FULL, Principal
from nacre.protocol.versions import LEGACY_VERSIONS, MODERN
from nacre.wiring.compose import Home
from nacre.wiring.laptop import first_being, open_laptop
from nacre.wiring.settings import Settings
from tests.being.tasks.worlds import KEY, TAKES, text_of
from tests.being.tools.writing import SCENE
from tests.scaffolding.model_server import model_server

MESSAGES = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
YES = {"action": "accept", "content": {"decision": "allow once"}}
ALLOW = '[[rule]]\naction = "allow"\ntool = "**"\n'
PROMPT = '[[rule]]\naction = "prompt"\ntool = "trigger_patrol"\n' + ALLOW
DENY = PROMPT.replace("prompt", "deny", 1)


@dataclass
class Client:
    """A client of this era that takes tasks, and a worker that does one job when told to."""

    laptop: Home
    principal: Principal
    folder: Path
    outcomes: list[Outcome]
    key: str | None = None

    def ask(self, method: str, version: str = MODERN, **params: Any) -> dict[str, Any]:
        caller = Caller(version, self.principal, Peer(TAKES), self.key)
        begun = dispatcher(self.laptop.application).begin(Request(1, method, params), caller)
        answer = begun if isinstance(begun, Answer) else step(begun.run(Silence()))
        return dict(json.loads(answer.body))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return dict(self.ask("tools/call", name=tool, arguments=arguments)["result"])

    def work(self) -> int:
        """Do every job that waits; return how many there were."""
        loop = self.laptop.worker_loop(self.outcomes.append, error_map)
        jobs = 0
        while loop.run_next():
            jobs += 1
        return jobs

    def ended(self, task: dict[str, Any]) -> dict[str, Any]:
        return dict(self.ask("tasks/get", taskId=task["taskId"])["result"])

    def audited(self) -> list[tuple[str, str | None]]:
        chains = JsonlRecords(self.folder / "audit").chains()
        records = [json.loads(line) for chain in chains for line in chain.lines]
        return [(record["outcome"], record.get("tool")) for record in records]


@contextmanager
def client(folder: Path, *, policy: str | None = None, **settings: Any) -> Iterator[Client]:
    if policy is not None:
        (folder / "policy.toml").write_text(policy)
    chosen = Settings(
        data_folder=str(folder),
        embeddings="none",
        policy_file=str(folder / "policy.toml") if policy else "",
        **settings,
    )
    laptop = open_laptop(folder / "data", chosen)
    try:
        being = first_being(laptop) or laptop.beings.of_owner(DEFAULT_OWNER)[0]
        yield Client(laptop, Principal("t1", being.being_id, FULL), folder / "data", [])
    finally:
        laptop.close()


@pytest.fixture(autouse=True)
def hurried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr(trigger_patrol, "TASK_SLICE_SECONDS", 0.0)
    monkeypatch.setattr(trigger, "_POLL_SECONDS", 0.01)


def test_a_patrol_is_followed_to_its_end_by_the_one_thread_that_also_does_it(
    tmp_path: Path,
) -> None:
    with client(tmp_path) as me:
        me.call("update_notes", scenes=[SCENE])
        long = {"role": "assistant", "content": "hello " * 15_000}
        task = me.call("trigger_patrol", messages=[MESSAGES[0], long])
        assert task["status"] == "working"
        me.work()
        finished = me.ended(task)
        answer = json.loads(text_of(finished["result"]))

    assert (finished["status"], answer["status"], answer["nodes_created"]) == ("completed", "ok", 1)
    assert (answer["messages_stored"], answer["messages_known"]) == (2, 0)
    assert {outcome.result for outcome in me.outcomes} == {"done"}


def test_many_that_wait_for_a_patrol_do_not_keep_it_from_running(tmp_path: Path) -> None:
    with client(tmp_path) as me:
        me.call("update_notes", scenes=[SCENE])
        tasks = [me.call("trigger_patrol", messages=[]) for _ in range(4)]
        me.work()
        ended = [me.ended(task) for task in tasks]

    assert {task["status"] for task in ended} == {"completed"}
    answers = [json.loads(text_of(task["result"])) for task in ended]
    assert {answer["status"] for answer in answers} == {"ok"}


def test_nothing_to_do_is_said_at_once(tmp_path: Path) -> None:
    with client(tmp_path) as me:
        task = me.call("trigger_patrol", messages=[])
        assert me.work() == 1
        answer = json.loads(text_of(me.ended(task)["result"]))

    assert answer["reasons"] == ["nothing to do: no scene and no message waits"]


def test_the_key_of_the_caller_makes_the_patrol_think_and_is_left_nowhere(tmp_path: Path) -> None:
    with model_server() as model, client(tmp_path, llm_base_url=model.url) as me:
        me.key = KEY
        me.call("update_notes", scenes=[SCENE])
        task = me.call("trigger_patrol", messages=MESSAGES)
        me.work()
        assert me.ended(task)["status"] == "completed"
        used = {question.key for question in model.questions}

    assert used == {f"Bearer {KEY}"}
    for path in (tmp_path / "data").rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def test_an_older_client_waits_as_before(tmp_path: Path) -> None:
    with client(tmp_path) as me:
        reply = me.ask(
            "tools/call",
            LEGACY_VERSIONS[0],
            name="trigger_patrol",
            arguments={"messages": []},
        )["result"]

    assert json.loads(text_of(reply))["status"] == "ok"


def test_a_denied_call_makes_no_task(tmp_path: Path) -> None:
    with client(tmp_path, policy=DENY) as me:
        denied = me.call("trigger_patrol", messages=[])

        assert (denied["isError"], "taskId" in denied) == (True, False)
        assert me.work() == 0


def test_an_approval_comes_before_the_task_and_counts_for_it(tmp_path: Path) -> None:
    with client(tmp_path, policy=PROMPT) as me:
        question = me.call("trigger_patrol", messages=[])
        assert me.work() == 0
        (name,) = question["inputRequests"]
        task = me.ask(
            "tools/call",
            name="trigger_patrol",
            arguments={"messages": []},
            requestState=question["requestState"],
            inputResponses={name: YES},
        )["result"]
        me.work()
        finished = me.ended(task)
        audited = me.audited()

    assert (question["resultType"], task["resultType"]) == ("input_required", "task")
    assert (finished["status"], "isError" in finished["result"]) == ("completed", False)
    tools = {("prompt", "trigger_patrol"), ("allow", "trigger_patrol")}
    assert set(audited) == tools
    assert audited[-1] == ("allow", "trigger_patrol")  # the worker's own decision


def test_a_refusal_makes_no_task(tmp_path: Path) -> None:
    with client(tmp_path, policy=PROMPT) as me:
        question = me.call("trigger_patrol", messages=[])
        (name,) = question["inputRequests"]
        refused = me.ask(
            "tools/call",
            name="trigger_patrol",
            arguments={"messages": []},
            requestState=question["requestState"],
            inputResponses={name: {"action": "decline"}},
        )["result"]

        assert (refused["isError"], "taskId" in refused) == (True, False)
        assert me.work() == 0


def test_a_rule_that_comes_to_deny_meanwhile_counts_in_the_worker(tmp_path: Path) -> None:
    with client(tmp_path, policy=ALLOW) as me:
        task = me.call("trigger_patrol", messages=[])
    with client(tmp_path, policy=DENY) as me:
        me.work()
        blocked = me.ended(task)

    assert (blocked["status"], blocked["result"]["isError"]) == ("completed", True)
    assert "policy" in text_of(blocked["result"]).lower()


def test_a_patrol_whose_turn_does_not_come_is_not_followed_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trigger_patrol, "_MAX_ATTEMPTS", 3)
    monkeypatch.setattr(trigger, "_BEGINS_SECONDS", 0.0)
    with client(tmp_path) as me:
        me.call("update_notes", scenes=[SCENE])
        Leases(me.laptop.data, now=system_clock).take(trigger.lease_key(me.principal.being_id))
        task = me.call("trigger_patrol", messages=[])
        me.work()
        answer = json.loads(text_of(me.ended(task)["result"]))

    assert answer["status"] == "running"
