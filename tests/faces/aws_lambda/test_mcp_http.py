"""The Lambda face: events of three fronts in, replies out."""

import base64
import json
from io import StringIO
from typing import Any

import pytest

from nacre.access.tokens.authentication import Gate
from nacre.being.application import Application
from nacre.core.logs import Log
from nacre.faces.aws_lambda.mcp_http import Handler, mcp_handler, read_event
from nacre.protocol.context import Context
from nacre.protocol.dispatch.request_state import RequestStates
from nacre.sdk.decorator import tool
from nacre.sdk.tool_server import ToolServer
from tests.protocol.surface import KEYS, NOW, elicit

BEING = "0191f6a0-0000-7000-8000-000000000001"
VOUCHED = {
    "auth": "ok",
    "kind": "brt",
    "token_id": "t1",
    "being_id": BEING,
    "scopes": "mcp:read mcp:write",
    "client": "",
}


class Invocation:
    aws_request_id = "aws-1"


def server() -> ToolServer:
    made = ToolServer("test", "1")

    @tool(blocking=True, read_only=True)
    async def hello(context: Context) -> str:
        context.progress(1)
        return "hello"

    @tool
    async def looped() -> str:
        import asyncio

        await asyncio.sleep(0)
        return "looped"

    @tool
    async def write() -> str:
        return "written"

    @tool
    async def who(context: Context) -> str:
        return str(await context.ask({"name": elicit("Who?")}))

    for each in (hello, looped, write, who):
        made.register_tool(each)
    return made


def handler(*, gate: Gate | None = None, log: StringIO | None = None) -> Handler:
    app = Application(server(), RequestStates(lambda: KEYS, lambda: NOW))
    return mcp_handler(app, gate=gate, log=Log("info", log or StringIO()))


def http_api(
    body: object,
    *,
    method: str = "POST",
    path: str = f"/mcp/{BEING}",
    headers: dict[str, str] | None = None,
    authorizer: dict[str, Any] | None = None,
    query: dict[str, str] | None = None,
) -> dict[str, Any]:
    event: dict[str, Any] = {
        "version": "2.0",
        "rawPath": path,
        "headers": {"content-type": "application/json", **(headers or {})},
        "requestContext": {
            "stage": "$default",
            "http": {"method": method, "path": path},
            "authorizer": {"lambda": VOUCHED if authorizer is None else authorizer},
        },
        "body": body if isinstance(body, str) else json.dumps(body),
        "isBase64Encoded": False,
    }
    if query:
        event["queryStringParameters"] = query
    return event


def rest_api(body: object, authorizer: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "resource": "/mcp/{beingId}",
        "path": f"/mcp/{BEING}",
        "httpMethod": "POST",
        "headers": {"Content-Type": "application/json"},
        "multiValueHeaders": {"Content-Type": ["application/json"], "Accept": ["*/*"]},
        "queryStringParameters": None,
        "requestContext": {
            "stage": "prod",
            "authorizer": {"principalId": "x", **(VOUCHED if authorizer is None else authorizer)},
        },
        "body": json.dumps(body),
        "isBase64Encoded": False,
    }


def rpc(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}


def run(event: dict[str, Any], **options: Any) -> dict[str, Any]:
    return handler(**options)(event, Invocation())


def result_text(reply: dict[str, Any]) -> str:
    return str(json.loads(reply["body"])["result"]["content"][0]["text"])


@pytest.mark.parametrize("front", [http_api, rest_api])
@pytest.mark.parametrize("name", ["hello", "looped", "write"])
def test_a_call_is_answered_behind_either_api(front: Any, name: str) -> None:
    reply = run(front(rpc("tools/call", {"name": name})))

    assert (reply["statusCode"], reply["isBase64Encoded"]) == (200, False)
    assert result_text(reply) in {"hello", "looped", "written"}


def test_the_same_handler_serves_one_invocation_after_another() -> None:
    handle = handler()

    for name in ("looped", "hello", "looped", "looped"):
        reply = handle(http_api(rpc("tools/call", {"name": name})), Invocation())
        assert result_text(reply) == name


def test_a_body_in_base64_is_decoded() -> None:
    event = http_api(base64.b64encode(json.dumps(rpc("ping")).encode()).decode())

    assert run({**event, "isBase64Encoded": True})["statusCode"] == 200


def test_a_named_stage_is_no_part_of_the_path() -> None:
    event = http_api(rpc("ping"), path=f"/prod/mcp/{BEING}")
    event["requestContext"]["stage"] = "prod"

    assert read_event(event).path == f"/mcp/{BEING}"
    assert run(event)["statusCode"] == 200


