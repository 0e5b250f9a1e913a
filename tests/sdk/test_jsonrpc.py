"""The document's own request and response examples, and its error codes."""

import asyncio
import json
import logging
from typing import Any

import pytest

from nacre import Tool, ToolError, ToolResult, ToolServer, tool

ADD = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
    "required": ["a", "b"],
}
INITIALIZE = (
    '{"jsonrpc": "2.0", "id": 1, "method": "initialize"}',
    """{
  "jsonrpc": "2.0",
  "id": 1,
  "result": {
    "protocolVersion": "2025-11-25",
    "capabilities": { "tools": {} },
    "serverInfo": { "name": "my_server", "version": "1.0.0" }
  }
}""",
)
TOOLS_LIST = (
    '{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}',
    """{
  "jsonrpc": "2.0",
  "id": 2,
  "result": {
    "tools": [
      {
        "name": "calculator",
        "description": "Add two numbers",
        "inputSchema": {
          "type": "object",
          "properties": { "a": {"type": "number"}, "b": {"type": "number"} },
          "required": ["a", "b"]
        }
      }
    ]
  }
}""",
)
TOOLS_CALL = (
    """{
  "jsonrpc": "2.0",
  "id": 3,
  "method": "tools/call",
  "params": { "name": "calculator", "arguments": { "a": 2, "b": 3 } }
}""",
    """{
  "jsonrpc": "2.0",
  "id": 3,
  "result": {
    "content": [{"type": "text", "text": "Result: 5"}]
  }
}""",
)


class Adder:
    async def call(self, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult.text(f"Result: {arguments['a'] + arguments['b']}")


def by_hand() -> Tool:
    return Tool("calculator", "Add two numbers", ADD, Adder())


def from_a_function() -> Tool:
    @tool(description="Add two numbers")
    async def calculator(a: float, b: float) -> ToolResult:
        return ToolResult.text(f"Result: {a + b}")

    return calculator


@pytest.fixture(params=[by_hand, from_a_function])
def server(request: pytest.FixtureRequest) -> ToolServer:
    server = ToolServer("my_server", "1.0.0")
    server.register_tool(request.param())
    return server


def ask(server: ToolServer, method: str, **params: Any) -> Any:
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    return asyncio.run(server.handle_jsonrpc(message))


def error_of(server: ToolServer, method: str, **params: Any) -> tuple[int, str]:
    response = ask(server, method, **params)
    assert response["jsonrpc"] == "2.0"
    assert response["id"] == 7
    assert response.keys() == {"jsonrpc", "id", "error"}
    return response["error"]["code"], response["error"]["message"]


def normal(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


@pytest.mark.requirement("002.server.handle-jsonrpc")
@pytest.mark.parametrize(
    ("request_text", "response_text"),
    [
        pytest.param(*INITIALIZE, marks=pytest.mark.requirement("002.jsonrpc.initialize")),
        pytest.param(*TOOLS_LIST, marks=pytest.mark.requirement("002.jsonrpc.tools-list")),
        pytest.param(*TOOLS_CALL, marks=pytest.mark.requirement("002.jsonrpc.tools-call")),
    ],
)
def test_the_document_s_examples_are_answered_to_the_byte(
    server: ToolServer, request_text: str, response_text: str
) -> None:
    response = asyncio.run(server.handle_jsonrpc(json.loads(request_text)))

    assert normal(response) == normal(json.loads(response_text))


@pytest.mark.requirement("002.server.handle-jsonrpc")
@pytest.mark.requirement("002.jsonrpc.method-not-found")
@pytest.mark.parametrize("method", ["ping", "resources/list", "tools/delete", ""])
def test_any_other_method_is_not_found(server: ToolServer, method: str) -> None:
    assert error_of(server, method) == (-32601, f"Method not found: {method}")


@pytest.mark.requirement("002.jsonrpc.tool-not-found")
def test_an_unknown_tool_is_an_invalid_parameter(server: ToolServer) -> None:
    assert error_of(server, "tools/call", name="nope", arguments={}) == (
        -32602,
        "Tool not found: nope",
    )


def test_a_call_without_a_tool_s_name_is_an_invalid_parameter(server: ToolServer) -> None:
    assert error_of(server, "tools/call", arguments={}) == (
        -32602,
        "tools/call: 'name' must be a string",
    )


@pytest.mark.requirement("002.jsonrpc.missing-parameter")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"a": 2}, "argument 'b' is missing: expected a number"),
        ({"a": 2, "b": "3"}, "argument 'b': expected a number, got a string of 1 character"),
        ([2, 3], "tools/call: 'arguments' must be an object"),
    ],
)
def test_a_missing_or_wrong_argument_is_an_internal_error_that_names_it(
    server: ToolServer, arguments: Any, message: str
) -> None:
    assert error_of(server, "tools/call", name="calculator", arguments=arguments) == (
        -32603,
        message,
    )


