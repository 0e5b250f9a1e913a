"""Two tools, a server and a registry, in one process and without a network."""

import asyncio
import json
from typing import Any

from nacre import ToolError, ToolRegistry, ToolResult, ToolServer, tool


@tool(description="Perform basic arithmetic operations (add or multiply)")
async def calculator(operation: str, a: int, b: int) -> ToolResult:
    match operation:
        case "add":
            return ToolResult.text(f"Result: {a + b}")
        case "multiply":
            return ToolResult.text(f"Result: {a * b}")
        case _:
            raise ToolError(f"Unknown operation: {operation}")


@tool(description="Echo text back, optionally repeated multiple times")
async def echo(text: str, repeat: int | None = None) -> str:
    return "\n".join([text] * (1 if repeat is None else repeat))


def build_registry() -> ToolRegistry:
    """Return a registry with one server of both tools."""
    server = ToolServer("math-tools", "1.0.0")
    server.register_tool(calculator)
    server.register_tool(echo)
    registry = ToolRegistry()
    registry.register(server)
    return registry


async def main() -> None:
    """Show what a client would see and get."""
    registry = build_registry()
    for definition in registry.list_tools():
        print(f"{definition['name']}: {definition['description']}")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("calculator", {"operation": "add", "a": 2, "b": 3}),
        ("calculator", {"operation": "divide", "a": 2, "b": 3}),
        ("calculator", {"operation": "add", "a": 2}),
        ("echo", {"text": "hello", "repeat": 2}),
    ]
    for number, (name, arguments) in enumerate(calls, start=1):
        request = {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        }
        print(json.dumps(await registry.handle("math-tools", request)))


if __name__ == "__main__":
    asyncio.run(main())
