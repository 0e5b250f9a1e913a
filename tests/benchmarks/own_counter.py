"""A user's package with a tool that takes large arguments."""

from typing import Any

from nacre import ToolServer, tool


@tool
async def count(
    values: list[Any] | None = None,
    rows: list[dict[str, Any]] | None = None,
    text: str = "",
    shape: str = "",
) -> str:
    """Count what is given."""
    return f"{len(values or ())} {len(rows or ())} {len(text)} {shape}"


server = ToolServer("mine", "1")
server.register_tool(count)
