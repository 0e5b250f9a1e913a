"""A conversation of the 1.x Python client with somebody's server, run with that client's Python.

Reads one JSON object: `steps`, and either `command` and `env`, or `url` (with `transport`
`sse` for the older one). Prints what the client saw as a JSON array.
"""
# The names are those of another major version than the one that is type-checked here.
# mypy: ignore-errors

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import (
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    PromptReference,
    Root,
    TextContent,
)


async def complete(_context, params):
    asked = "".join(each.content.text for each in params.messages)
    said = TextContent(type="text", text=f"asked: {asked[:80]}")
    return CreateMessageResult(role="assistant", content=said, model="test")


async def fill_in(_context, params):
    names = sorted(params.requestedSchema["properties"])
    return ElicitResult(action="accept", content={"name": "Ann", "check": len(names) > 3})


async def roots(_context):
    return ListRootsResult(roots=[Root(uri="file:///project", name="project")])


@asynccontextmanager
async def streams(request):
    if "command" in request:
        program, *args = request["command"]
        parameters = StdioServerParameters(command=program, args=args, env=request["env"])
        with Path(os.devnull).open("w") as log:
            async with stdio_client(parameters, errlog=log) as pair:
                yield pair
    elif request.get("transport") == "sse":
        async with sse_client(request["url"]) as pair:
            yield pair
    else:
        async with streamablehttp_client(request["url"]) as (reading, writing, _):
            yield reading, writing


REQUESTS = {
    "ping": lambda session, params, watch: session.send_ping(),
    "tools/list": lambda session, params, watch: session.list_tools(),
    "resources/list": lambda session, params, watch: session.list_resources(),
    "resources/templates/list": lambda session, params, watch: session.list_resource_templates(),
    "prompts/list": lambda session, params, watch: session.list_prompts(),
    "tools/call": lambda session, params, watch: session.call_tool(
        params["name"], params.get("arguments"), progress_callback=watch
    ),
    "resources/read": lambda session, params, watch: session.read_resource(params["uri"]),
    "prompts/get": lambda session, params, watch: session.get_prompt(
        params["name"], params.get("arguments")
    ),
    "completion/complete": lambda session, params, watch: session.complete(
        PromptReference(type="ref/prompt", name=params["ref"]["name"]), params["argument"]
    ),
}


async def converse(request):
    async with (
        streams(request) as (reading, writing),
        ClientSession(
            reading,
            writing,
            sampling_callback=complete,
            elicitation_callback=fill_in,
            list_roots_callback=roots,
        ) as session,
    ):
        opened = await session.initialize()
        seen = [opened.model_dump(mode="json", by_alias=True, exclude_none=True)]
        for step in request["steps"]:
            progress = []

            async def watch(done, total, said, kept=progress):
                kept.append([done, total, said])

            try:
                result = await REQUESTS[step["method"]](session, step["params"], watch)
            except McpError as error:
                seen.append({"code": error.error.code, "message": error.error.message})
                continue
            shown = result.model_dump(mode="json", by_alias=True, exclude_none=True)
            seen.append({"result": shown, "progress": progress})
        return seen


if __name__ == "__main__":
    print(json.dumps(asyncio.run(converse(json.load(sys.stdin)))))
