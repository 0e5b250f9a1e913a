"""Several servers in one process."""

import asyncio

import pytest

from nacre import ToolRegistry, ToolResult, ToolServer, tool
from nacre.core.errors import InvalidInputError, NotFoundError


@tool(name="calculator", description="Perform arithmetic")
async def calculator(operation: str, a: int, b: int) -> ToolResult:
    match operation:
        case "add":
            return ToolResult.text(f"{a + b}")
        case "multiply":
            return ToolResult.text(f"{a * b}")
        case _:
            return ToolResult.error(f"Unknown operation: {operation}")


def math_tools() -> ToolServer:
    server = ToolServer("math-tools", "1.0.0")
    server.register_tool(calculator)
    return server


@pytest.mark.requirement("002.example.end-to-end")
@pytest.mark.requirement("002.registry.handle")
def test_a_tool_a_server_a_registry_and_a_call() -> None:
    registry = ToolRegistry()
    registry.register(math_tools())
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "calculator",
            "arguments": {"operation": "multiply", "a": 6, "b": 7},
        },
    }

    assert asyncio.run(registry.handle("math-tools", call)) == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"content": [{"type": "text", "text": "42"}]},
    }


def test_tools_are_listed_under_their_qualified_names() -> None:
    registry = ToolRegistry()
    registry.register(math_tools())

    assert [item["name"] for item in registry.list_tools()] == ["mcp__math-tools__calculator"]
    assert registry.list_servers() == ["math-tools"]
    server = registry.get("math-tools")
    assert server is not None
    assert [item["name"] for item in server.list_tools()] == ["calculator"]


def test_an_unknown_server_is_an_error_that_lists_the_known_ones() -> None:
    registry = ToolRegistry()
    ping = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}

    with pytest.raises(NotFoundError, match="no server 'x' is registered; known: none"):
        asyncio.run(registry.handle("x", ping))
    registry.register(math_tools())
    with pytest.raises(NotFoundError, match="no server 'x' is registered; known: 'math-tools'"):
        asyncio.run(registry.handle("x", ping))


def test_a_server_of_the_same_name_replaces_the_first() -> None:
    registry = ToolRegistry()
    registry.register(math_tools())
    second = registry.register(ToolServer("math-tools", "2.0.0"))

    assert registry.get("math-tools") is second


def test_a_server_whose_name_cannot_be_qualified_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="'a__b' is not a server name"):
        ToolRegistry().register(ToolServer("a__b", "1"))
