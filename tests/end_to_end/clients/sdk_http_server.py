"""A server made with the official SDK, which speaks both generations: sdk_http_server.py PORT."""

import sys

import anyio
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("sdk", instructions="Be kind.")


class Answer(BaseModel):
    """What a person is asked for."""

    name: str


@server.tool()
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def count(ctx: Context, to: int) -> str:
    """Count, and say how far it has come."""
    for step in range(to):
        await ctx.report_progress(step + 1, to, f"step {step + 1}")
        await anyio.sleep(0.02)
    return "counted"


@server.tool()
async def greet(ctx: Context) -> str:
    """Ask for a name, and greet."""
    given = await ctx.elicit("Who is there?", Answer)
    return f"Hello {given.data.name}" if given.action == "accept" else "Hello"


@server.tool()
async def fail() -> str:
    """Fail."""
    raise ValueError("on purpose")


@server.resource("note://one")
def one() -> str:
    """Return a note."""
    return "the first note"


@server.prompt()
def ask(topic: str) -> str:
    """Ask about a topic."""
    return f"What of {topic}?"


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
