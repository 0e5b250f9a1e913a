"""A server of tools in one file, without a package: NACRE_TOOL_SERVERS names it."""

from nacre import ToolServer, tool

server = ToolServer("one-file", "1.0.0")


@server.register_tool
@tool
async def shout(text: str) -> str:
    """Say a text louder."""
    return text.upper()
