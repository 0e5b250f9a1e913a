"""Orders through the servers as they are deployed: over HTTP, by events, as tasks, behind rules."""

import http.client
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import pytest

from infra.tools import programs
from nacre.access.beings import Beings
from nacre.adapters.aws.dynamodb.get import SignedGet
from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.core.clock import system_clock
from nacre.core.logs import Log
from nacre.faces.aws_lambda.mcp_http import mcp_handler
from nacre.wiring import aws
from nacre.wiring.compose import compose
from nacre.wiring.settings import Settings
from nacre.wiring.signed_requests import signed
from tests.cli.conftest import Nacre, nacre
from tests.cli.processes import Server, finish, serving, start
from tests.scaffolding.aws_stack import aws_stack
from tests.scaffolding.dynamodb_http import dynamodb_over_http, settings_at
from tests.scaffolding.lambda_events import (
    FULL_ACCESS,
    LambdaContext,
    Sent,
    body_of,
    http_api_event,
)
from tests.scaffolding.model_server import (
    ModelServer,
    Question,
    Response,
    calling,
    model_server,
    saying,
    slow,
    tool_call,
)

__all__ = ["nacre"]


@pytest.fixture
def model(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with model_server() as server:
        server.reply = saying("Very well.")
        monkeypatch.setenv("NACRE_LLM_BASE_URL", server.url)
        yield server


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.startswith(("NACRE_", "AWS_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NACRE_HOME", str(tmp_path / "data"))
    return tmp_path


def order(message: str, id: int = 1, **arguments: Any) -> dict[str, Any]:
    params = {"name": "order_being", "arguments": {"message": message, **arguments}}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def text_of(answer: dict[str, Any]) -> str:
    return str(answer["result"]["content"][0]["text"])


class Http:
    """A client of `nacre serve`."""

    def __init__(self, server: Server, token: str, being_id: str) -> None:
        self.server = server
        self.token = token
        self.being_id = being_id

    def send(self, message: dict[str, Any], **headers: str) -> http.client.HTTPConnection:
        parts = urlsplit(self.server.url)
        connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        defaults = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2025-11-25",
            "authorization": f"Bearer {self.token}",
        }
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(
            "POST", f"{parts.path}/{self.being_id}", json.dumps(message), {**defaults, **sent}
        )
        return connection

    def ask(self, message: dict[str, Any], **headers: str) -> tuple[int, dict[str, Any]]:
        connection = self.send(message, **headers)
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        data = body if body.startswith("{") else body.rpartition("data: ")[2]
        return answer.status, json.loads(data)


@pytest.fixture
def client(nacre: Nacre, model: ModelServer) -> Iterator[Callable[..., Http]]:
    """Serve a data folder over HTTP; return a function that connects with a token of a scope."""
    being_id = nacre("being", "create", "me", "--json").json()["being_id"]
    with serving() as server:

        def connected(scope: str = "full") -> Http:
            token = nacre("token", "create", "--being", "me", "--scope", scope, "--json").json()
            return Http(server, token["token"], being_id)

        yield connected


def test_an_order_over_http_uses_the_key_of_its_header(
    client: Callable[..., Http], model: ModelServer, home: Path
) -> None:
    http = client()
    status, answer = http.ask(order("hello", sessionKey="s"), x_llm_api_key="sk-header")
    _, without = http.ask(order("hello"))

    assert (status, text_of(answer)) == (200, "Very well.")
    assert model.questions[0].key == "Bearer sk-header"
    assert "no language model is configured" in text_of(without)
    stored = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert b"sk-header" not in stored


def test_a_read_only_token_gives_no_orders(client: Callable[..., Http], model: ModelServer) -> None:
    status, answer = client("read-only").ask(order("hello"), x_llm_api_key="sk-header")

    assert status == 403
    assert "needs a token with full scope" in answer["error"]["message"]
    assert model.questions == []


@pytest.mark.slow
def test_progress_streams_while_an_order_runs(
    client: Callable[..., Http], model: ModelServer
) -> None:
    message = order("hello")
    message["params"]["_meta"] = {"progressToken": "p"}
    connection = client().send(message, x_llm_api_key="sk-header")
    answer = connection.getresponse()
    lines = answer.read().decode().splitlines()
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    connection.close()

    assert answer.headers["content-type"] == "text/event-stream"
    assert events[0]["params"] == {"progressToken": "p", "progress": 1, "message": "thinking"}
    assert text_of(events[-1]) == "Very well."


@pytest.mark.slow
def test_a_client_that_hangs_up_ends_its_order(
    client: Callable[..., Http], model: ModelServer
) -> None:
    given_up = threading.Event()

    def reply(question: Question) -> Response:
        if question.user == "first":
            given_up.set()
            return slow(threading.Event())(question)
        return saying("Free again.")(question)

    model.reply = reply
    http = client()
    connection = http.send(order("first", sessionKey="s"), x_llm_api_key="sk-header")
    assert given_up.wait(60)
    connection.close()

    # The session is free as soon as the order has noticed.
    _, answer = http.ask(order("second", sessionKey="s"), x_llm_api_key="sk-header")
    assert text_of(answer) == "Free again."
    assert [message["role"] for message in model.questions[-1].body["messages"]] == [
        "system",
        "user",
    ]


def test_rules_decide_about_what_the_model_calls(
    nacre: Nacre, model: ModelServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = home / "policy.toml"
    rules.write_text(
        '[[rule]]\naction = "deny"\ntool = "update_*"\ndescription = "nothing is written"\n\n'
        '[[rule]]\naction = "prompt"\ntool = "merge_nodes"\n\n'
        '[[rule]]\naction = "allow"\ntool = "*"\n'
        "[settings]\nwait_seconds = 1\n"
    )
    monkeypatch.setenv("NACRE_POLICY", str(rules))
    monkeypatch.setenv("NACRE_LLM_API_KEY", "sk-test")
    scene = {"action": "Ann likes blue", "actors": ["Ann"], "when": ["2026-07-01"]}
    model.script(
        calling(tool_call("update_notes", {"scenes": [scene]})),
        calling(tool_call("merge_nodes", {"node_ids": ["a", "b"], "action": "x"})),
        saying("I may not."),
    )

    assert nacre("chat", "Note it").out == "I may not.\n"

    first, second, third = model.questions
    # What is denied for every argument is not offered, and not made when asked for all the same.
    assert not {"update_notes", "update_memory", "update_relation"} & set(first.tools)
    assert "there is no tool 'update_notes'" in second.body["messages"][-1]["content"]
    assert "get_current_time" in first.tools
    result = third.body["messages"][-1]["content"]
    assert "merge_nodes" in first.tools
    assert "approv" in result.lower() or "asked" in result.lower(), result
    records = nacre("audit", "tail")
    assert "order_being" in records.out
    assert "merge_nodes" in records.out


@pytest.mark.slow
def test_two_processes_serve_one_session_one_after_the_other(
    nacre: Nacre, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_LLM_API_KEY", "sk-test")
    nacre("being", "create", "me")
    processes = [start("mcp-server", stdin=subprocess.PIPE) for _ in range(3)]
    for number, process in enumerate(processes):
        assert process.stdin is not None
        process.stdin.write(json.dumps(order(f"m{number}", sessionKey="s")) + "\n")
        process.stdin.flush()
    answers = [finish(process)[1] for process in processes]

    assert [text_of(json.loads(answer)) for answer in answers] == ["Very well."] * 3
    lengths = sorted(len(question.body["messages"]) for question in model.questions)
    assert lengths == [2, 4, 6]


@pytest.mark.slow
def test_a_process_that_is_killed_leaves_its_session_free(
    nacre: Nacre, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_LLM_API_KEY", "sk-test")
    nacre("being", "create", "me")
    begun = threading.Event()

    def reply(question: Question) -> Response:
        begun.set()
        return slow(threading.Event())(question)

    model.script(reply)
    process = start("mcp-server", stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(json.dumps(order("first", sessionKey="s")) + "\n")
    process.stdin.flush()
    assert begun.wait(60)
    process.send_signal(signal.SIGKILL)
    process.communicate()

    again = start("mcp-server", stdin=subprocess.PIPE)
    _, out, err = finish(again, json.dumps(order("second", sessionKey="s")) + "\n")

    assert (text_of(json.loads(out)), err) == ("Very well.", "")


# On AWS.


@pytest.fixture
def function(
    model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., dict[str, Any]]]:
    """Return the MCP function of a stack, as API Gateway calls it; and its Being's items."""
    with aws_stack() as stack, dynamodb_over_http(stack) as front:
        table = DynamoTable(stack.dynamodb, stack.ids["DataTable"])
        being = Beings(table, clock=system_clock, rng=Random(1)).create("Pearl", owner="me")
        settings = settings_at(
            front.url,
            stack,
            llm_base_url=model.url,
            llm_model="some-model",
            order_name="Clawdbot",
        )
        opened: list[SignedGet] = []

        def recorded(kind: type[SignedGet], name: str, by: Settings) -> SignedGet:
            opened.append(signed(kind, name, by))
            return opened[-1]

        monkeypatch.setattr("nacre.wiring.signed_requests.signed", recorded)
        handle = mcp_handler(
            compose(aws.mcp_ports(settings), settings).application, log=Log(stream=StringIO())
        )

        def call(message: dict[str, Any], **headers: str) -> dict[str, Any]:
            request_headers = {
                "content-type": "application/json",
                "accept": "application/json, text/event-stream",
                "mcp-protocol-version": "2025-11-25",
                "x-llm-api-key": "sk-header",
                **headers,
            }
            scopes = "mcp:read mcp:write"
            authorizer = {**FULL_ACCESS, "being_id": being.being_id, "scopes": scopes}
            sent = Sent(headers=request_headers, body=json.dumps(message).encode())
            event = http_api_event(sent, authorizer)
            answer = handle(json.loads(json.dumps(event)), LambdaContext())
            assert int(answer["statusCode"]) == 200, answer
            result: dict[str, Any] = json.loads(body_of(answer))
            return result

        yield call
        for reader in opened:
            reader.close()


@pytest.mark.slow
def test_a_stack_takes_orders_under_its_name(
    function: Callable[..., dict[str, Any]], model: ModelServer
) -> None:
    def named(message: str) -> dict[str, Any]:
        request = order(message, sessionKey="s")
        request["params"]["name"] = "order_clawdbot"
        return request

    listed = function({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    first, second = function(named("one")), function(named("two"))

    assert listed["result"]["tools"][-1]["name"] == "order_clawdbot"
    assert text_of(first) == text_of(second) == "Very well."
    assert first["result"]["isError"] is False
    assert [q.key for q in model.questions] == ["Bearer sk-header"] * 2
    assert [message["content"] for message in model.questions[1].body["messages"][1:]] == [
        *("one", "Very well.", "two")
    ]
    unknown = function(order("hello"))
    assert "Unknown tool: order_being" in unknown["error"]["message"]


# As a task.


def modern(method: str, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a request of a client that takes tasks, and its headers."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "patient", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {
            "extensions": {"io.modelcontextprotocol/tasks": {}}
        },
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    headers = {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        "mcp-name": str(params.get("name") or params.get("taskId")),
        "x-llm-api-key": "sk-header",
    }
    return message, headers


@pytest.mark.slow
def test_a_client_that_takes_tasks_gets_the_answer_later(
    client: Callable[..., Http], model: ModelServer, home: Path
) -> None:
    http_ = client()
    call = {"name": "order_being", "arguments": {"message": "take your time", "sessionKey": "s"}}
    message, headers = modern("tools/call", call)
    _, begun = http_.ask(message, **headers)
    task = begun["result"]
    assert task["resultType"] == "task"

    for _ in range(200):
        message, headers = modern("tasks/get", {"taskId": task["taskId"]})
        _, answer = http_.ask(message, **headers)
        if answer["result"]["status"] not in ("working", "input_required"):
            break
        threading.Event().wait(0.05)

    assert answer["result"]["status"] == "completed", answer
    result = answer["result"]["result"]
    assert result["content"] == [{"type": "text", "text": "Very well."}]
    assert result["isError"] is False
    assert [question.key for question in model.questions] == ["Bearer sk-header"]
    # The session is the caller's, however the order was carried out.
    http_.ask(order("and now", sessionKey="s"), x_llm_api_key="sk-header")
    assert len(model.questions[-1].body["messages"]) == 4
    stored = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert b"sk-header" not in stored


@pytest.mark.slow
def test_an_order_uses_the_tools_of_other_servers(
    nacre: Nacre, model: ModelServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = home / "policy.toml"
    rules.write_text('[[rule]]\naction = "allow"\ntool = "**"\n')
    monkeypatch.setenv("NACRE_POLICY", str(rules))
    monkeypatch.setenv("NACRE_LLM_API_KEY", "sk-test")
    nacre("being", "create", "me")
    program = str(programs("third-party") / "mcp-server-time")
    assert nacre("server", "add", "clock", "--", program).code == 0
    zone = {"timezone": "Europe/Paris"}
    model.script(calling(tool_call("mcp__clock__get_current_time", zone)), saying("There."))

    outcome = nacre("chat", "What time is it in Paris?")

    assert "mcp__clock__convert_time" in model.questions[0].tools
    assert "Europe/Paris" in model.questions[1].body["messages"][-1]["content"]
    # What another server brings is part of the answer.
    assert "Europe/Paris" in outcome.out
    assert outcome.out.endswith("\n\nThere.\n")
