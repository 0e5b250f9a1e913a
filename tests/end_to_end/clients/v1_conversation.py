"""A conversation of the first generation's Python client (mcp 1.x), run with that client's Python.

v1_conversation.py URL          over HTTP
v1_conversation.py EVENT-SHAPE  with the Lambda handler in this process

Prints what the client saw as one JSON object.
"""
# The names are those of another major version than the one that is type-checked here.
# mypy: ignore-errors

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import httpx
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import ElicitResult

from nacre.core.logs import Log
from nacre.faces.aws_lambda.mcp_http import mcp_handler
from tests.end_to_end.conformance.fixture_server import conformance_application
from tests.scaffolding.lambda_events import EVENT_SHAPES, LambdaContext, Sent, body_of


class LambdaTransport(httpx.AsyncBaseTransport):
    """As `tests.end_to_end.clients.lambda_transport`, for the HTTP library of that generation."""

    def __init__(self, shape):
        self.handler = mcp_handler(conformance_application(), log=Log(stream=StringIO()))
        self.event_of = EVENT_SHAPES[shape]
        self.environment = ThreadPoolExecutor(1)

    async def handle_async_request(self, request):
        target = request.url.raw_path.decode()
        sent = Sent(request.method, target, dict(request.headers), await request.aread())
        result = await asyncio.get_running_loop().run_in_executor(
            self.environment, self.handler, self.event_of(sent), LambdaContext()
        )
        return httpx.Response(
            result["statusCode"], headers=result.get("headers"), content=body_of(result)
        )

    async def aclose(self):
        self.environment.shutdown()


async def fill_in(_context, params):
    name = next(iter(params.requestedSchema["properties"]))
    return ElicitResult(action="accept", content={name: f"the {name}"})


async def converse(where):
    url, more = where, {}
    if where in EVENT_SHAPES:
        url = "https://nacre.example/mcp"
        more["httpx_client_factory"] = lambda headers=None, timeout=None, auth=None: (
            httpx.AsyncClient(
                transport=LambdaTransport(where), headers=headers, timeout=timeout, auth=auth
            )
        )
    progress = []

    async def watch(done, total, _message):
        progress.append([done, total])

    async with (
        streamablehttp_client(url, **more) as (reading, writing, session_id),
        ClientSession(reading, writing, elicitation_callback=fill_in) as session,
    ):
        started = await session.initialize()
        tools = await session.list_tools()
        simple = await session.call_tool("test_simple_text", {})
        failed = await session.call_tool("test_error_handling", {})
        await session.call_tool("test_tool_with_progress", {}, progress_callback=watch)
        asked = await session.call_tool("test_elicitation", {"message": "Who?"})
        resource = await session.read_resource("test://static-text")
        prompt = await session.get_prompt("test_simple_prompt")
        try:
            await session.call_tool("no-such-tool", {})
            unknown = None
        except McpError as error:
            unknown = error.error.code
        return {
            "version": started.protocolVersion,
            "session": session_id(),
            "has_tools": len(tools.tools) > 20,
            "simple": simple.content[0].text,
            "failed": [failed.isError, failed.content[0].text],
            "progress": progress,
            "asked": [asked.isError, asked.content[0].text],
            "resource": resource.contents[0].text,
            "prompt": prompt.messages[0].content.text,
            "unknown": unknown,
        }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(converse(sys.argv[1]))))
