"""The metrics that lines of the log carry, as CloudWatch reads them."""

import json
from io import StringIO
from typing import Any

import pytest
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import (
    AmazonCloudWatchEMFProvider,
)

from nacre.being.application import Application
from nacre.core.errors import UnavailableError
from nacre.core.logs import Log
from nacre.core.metrics import METRICS, NAMESPACE, count, members
from nacre.faces.aws_lambda.mcp_http import mcp_handler
from nacre.protocol.dispatch.request_state import RequestStates, SigningKeys
from nacre.sdk.decorator import tool
from nacre.sdk.result import ToolResult
from nacre.sdk.tool_server import ToolServer
from tests.protocol.surface import NOW

BEING = "0191f6a0-0000-7000-8000-000000000001"
Line = dict[str, Any]


def counted(line: Line) -> dict[str, tuple[float, str]]:
    """Return the metrics in a line as CloudWatch does: from each name to its value and unit."""
    [declared] = line["_aws"]["CloudWatchMetrics"]
    assert declared["Namespace"] == NAMESPACE
    assert declared["Dimensions"] == [["Stack"]]
    assert line["Stack"] == "nacre"
    return {each["Name"]: (line[each["Name"]], each["Unit"]) for each in declared["Metrics"]}


def test_a_line_that_counts_is_one_object_that_cloudwatch_understands() -> None:
    stream = StringIO()

    Log("info", stream, stack="nacre").count("info", "mcp", {"Latency": 1.5, "Faults": 1}, ms=1.5)

    [text] = stream.getvalue().splitlines()
    line = json.loads(text)
    assert (line["event"], line["ms"]) == ("mcp", 1.5)
    assert counted(line) == {"Latency": (1.5, "Milliseconds"), "Faults": (1, "Count")}
    # The moment of both, in milliseconds and as text, is the same.
    assert line["timestamp"].endswith(f"{line['_aws']['Timestamp'] % 1000:03d}Z")


def test_a_line_declares_its_metrics_as_powertools_does() -> None:
    theirs = AmazonCloudWatchEMFProvider(namespace=NAMESPACE)
    theirs.add_dimension("Stack", "nacre")
    for name, unit, value in (("Latency", "Milliseconds", 1.5), ("LlmDollars", "None", 0.02)):
        theirs.add_metric(name, unit, value)
    said: Line = dict(theirs.serialize_metric_set())

    at = said["_aws"]["Timestamp"] / 1000
    ours = json.loads("{" + members("nacre", {"Latency": 1.5, "LlmDollars": 0.02}, at=at) + "}")

    assert ours == {**said, "Latency": 1.5, "LlmDollars": 0.02}  # theirs are lists of one value


@pytest.mark.parametrize("level", ["warning", "error"])
def test_a_line_that_counts_is_written_at_every_level(level: Any) -> None:
    stream = StringIO()

    Log(level, stream, stack="nacre").count("info", "mcp", {"Latency": 1})

    assert counted(json.loads(stream.getvalue()))["Latency"] == (1, "Milliseconds")


def test_without_a_stack_nothing_is_counted_and_levels_hold() -> None:
    stream = StringIO()
    log = Log("warning", stream)

    log.count("info", "mcp", {"Latency": 1})
    log.count("warning", "mcp", {"Latency": 1})

    [line] = [json.loads(text) for text in stream.getvalue().splitlines()]
    assert line.keys() == {"timestamp", "level", "event"}


def test_an_event_that_counts_nothing_is_an_ordinary_line() -> None:
    stream = StringIO()

    Log("info", stream, stack="nacre").count("info", "policy", {}, decision="allow")

    assert json.loads(stream.getvalue()).keys() == {"timestamp", "level", "event", "decision"}


def test_a_metric_that_is_not_declared_cannot_be_written() -> None:
    with pytest.raises(KeyError):
        members("nacre", {"Other": 1}, at=0)


@pytest.mark.parametrize("stack", ["nacre", 'a"b'])
def test_what_counts_is_json_whatever_the_stack_is_called(stack: str) -> None:
    values = {metric.name: float(place) for place, metric in enumerate(METRICS)}

    found = json.loads("{" + members(stack, values, at=1.0) + "}")

    assert found["Stack"] == stack
    assert found["_aws"]["Timestamp"] == 1000
    assert {name: found[name] for name in values} == values


def test_a_line_of_its_own_is_for_a_stack_only(capsys: pytest.CaptureFixture[str]) -> None:
    count("", "sweep", {"PatrolLag": 1})
    count("nacre", "sweep", {"PatrolLag": 7}, found=2)

    [line] = [json.loads(text) for text in capsys.readouterr().err.splitlines()]
    assert (line["event"], line["found"]) == ("sweep", 2)
    assert counted(line) == {"PatrolLag": (7, "Seconds")}


# What the MCP function counts.


@tool
async def fine() -> ToolResult:
    """Answer."""
    return ToolResult.text("fine")


@tool
async def broken() -> ToolResult:
    """Fail for a reason of ours."""
    raise ZeroDivisionError


@tool
async def alone() -> ToolResult:
    """Fail because a service does not answer."""
    raise UnavailableError("the table does not answer")


def call(name: str, *, auth: str = "ok", scopes: str = "mcp:read mcp:write") -> Line:
    """Return the line of one call to a function with these three tools."""
    server = ToolServer("test", "1")
    for each in (fine, broken, alone):
        server.register_tool(each)
    stream = StringIO()
    handle = mcp_handler(
        Application(server, RequestStates(lambda: SigningKeys(b"k" * 32), lambda: NOW)),
        log=Log("info", stream, stack="nacre"),
    )
    said = {"auth": auth, "kind": "brt", "token_id": "t1", "being_id": BEING}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name}}
    event = {
        "version": "2.0",
        "rawPath": f"/mcp/{BEING}",
        "headers": {"content-type": "application/json", "accept": "application/json"},
        "requestContext": {
            "http": {"method": "POST", "path": f"/mcp/{BEING}"},
            "authorizer": {"lambda": {**said, "scopes": scopes, "client": ""}},
        },
        "body": json.dumps(body),
    }
    handle(event, type("Invocation", (), {"aws_request_id": "aws-1"})())
    [line] = [json.loads(text) for text in stream.getvalue().splitlines()]
    return dict(line)


def test_a_call_counts_its_time_and_names_who_called_what() -> None:
    line = call("fine")

    assert counted(line) == {"Latency": (line["ms"], "Milliseconds")}
    assert {name: line[name] for name in ("tool", "being", "token", "request", "status")} == {
        "tool": "fine",
        "being": BEING,
        "token": "t1",
        "request": "aws-1",
        "status": 200,
    }


@pytest.mark.parametrize("name", ["broken", "alone"])
def test_a_call_that_fails_for_no_fault_of_its_caller_is_a_fault(name: str) -> None:
    assert counted(call(name))["Faults"] == (1, "Count")


def test_a_call_without_a_good_token_is_a_refusal() -> None:
    assert counted(call("fine", auth="invalid")).keys() == {"Latency", "Refusals"}


def test_a_call_beyond_a_tokens_scope_is_a_refusal_that_names_the_token() -> None:
    line = call("fine", scopes="mcp:read")

    assert counted(line).keys() == {"Latency", "Refusals"}
    assert (line["status"], line["token"], line["being"]) == (403, "t1", BEING)


def test_an_unknown_tool_is_neither_and_its_name_is_not_written() -> None:
    line = call("a secret that somebody typed")

    assert counted(line).keys() == {"Latency"}
    assert "secret" not in json.dumps(line)
