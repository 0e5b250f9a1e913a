"""A server of the first generation's Python SDK (mcp 1.x), run with that SDK's Python.

older_server.py stdio, or older_server.py PORT for streamable HTTP.
"""
# The names are those of another major version than the one that is type-checked here.
# mypy: ignore-errors

import sys

import anyio
from mcp.server.fastmcp import Context, FastMCP
from mcp.types import SamplingMessage, TextContent
from pydantic import BaseModel

PORT = 0 if sys.argv[1] == "stdio" else int(sys.argv[1])
server = FastMCP("older", instructions="Be kind.", port=PORT, log_level="ERROR")


class Answer(BaseModel):
    """What a person is asked for."""

    name: str


@server.tool()
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
async def count(ctx: Context, to: int) -> str:
    """Count, and say how far it has come."""
    for step in range(to):
        await ctx.report_progress(step + 1, to, f"step {step + 1}")
    await ctx.info("counted")
    return "counted"


@server.tool()
async def greet(ctx: Context) -> str:
    """Ask for a name, and greet."""
    given = await ctx.elicit("Who is there?", Answer)
    return f"Hello {given.data.name}" if given.action == "accept" else "Hello"


@server.tool()
async def interview(ctx: Context) -> str:
    """Ask twice and let a model write, one after the other."""
    first = await ctx.elicit("Who is there?", Answer)
    second = await ctx.elicit("Who else?", Answer)
    asked = TextContent(type="text", text="a poem")
    message = SamplingMessage(role="user", content=asked)
    written = await ctx.session.create_message([message], max_tokens=10)
    roots = await ctx.session.list_roots()
    return f"{first.data.name}, {second.data.name}: {written.content.text} {len(roots.roots)}"


@server.tool()
async def fail() -> str:
    """Fail."""
    raise ValueError("on purpose")


@server.tool()
async def wait(ctx: Context) -> str:
    """Wait until cancelled."""
    await ctx.report_progress(1, 2)
    try:
        await anyio.sleep_forever()
    except BaseException:
        with anyio.CancelScope(shield=True):
            (await anyio.Path(sys.argv[2]).write_text("cancelled")) if len(sys.argv) > 2 else None
        raise


@server.tool()
async def change(ctx: Context) -> str:
    """Add a tool, and say that the list has changed."""
    server.add_tool(lambda: "new", name="new")
    await ctx.session.send_tool_list_changed()
    return "changed"


@server.resource("note://one")
def one() -> str:
    """Return a note."""
    return "the first note"


@server.prompt()
def ask(topic: str) -> str:
    """Ask about a topic."""
    return f"What of {topic}?"


if __name__ == "__main__":
    server.run("stdio" if sys.argv[1] == "stdio" else "streamable-http")
