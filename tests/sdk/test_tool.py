"""Tools with a schema written by hand and a handler with state."""

import asyncio
from typing import Any

import pytest

from nacre import Context, Tool, ToolHandler, ToolResult
from nacre.core.errors import InvalidArgumentError, InvalidSchemaError

ANY = {"type": "object"}


class Counter:
    def __init__(self) -> None:
        self.total = 0

    async def call(self, arguments: dict[str, Any]) -> ToolResult:
        self.total += arguments["by"]
        return ToolResult.text(str(self.total))


class Asking:
    async def call(self, arguments: dict[str, Any], context: Context) -> str:
        return f"{arguments} for {context.request_id}"


@pytest.mark.requirement("002.tool.handler")
def test_a_handler_keeps_its_state_between_calls() -> None:
    counter = Counter()
    schema = {"type": "object", "properties": {"by": {"type": "integer"}}, "required": ["by"]}
    tool = Tool("count", "Count up", schema, counter)

    texts = [asyncio.run(tool.call({"by": n})).to_dict()["content"][0]["text"] for n in (1, 2)]

    assert texts == ["1", "3"]
    assert isinstance(counter, ToolHandler)
    assert tool.definition == {
        "name": "count",
        "description": "Count up",
        "inputSchema": schema,
    }


def test_a_handler_may_ask_for_the_context() -> None:
    tool = Tool("ask", "", ANY, Asking())

    result = asyncio.run(tool.call({"a": 1}, Context(request_id="r1")))

    assert result == ToolResult.text("{'a': 1} for r1")


def test_an_async_function_with_what_it_remembers_is_a_handler_too() -> None:
    seen = []

    async def remember(arguments: dict[str, Any], loudly: bool = False) -> str:
        seen.append(arguments)
        return f"{len(seen)} {loudly}"

    async def request_of(arguments: dict[str, Any], context: Context) -> str:
        return str(context.request_id)

    remembering, asking = Tool("a", "", ANY, remember), Tool("b", "", ANY, request_of)

    assert asyncio.run(remembering.call({"x": 1})) == ToolResult.text("1 False")
    assert asyncio.run(asking.call({}, Context(request_id=5))) == ToolResult.text("5")
    assert seen == [{"x": 1}]


def test_arguments_are_checked_before_the_handler_runs() -> None:
    counter = Counter()
    tool = Tool("count", "", {"type": "object", "required": ["by"]}, counter)

    with pytest.raises(InvalidArgumentError, match="argument 'by' is missing"):
        asyncio.run(tool.call({}))

    assert counter.total == 0


def test_a_handler_without_an_async_call_is_refused() -> None:
    class Sync:
        def call(self, arguments: dict[str, Any]) -> ToolResult:
            return ToolResult.text("")

    handlers: list[Any] = [Sync(), object(), lambda arguments: "", None]
    for handler in handlers:
        with pytest.raises(TypeError, match="tool 't': the handler must have 'async def call"):
            Tool("t", "", ANY, handler)


@pytest.mark.parametrize("schema", [None, True, [], {}, {"type": "string"}, {"type": ["object"]}])
def test_an_input_schema_describes_an_object(schema: Any) -> None:
    with pytest.raises(InvalidSchemaError, match="tool 't': the schema must"):
        Tool("t", "", schema, Counter())


def test_a_schema_that_does_not_compile_says_so_with_the_first_call() -> None:
    tool = Tool("t", "", {"type": "object", "properties": {"a": {"type": 3}}}, Counter())

    with pytest.raises(InvalidSchemaError, match="tool 't': not a valid JSON Schema at '/prop"):
        tool.check()
    with pytest.raises(InvalidSchemaError, match="tool 't': not a valid JSON Schema at '/prop"):
        tool.problem({})


def test_a_tool_shows_its_name() -> None:
    assert repr(Tool("t", "", ANY, Counter())) == "<Tool t>"
