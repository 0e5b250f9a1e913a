"""The CPU a call costs: a bare dispatcher, the core, the Lambda handler, and the usual stack.

All of them answer the same `add` among twelve tools. The bare dispatcher parses,
looks up the method and the tool, checks the arguments with a compiled schema, runs the
very same function and encodes: it is the floor. The usual stack is the official SDK
behind FastAPI and Mangum.
"""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from io import StringIO
from typing import Any

import jsonschema_rs
import pytest

from nacre.being.application import Application
from nacre.core.coroutines import step
from nacre.core.logs import Log
from nacre.faces.aws_lambda.mcp_http import Handler, mcp_handler
from nacre.faces.mcp_endpoint import endpoint
from nacre.protocol.context import Silence
from nacre.protocol.dispatch.request_state import RequestStates, SigningKeys
from nacre.protocol.http.http_messages import HttpCall, HttpReply, HttpRequest
from nacre.protocol.principal import FULL, Principal
from nacre.sdk.decorator import FunctionTool, tool
from nacre.sdk.result import ToolResult
from nacre.sdk.tool_server import ToolServer
from tests.benchmarks.table import cpu_times, show
from tests.protocol.surface import NOW

pytestmark = pytest.mark.benchmark

CORE_TO_FLOOR = 2.0
STACK_TO_CORE = 20.0
COUNTING_TO_LOGGING = 1.25
BEING = "0191f6a0-0000-7000-8000-000000000001"
ANN = Principal("t1", BEING, FULL)
Event = dict[str, Any]


@tool(blocking=True)
async def add(a: int, b: int) -> ToolResult:
    """Add two numbers."""
    return ToolResult.text(str(a + b))


def application() -> Application:
    server = ToolServer("bench", "1")
    for number in range(11):
        server.register_tool(FunctionTool(add._function, name=f"tool-{number}", blocking=True))
    server.register_tool(add)
    return Application(server, RequestStates(lambda: SigningKeys(b"k" * 32), lambda: NOW))


def message(*, modern: bool) -> tuple[dict[str, str], bytes]:
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    params: dict[str, Any] = {"name": "add", "arguments": {"a": 2, "b": 3}}
    if modern:
        headers |= {
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": "add",
        }
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    else:
        headers["mcp-protocol-version"] = "2025-11-25"
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return headers, json.dumps(body).encode()


def lambda_event(headers: dict[str, str], body: bytes) -> Event:
    return {
        "version": "2.0",
        "routeKey": "POST /mcp",
        "rawPath": "/mcp",
        "rawQueryString": "",
        "headers": {"host": "localhost", "user-agent": "bench", **headers},
        "requestContext": {
            "stage": "$default",
            "domainName": "localhost",
            "http": {"method": "POST", "path": "/mcp", "protocol": "HTTP/1.1", "sourceIp": "::1"},
            "authorizer": {
                "lambda": {
                    "auth": "ok",
                    "kind": "bto",
                    "resource": "https://nacre.example/mcp",
                    "token_id": "t1",
                    "being_id": BEING,
                    "scopes": "mcp:read mcp:write",
                    "client": "",
                }
            },
        },
        "body": body.decode(),
        "isBase64Encoded": False,
    }


class BareDispatcher:
    """The least that can answer a call."""

    def __init__(self) -> None:
        validator = jsonschema_rs.validator_for(add.definition["inputSchema"])
        self._tools = {"add": (add._function, validator)}
        self._methods: dict[str, Callable[[Any], Any]] = {"tools/call": self._call}

    def answer(self, body: bytes) -> bytes:
        request = json.loads(body)
        result = self._methods[request["method"]](request["params"])
        response = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        return json.dumps(response, separators=(",", ":")).encode()

    def _call(self, params: Any) -> Any:
        function, validator = self._tools[params["name"]]
        arguments = params["arguments"]
        if not validator.is_valid(arguments):
            raise ValueError
        return step(function(**arguments)).to_dict()


