"""A server of tools of your own: what the package announces in pyproject.toml."""

from nacre import ToolServer, tool

server = ToolServer("my-tools", "1.0.0")


@server.register_tool
@tool
async def word_count(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())
