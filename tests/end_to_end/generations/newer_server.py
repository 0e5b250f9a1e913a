"""A server of the official SDK that speaks the stateless generation only.

newer_server.py stdio, or newer_server.py PORT. The SDK serves both generations, and takes that of a
client's first request. So over stdio the first request is made here, in the newer generation; over
HTTP, requests of the older one are refused, as a server does that has no sessions.
"""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Annotated, Any

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import (
    Elicit,
    ElicitationResult,
    ListRoots,
    Resolve,
    Sample,
)
from mcp_types import CreateMessageResult, ListRootsResult, SamplingMessage, TextContent
from pydantic import BaseModel

MODERN = "2026-07-28"
server = MCPServer("newer", instructions="Be kind.")


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
    return "counted"


def who(_ctx: Context) -> Elicit[Answer]:
    return Elicit("Who is there?", Answer)


def who_else(_ctx: Context, name: Annotated[Answer, Resolve(who)]) -> Elicit[Answer]:
    return Elicit(f"Who else but {name.name}?", Answer)


def poem(_ctx: Context) -> Sample:
    asked = TextContent(type="text", text="a poem")
    return Sample([SamplingMessage(role="user", content=asked)], max_tokens=10)


def folders(_ctx: Context) -> ListRoots:
    return ListRoots()


@server.tool()
async def greet(name: Annotated[ElicitationResult[Answer], Resolve(who)]) -> str:
    """Ask for a name, and greet."""
    return f"Hello {name.data.name}" if name.action == "accept" else "Hello"


@server.tool()
async def interview(
    first: Annotated[Answer, Resolve(who)],
    second: Annotated[Answer, Resolve(who_else)],
    written: Annotated[CreateMessageResult, Resolve(poem)],
    roots: Annotated[ListRootsResult, Resolve(folders)],
) -> str:
    """Ask twice and let a model write."""
    said = written.content
    assert isinstance(said, TextContent)
    return f"{first.name}, {second.name}: {said.text} {len(roots.roots)}"


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
    finally:
        if len(sys.argv) > 2:
            Path(sys.argv[2]).write_text("cancelled")
    return "never"


@server.tool()
async def change(ctx: Context) -> str:
    """Add a tool, and say that the list has changed."""
    server.add_tool(lambda: "new", name="new", description="New.")
    await ctx.notify_tools_changed()
    return "changed"


@server.resource("note://one")
def one() -> str:
    """Return a note."""
    return "the first note"


@server.prompt()
def ask(topic: str) -> str:
    """Ask about a topic."""
    return f"What of {topic}?"


def over_stdio() -> int:
    """Relay to the SDK's own process, whose generation is chosen first."""
    name = "io.modelcontextprotocol/"
    meta = {f"{name}protocolVersion": MODERN, f"{name}clientCapabilities": {}}
    opening = {"jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {"_meta": meta}}
    process = subprocess.Popen(
        [sys.executable, __file__, "chosen", *sys.argv[2:]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(opening).encode() + b"\n")
    process.stdin.flush()
    process.stdout.readline()

    def back() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()

    returning = threading.Thread(target=back)
    returning.start()
    for line in sys.stdin.buffer:
        process.stdin.write(line)
        process.stdin.flush()
    process.stdin.close()
    returning.join()
    return process.wait()


def over_http(port: int) -> None:
    """Serve requests of the newer generation."""
    import uvicorn

    app = server.streamable_http_app(stateless_http=True)

    async def modern(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", ()))
        if scope["type"] != "http" or headers.get(b"mcp-protocol-version") == MODERN.encode():
            await app(scope, receive, send)
            return
        error = {"code": -32022, "message": "Unsupported", "data": {"supported": [MODERN]}}
        body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
        kind = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 400, "headers": kind})
        await send({"type": "http.response.body", "body": body})

    uvicorn.run(modern, host="127.0.0.1", port=port, log_level="error")


if __name__ == "__main__":
    match sys.argv[1]:
        case "stdio":
            sys.exit(over_stdio())
        case "chosen":
            server.run("stdio")
        case port:
            over_http(int(port))