def core() -> Callable[[dict[str, str], bytes], HttpReply]:
    served = endpoint(application(), admit=lambda _request, _path, _query: ANN)
    silence = Silence()

    def answer(headers: dict[str, str], body: bytes) -> HttpReply:
        begun = served.begin(HttpRequest("POST", "/mcp", {}, headers, body))
        assert isinstance(begun, HttpCall)
        return step(begun.run(silence))

    return answer


class Invocation:
    aws_request_id = "aws-1"


def usual_stack(loop: asyncio.AbstractEventLoop) -> tuple[Callable[[Event], Event], Any]:
    """Return the official SDK behind FastAPI and Mangum, in the form that survives two calls.

    The session manager runs once, on the loop that Mangum uses for every event.
    """
    import mcp_types as types
    from fastapi import FastAPI
    from mangum import Mangum
    from mcp.server.lowlevel import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    schema = dict(add.definition["inputSchema"])
    names = [f"tool-{number}" for number in range(11)] + ["add"]
    tools = [types.Tool(name=name, description="Add", input_schema=schema) for name in names]

    async def list_tools(_context: Any, _params: Any) -> Any:
        return types.ListToolsResult(tools=tools)

    async def call_tool(_context: Any, params: Any) -> Any:
        total = params.arguments["a"] + params.arguments["b"]
        return types.CallToolResult(content=[types.TextContent(type="text", text=str(total))])

    server: Any = Server("bench", on_list_tools=list_tools, on_call_tool=call_tool)
    open_door = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    manager = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, security_settings=open_door
    )
    app = FastAPI()
    app.mount("/", manager.handle_request)
    ended = asyncio.Event()

    async def run() -> None:
        async with manager.run():
            await ended.wait()

    running = loop.create_task(run())
    loop.run_until_complete(asyncio.sleep(0))
    mangum = Mangum(app, lifespan="off")

    def stop() -> None:
        ended.set()
        loop.run_until_complete(running)

    return lambda event: dict(mangum(event, Invocation())), stop


@pytest.mark.filterwarnings("ignore")
def test_a_call_costs_little_more_than_the_least_it_could() -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    stack, stop = usual_stack(loop)
    bare, own_core = BareDispatcher(), core()
    quiet = StringIO()
    logging = mcp_handler(application(), log=Log("info", quiet))
    counting = mcp_handler(application(), log=Log("info", quiet, stack="nacre"))

    def handled(handler: Handler, event: Event) -> Event:
        quiet.seek(0)
        return handler(event, Invocation())

    rows, figures = [], {}
    for era, modern in (("2026-07-28", True), ("2025-11-25", False)):
        headers, body = message(modern=modern)
        event = lambda_event(headers, body)
        for answer in (bare.answer(body), own_core(headers, body).body):
            assert json.loads(answer)["result"]["content"][0]["text"] == "5"
        for reply in (handled(logging, event), handled(counting, event), stack(event)):
            assert json.loads(reply["body"])["result"]["content"][0]["text"] == "5"
        times = {
            **cpu_times(
                {
                    "bare dispatcher": partial(bare.answer, body),
                    "core": partial(own_core, headers, body),
                    "Lambda handler, logging": partial(handled, logging, event),
                    "Lambda handler, counting too": partial(handled, counting, event),
                },
                rounds=60,
                calls=300,
            ),
            **cpu_times({"SDK, FastAPI, Mangum": partial(stack, event)}, rounds=20, calls=60),
        }
        floor = times["bare dispatcher"]
        rows += [(era, name, f"{t:.1f}", f"{t / floor:.1f}x") for name, t in times.items()]
        figures[era] = (times["core"] / floor, times["SDK, FastAPI, Mangum"] / times["core"])
        counted = times["Lambda handler, counting too"] / times["Lambda handler, logging"]
        assert counted <= COUNTING_TO_LOGGING
    stop()
    loop.close()
    asyncio.set_event_loop(None)

    show("tools/call, warm, CPU of one call", ("era", "way", "us", "to the floor"), rows)
    assert max(ratio for ratio, _ in figures.values()) <= CORE_TO_FLOOR
    assert min(ratio for _, ratio in figures.values()) >= STACK_TO_CORE
