"""States of multi-round-trip calls that somebody sends again."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from typing import Any

import pytest

from nacre.being.application import Application
from nacre.core.limits import REQUEST_STATE_SECONDS
from nacre.core.logs import Log
from nacre.faces.http.laptop_server import asgi_app
from nacre.ports.items.table import Table
from nacre.protocol.context import Context
from nacre.protocol.dispatch.request_state import RequestStates
from nacre.protocol.dispatch.used_states import UsedStates
from nacre.sdk.decorator import tool
from nacre.sdk.tool_server import ToolServer
from tests.adapters.conftest import StillClock
from tests.end_to_end.attacks.rows import attack
from tests.faces.http.test_laptop_server import Wire, admit, modern_call
from tests.protocol.surface import KEYS, elicit
from tests.scaffolding.two_stores import clock, stack, table

__all__ = ["clock", "stack", "table"]


@attack("R24")
def test_of_many_uses_at_once_one_counts(table: Table, clock: StillClock) -> None:
    used = UsedStates(lambda: table, clock)
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda _: used.use("a"), range(16)))

    assert outcomes.count(True) == 1
    assert used.use("b")
    clock.move(REQUEST_STATE_SECONDS)  # as long as a state is valid
    assert not used.use("a")


@attack("R24")
@pytest.mark.parametrize("at_once", [False, True])
def test_a_state_that_is_sent_again_runs_nothing(
    table: Table, clock: StillClock, at_once: bool
) -> None:
    runs: list[str] = []
    made = ToolServer("test", "1")

    @tool
    async def pay(context: Context) -> str:
        answers = await context.ask({"name": elicit("Who?")})
        runs.append(answers["name"]["content"]["name"])
        return "paid"

    made.register_tool(pay)
    used = UsedStates(lambda: table, clock)

    async def send(app: Any, **more: Any) -> Any:
        body, headers = modern_call("pay")
        message = json.loads(body)
        capabilities: Any = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
        message["params"]["_meta"] |= capabilities
        message["params"] |= more
        wire = Wire(app, json.dumps(message).encode(), headers)
        await wire.run()
        await wire.start()
        return await wire.json()

    async def scenario() -> list[Any]:
        states = RequestStates(lambda: KEYS, clock, use=used.use)
        app = asgi_app(Application(made, states), admit=admit, log=Log("info", StringIO()))
        state = (await send(app))["result"]["requestState"]
        answer = {"name": {"action": "accept", "content": {"name": "Ann"}}}
        sent = [send(app, requestState=state, inputResponses=answer) for _ in range(3)]
        if at_once:
            return list(await asyncio.gather(*sent))
        return [await one for one in sent]

    answers = asyncio.run(scenario())

    assert runs == ["Ann"]
    refused = [answer for answer in answers if "error" in answer]
    assert [answer["error"]["code"] for answer in refused] == [-32602, -32602]
    assert "used already" in refused[0]["error"]["message"]