@pytest.mark.parametrize(
    "authorizer",
    [
        {"auth": "invalid"},
        {},
        {**VOUCHED, "auth": "OK"},
        {**VOUCHED, "auth": ""},
        {key: value for key, value in VOUCHED.items() if key != "auth"},
        {key: value for key, value in VOUCHED.items() if key != "being_id"},
    ],
)
@pytest.mark.parametrize("front", [http_api, rest_api])
def test_nobody_gets_in_without_the_authorizers_word(front: Any, authorizer: Any) -> None:
    reply = run(front(rpc("tools/call", {"name": "write"}), authorizer=authorizer))

    assert reply["statusCode"] == 401
    assert reply["headers"]["www-authenticate"].startswith("Bearer ")


def test_a_callers_own_claims_are_not_the_authorizers() -> None:
    event = http_api(
        {**rpc("tools/call", {"name": "write"}), "auth": "ok", "authorizer": VOUCHED},
        headers={"auth": "ok", "x-authorizer-auth": "ok"},
    )
    del event["requestContext"]["authorizer"]

    assert run(event)["statusCode"] == 401


def test_another_being_is_refused_in_path_and_query_alike() -> None:
    other = BEING[:-1] + "2"

    assert run(http_api(rpc("ping"), path=f"/mcp/{other}"))["statusCode"] == 403
    assert run(http_api(rpc("ping"), query={"being_id": other}))["statusCode"] == 403
    assert run(http_api(rpc("ping"), path="/mcp", query={"being_id": BEING}))["statusCode"] == 200


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_there_is_no_stream_to_open_and_no_session_to_close(method: str) -> None:
    reply = run(http_api("", method=method))

    assert (reply["statusCode"], reply["headers"]["allow"]) == (405, "POST")


def test_a_read_only_token_cannot_write() -> None:
    reader = {**VOUCHED, "scopes": "mcp:read"}

    assert (
        run(http_api(rpc("tools/call", {"name": "hello"}), authorizer=reader))["statusCode"] == 200
    )
    refused = run(http_api(rpc("tools/call", {"name": "write"}), authorizer=reader))
    assert refused["statusCode"] == 403
    assert 'error="insufficient_scope"' in refused["headers"]["www-authenticate"]


def test_what_a_call_reports_is_sent_in_one_buffered_stream() -> None:
    params = {"name": "hello", "_meta": {"progressToken": 7}}
    reply = run(
        http_api(
            rpc("tools/call", params), headers={"accept": "text/event-stream, application/json"}
        )
    )
    events = [json.loads(part.partition("data: ")[2]) for part in reply["body"].split("\n\n")[:-1]]

    assert reply["headers"]["content-type"] == "text/event-stream"
    assert events[0]["params"] == {"progressToken": 7, "progress": 1}
    assert events[1]["result"]["content"][0]["text"] == "hello"


def run_tool_that_says(text: str) -> dict[str, Any]:
    made = ToolServer("test", "1")

    @tool(blocking=True, name="say")
    async def say() -> str:
        return text

    made.register_tool(say)
    app = Application(made, RequestStates(lambda: KEYS, lambda: NOW))
    event = http_api(rpc("tools/call", {"name": "say"}))
    return mcp_handler(app, log=Log("info", StringIO()))(event, Invocation())


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("x" * (6 * 1024 * 1024 - 80_000), True),
        ("x" * 6 * 1024 * 1024, False),
        ("x" * 40 * 1024 * 1024, False),
        ('"' * 2 * 1024 * 1024, False),  # a quote within JSON within JSON takes four characters
    ],
    ids=["just fits", "too long", "far too long", "quotes"],
)
def test_an_answer_that_lambda_cannot_carry_is_an_error_that_says_so(text: str, fits: bool) -> None:
    answered = run_tool_that_says(text)
    body = json.loads(answered["body"])

    assert len(json.dumps(answered)) <= 6 * 1024 * 1024
    assert ("result" in body, body["id"]) == (fits, 1)
    assert fits or "AWS Lambda" in body["error"]["message"]


def test_nobody_is_asked_over_a_buffered_answer() -> None:
    reply = run(http_api(rpc("tools/call", {"name": "who"})))

    assert json.loads(reply["body"])["result"]["isError"] is True


def test_the_log_line_has_ids_and_no_content() -> None:
    log = StringIO()
    secret = {"name": "hello", "arguments": {"hush": "hush"}}
    run(http_api(rpc("tools/call", secret), headers={"authorization": "Bearer hush"}), log=log)
    line = json.loads(log.getvalue())

    assert (line["method"], line["being"], line["token"], line["request"]) == (
        "tools/call",
        BEING,
        "t1",
        "aws-1",
    )
    assert "hush" not in log.getvalue()


@pytest.mark.parametrize("event", [{}, {"requestContext": None}, {"version": "2.0"}])
def test_an_event_of_no_known_shape_is_not_found(event: dict[str, Any]) -> None:
    assert run(event)["statusCode"] == 404