@pytest.mark.requirement("002.jsonrpc.tool-failed")
def test_a_tool_that_says_why_it_failed_is_an_internal_error_with_its_words() -> None:
    @tool
    async def fetch(url: str) -> ToolResult:
        if not url:
            raise ToolError("URL cannot be empty")
        return ToolResult.text(f"Fetched: {url}")

    server = ToolServer("s", "1")
    server.register_tool(fetch)

    assert error_of(server, "tools/call", name="fetch", arguments={"url": ""}) == (
        -32603,
        "URL cannot be empty",
    )


@pytest.mark.requirement("002.jsonrpc.tool-failed")
def test_an_unforeseen_failure_tells_the_caller_nothing_and_the_log_everything(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool
    async def leak() -> str:
        raise RuntimeError("password is hunter2")

    server = ToolServer("s", "1")
    server.register_tool(leak)

    with caplog.at_level(logging.ERROR):
        assert error_of(server, "tools/call", name="leak") == (-32603, "tool 'leak' failed")

    (record,) = caplog.records
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], RuntimeError)


@pytest.mark.requirement("002.jsonrpc.logical-error")
def test_a_logical_error_is_a_successful_response_with_is_error() -> None:
    @tool
    async def root(number: int) -> ToolResult:
        return ToolResult.error("Invalid input: expected positive number")

    server = ToolServer("s", "1")
    server.register_tool(root)

    assert ask(server, "tools/call", name="root", arguments={"number": -1}) == {
        "jsonrpc": "2.0",
        "id": 7,
        "result": {
            "content": [{"type": "text", "text": "Invalid input: expected positive number"}],
            "isError": True,
        },
    }


@pytest.mark.parametrize("method", ["notifications/initialized", "tools/call", "nonsense"])
def test_a_notification_gets_no_response_and_runs_nothing(method: str) -> None:
    ran = []

    @tool
    async def note() -> None:
        ran.append(1)

    server = ToolServer("s", "1")
    server.register_tool(note)
    message = {"jsonrpc": "2.0", "method": method, "params": {"name": "note"}}

    assert asyncio.run(server.handle_jsonrpc(message)) is None
    assert ran == []


@pytest.mark.parametrize(
    ("message", "known_id"),
    [
        ([], None),
        ({}, None),
        ({"jsonrpc": "1.0", "id": 4, "method": "tools/list"}, 4),
        ({"jsonrpc": "2.0", "id": True, "method": "tools/list"}, None),
        ({"jsonrpc": "2.0", "id": 4, "method": 5}, 4),
        ({"jsonrpc": "2.0", "id": 4, "method": "tools/list", "params": [1]}, 4),
        ({"jsonrpc": "2.0", "id": 4, "result": {}}, 4),
    ],
)
def test_what_is_not_a_request_is_refused_and_never_raises(
    server: ToolServer, message: Any, known_id: int | None
) -> None:
    response: Any = asyncio.run(server.handle_jsonrpc(message))

    assert (response["id"], response["error"]["code"]) == (known_id, -32600)
