"""Handlers that break the rules, over every face: the client gets an answer all the same."""

import asyncio
import sys
from typing import Any

import pytest

from nacre.being.application import Application
from nacre.protocol.context import Context
from nacre.protocol.dispatch.request_state import RequestStates
from nacre.sdk.decorator import tool
from nacre.sdk.tool_server import ToolServer
from tests.protocol.surface import KEYS, NOW, elicit
from tests.protocol.wires import WIRES

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}


@tool(blocking=True)
async def awaits_although_blocking() -> str:
    await asyncio.sleep(0)
    return "never"


@tool
async def leaves() -> str:
    sys.exit(3)


@tool(blocking=True)
async def leaves_its_thread() -> str:
    sys.exit(3)


@tool
async def asks_twice(context: Context) -> str:
    await context.ask({"first": elicit("Your name?")})
    await context.ask({"second": elicit("Your other name?")})
    return "never"


TOOLS = (awaits_although_blocking, leaves, leaves_its_thread)


def application() -> Application:
    made = ToolServer("test", "1")
    for each in (*TOOLS, asks_twice):
        made.register_tool(each)
    return Application(made, RequestStates(lambda: KEYS, lambda: NOW))


def call(name: str, id_: int = 1, **more: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": {}, "_meta": META, **more}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


@pytest.mark.parametrize("face", WIRES)
@pytest.mark.parametrize("name", [each.name for each in TOOLS])
def test_a_tool_that_breaks_its_word_is_a_failed_call_and_the_server_goes_on(
    face: str, name: str
) -> None:
    with WIRES[face](application()) as wire:
        [failed] = wire.say(call(name))
        [listed] = wire.say(
            {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": META}}
        )

    assert failed["result"]["isError"] is True
    assert failed["result"]["content"][0]["text"] == (
        f"Error: the tool '{name}' failed; the server's log says why"
    )
    assert len(listed["result"]["tools"]) == 4


@pytest.mark.parametrize("face", WIRES)
def test_answers_too_long_to_carry_on_are_refused(face: str) -> None:
    long_name = {"action": "accept", "content": {"name": "x" * 60_000}}
    with WIRES[face](application()) as wire:
        [asked] = wire.say(call("asks-twice"))
        state = asked["result"]["requestState"]
        [refused] = wire.say(
            call("asks-twice", 2, requestState=state, inputResponses={"first": long_name})
        )

    assert refused["error"]["code"] == -32602
    assert "answer in fewer words" in refused["error"]["message"]
