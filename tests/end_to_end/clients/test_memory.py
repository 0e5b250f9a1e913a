"""The official client and a memory that outlives servers: over stdio, HTTP and Lambda."""

import asyncio
import gc
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from nacre.access.beings import Beings
from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.being.application import Application
from nacre.cli.commands import run_commands
from nacre.core.clock import system_clock
from nacre.core.logs import Log
from nacre.faces.aws_lambda.mcp_http import Handler, mcp_handler
from nacre.protocol.dispatch.request_state import RequestStates
from nacre.protocol.versions import MODERN
from nacre.wiring import aws
from nacre.wiring.compose import compose
from tests.being.memory.minds import Minded
from tests.cli.processes import serving
from tests.end_to_end.clients.lambda_transport import LambdaTransport
from tests.scaffolding.aws_stack import Stack
from tests.scaffolding.dynamodb_http import dynamodb_over_http, settings_at
from tests.scaffolding.lambda_events import FULL_ACCESS, Sent, http_api_event

ROOT = Path(__file__).parents[3]
SCENE = {
    "action": "Bo promised to return the ladder on Friday",
    "actors": ["Bo"],
    "when": ["2026-07-01"],
    "feeling": "relieved",
}
both_eras = pytest.mark.parametrize("mode", ["auto", "legacy"])


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_HOME", str(tmp_path / "data"))


async def text(client: Client, name: str, **arguments: Any) -> str:
    answer = await client.call_tool(name, arguments)
    assert not answer.is_error, answer.content
    return "\n".join(block.text for block in answer.content)  # type: ignore[union-attr]


async def nothing_recalled(client: Client) -> None:
    """Clients of older revisions read a text where there is none to recall."""
    answer = await client.call_tool("recall", {"user_message": "ladder"})
    expected = [] if client.protocol_version == MODERN else ["No memories relate to this message."]
    assert [block.text for block in answer.content] == expected  # type: ignore[union-attr]


async def tell(client: Client) -> None:
    offered = {tool.name for tool in (await client.list_tools()).tools}
    assert {"recall", "get_context", "search_memory", "update_memory", "update_notes"} <= offered
    await nothing_recalled(client)
    await text(client, "update_notes", scenes=[SCENE], notes=["buy milk"])
    await text(client, "update_memory", target="preferences", action="append", content="Tea")


async def ask(client: Client) -> None:
    recalled = await text(client, "recall", user_message="When do I get my ladder back?")
    assert recalled.startswith("<memory-recall>\n- [2026-07-01] Bo: Bo promised to return")
    assert "— relieved" in recalled
    assert (await text(client, "search_memory", query="ladder")).startswith(
        "1 memory by vector search"
    )
    context = json.loads(await text(client, "get_context"))
    assert "- Tea" in context["system_prompt"]
    snapshot = await client.read_resource("nacre://context/snapshot")
    assert "buy milk" in snapshot.contents[0].text  # type: ignore[union-attr]
    prompt = await client.get_prompt("use-memory", {})
    assert "get_context" in prompt.messages[0].content.text  # type: ignore[union-attr]


def talk(connect: Callable[[], Any], *conversations: Callable[[Client], Awaitable[None]]) -> None:
    """Have each conversation over a connection of its own."""

    async def main() -> None:
        for conversation in conversations:
            async with connect() as client:
                await conversation(client)

    asyncio.run(main())


@asynccontextmanager
async def over_http(
    url: str, mode: Any, *, token: str = "", transport: httpx2.AsyncBaseTransport | None = None
) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, transport=transport) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.slow
@both_eras
def test_a_stdio_server_remembers_across_restarts(mode: Any) -> None:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "nacre.cli", "mcp-server"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "shared")},
    )

    talk(lambda: Client(parameters, mode=mode), tell, ask)


@pytest.mark.slow
@both_eras
def test_an_http_server_remembers_across_restarts(
    mode: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_commands(["being", "create", "Ann", "--json"]) == 0
    path = f"/{json.loads(capsys.readouterr().out)['being_id']}"
    assert run_commands(["token", "create", "--scope", "full", "--json"]) == 0
    token = json.loads(capsys.readouterr().out)["token"]

    for conversation in (tell, ask):
        with serving() as server:
            url = server.url + path
            talk(partial(over_http, url, mode, token=token), conversation)
            assert server.stop(signal.SIGTERM)[0] == 0


def test_a_read_only_token_reads_and_may_not_write(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_commands(["being", "create", "Ann", "--json"]) == 0
    path = f"/{json.loads(capsys.readouterr().out)['being_id']}"
    assert run_commands(["token", "create", "--scope", "read-only", "--json"]) == 0
    token = json.loads(capsys.readouterr().out)["token"]

    async def conversation(client: Client) -> None:
        assert (await text(client, "search_memory", query="x")).startswith("no memories")
        with pytest.raises(MCPError, match="needs a token with full scope"):
            await client.call_tool("update_notes", {"notes": ["x"]})

    with serving() as server:
        talk(lambda: over_http(server.url + path, "auto", token=token), conversation)


def called(handler: Handler, being_id: str, mode: Any) -> Callable[[], Any]:
    def event(sent: Sent) -> dict[str, Any]:
        return http_api_event(sent, {**FULL_ACCESS, "being_id": being_id})

    return lambda: over_http(
        "https://nacre.example/mcp", mode, transport=LambdaTransport(handler, event)
    )


@pytest.mark.slow
# Lambda ends its environments without a word; nobody closes their connections.
@both_eras
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_functions_on_aws_share_a_memory(stack: Stack, mode: Any) -> None:
    """Without a Qdrant the vector items are searched; each handler is a function of its own."""
    beings = Beings(
        DynamoTable(stack.dynamodb, stack.ids["DataTable"]), clock=system_clock, rng=Random(1)
    )
    being = beings.create("Ann", owner="me")
    with dynamodb_over_http(stack) as dynamodb:
        settings = settings_at(dynamodb.url, stack)
        for conversation in (tell, ask):
            handler = mcp_handler(
                compose(aws.mcp_ports(settings), settings).application, log=Log(stream=StringIO())
            )
            talk(called(handler, being.being_id, mode), conversation)
            del handler
            gc.collect()  # so that the connections end here, where nobody minds
    stack.clear("DataTable")


@both_eras
@pytest.mark.parametrize("mind", ["aws"], indirect=True)
def test_the_lambda_face_remembers_in_dynamodb_and_qdrant(mind: Minded, mode: Any) -> None:
    states = RequestStates(lambda: pytest.fail("no call here takes several rounds"), system_clock)
    for conversation in (tell, ask):
        handler = mcp_handler(Application(mind.server, states), log=Log(stream=StringIO()))
        talk(called(handler, mind.being_id, mode), conversation)
