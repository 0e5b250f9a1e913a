"""Programs that the strict checker accepts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, assert_type

from nacre import (
    Context,
    Field,
    PromptMessage,
    Tool,
    ToolError,
    ToolRegistry,
    ToolResult,
    ToolServer,
    tool,
)


@dataclass
class Weather:
    temperature: float


@tool
async def bare(a: float, b: float = 1) -> ToolResult:
    return ToolResult.text(str(a + b))


@tool(name="weather", read_only=True, output_schema=Weather)
async def weather(city: Annotated[str, Field("Where", min_length=1)], context: Context) -> Weather:
    context.progress(1, 2)
    if city == "nowhere":
        raise ToolError("no such city")
    return Weather(22.5)


class Counter:
    def __init__(self) -> None:
        self.total = 0

    async def call(self, arguments: dict[str, Any]) -> ToolResult:
        self.total += 1
        return ToolResult.text(str(self.total))


class Asking:
    async def call(self, arguments: dict[str, Any], context: Context) -> str:
        return str(context.request_id)


async def remember(arguments: dict[str, Any]) -> str:
    return str(arguments)


async def main() -> None:
    assert_type(await bare(1, b=2), ToolResult)
    assert_type(await weather("Kyoto", context=Context.detached()), Weather)
    assert_type(bare.name, str)
    schema = {"type": "object"}
    server = ToolServer("s", "1", instructions="Ask.")
    registered: Tool = server.register_tool(weather)
    server.register_tool(bare)
    server.register_tool(Tool("count", "Count", schema, Counter(), blocking=True))
    server.register_tool(Tool("ask", "Ask", {"type": "object", "required": ["a"]}, Asking()))
    server.register_tool(Tool("remember", "Remember", schema, remember))
    assert_type(server.get_tool("count"), Tool | None)
    assert_type(registered.definition, dict[str, Any])

    @server.resource("test://a")
    async def a() -> str:
        return "a"

    @server.resource_template("test://{id}")
    async def by_id(id: str, context: Context) -> bytes:
        return id.encode()

    @server.prompt()
    async def review(code: str) -> list[PromptMessage]:
        return [PromptMessage("user", code)]

    @server.completion("code", prompt="review")
    async def codes(typed: str, known: Mapping[str, str]) -> list[str]:
        return [typed]

    assert_type(await a(), str)
    registry = ToolRegistry()
    registry.register(server)
    assert_type(await registry.handle("s", {"jsonrpc": "2.0"}), dict[str, Any] | None)
