"""The official Python client, in both eras, against the Lambda handler and the laptop server."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from io import StringIO
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    ListRootsResult,
    PromptReference,
    Root,
    TextContent,
)
from pydantic import FileUrl

from nacre.core.logs import Log
from nacre.faces.aws_lambda.mcp_http import mcp_handler
from tests.end_to_end.clients.lambda_transport import LambdaTransport
from tests.end_to_end.conformance.faces import laptop
from tests.end_to_end.conformance.fixture_server import conformance_application
from tests.scaffolding.lambda_events import EVENT_SHAPES

ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
FACES = ["laptop", *EVENT_SHAPES]


async def fill_in(context: Any, params: ElicitRequestParams) -> ElicitResult:
    name = next(iter(params.requested_schema["properties"]))  # type: ignore[union-attr]
    return ElicitResult(action="accept", content={name: f"the {name}"})


async def complete(context: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
    return CreateMessageResult(
        role="assistant", content=TextContent(type="text", text="Paris"), model="test"
    )


async def roots(context: Any) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri=FileUrl("file:///project"))])


@asynccontextmanager
async def connected(face: str, mode: Any) -> AsyncIterator[Client]:
    if face == "laptop":
        with laptop() as url:
            async with httpx2.AsyncClient() as http, client_of(url, http, mode) as client:
                yield client
    else:
        handler = mcp_handler(conformance_application(), log=Log(stream=StringIO()))
        transport = LambdaTransport(handler, EVENT_SHAPES[face])
        async with (
            httpx2.AsyncClient(transport=transport) as http,
            client_of("https://nacre.example/mcp", http, mode) as client,
        ):
            yield client


def client_of(url: str, http: httpx2.AsyncClient, mode: Any) -> Client:
    return Client(
        streamable_http_client(url, http_client=http),
        mode=mode,
        elicitation_callback=fill_in,
        sampling_callback=complete,
        list_roots_callback=roots,
    )


def converse(face: str, mode: str, talk: Callable[[Client], Awaitable[None]]) -> None:
    async def main() -> None:
        async with connected(face, mode) as client:
            assert client.protocol_version == ERAS[mode]
            await talk(client)

    asyncio.run(main())


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content)


everywhere = pytest.mark.parametrize("face", FACES)
both_eras = pytest.mark.parametrize("mode", ERAS)


@everywhere
@both_eras
@pytest.mark.requirement("003.client.sdk")
def test_a_client_lists_and_calls_tools(face: str, mode: str) -> None:
    async def talk(client: Client) -> None:
        assert client.server_info is not None
        assert client.server_info.name == "nacre-conformance"
        assert "test_simple_text" in [tool.name for tool in (await client.list_tools()).tools]
        answer = await client.call_tool("test_simple_text", {})
        assert (text_of(answer), answer.is_error) == (
            "This is a simple text response for testing.",
            False,
        )

    converse(face, mode, talk)


@everywhere
@both_eras
def test_a_failure_reaches_the_model_as_text(face: str, mode: str) -> None:
    async def talk(client: Client) -> None:
        failed = await client.call_tool("test_error_handling", {})
        assert (failed.is_error, text_of(failed)) == (
            True,
            "Error: This tool intentionally returns an error for testing",
        )
        wrong = await client.call_tool("test_sampling", {})
        assert wrong.is_error
        assert "prompt" in text_of(wrong)
        with pytest.raises(MCPError, match="no-such-tool"):
            await client.call_tool("no-such-tool", {})

    converse(face, mode, talk)


@everywhere
@both_eras
def test_progress_arrives_in_order(face: str, mode: str) -> None:
    async def talk(client: Client) -> None:
        seen: list[tuple[float, float | None]] = []

        async def watch(progress: float, total: float | None, message: str | None) -> None:
            seen.append((progress, total))

        await client.call_tool("test_tool_with_progress", {}, progress_callback=watch)
        assert seen == [(0, 100), (50, 100), (100, 100)]

    converse(face, mode, talk)


@everywhere
@both_eras
def test_resources_prompts_and_completions_are_there(face: str, mode: str) -> None:
    async def talk(client: Client) -> None:
        read = await client.read_resource("test://template/7/data")
        assert '"id": "7"' in read.contents[0].text  # type: ignore[union-attr]
        prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
        assert prompt.messages[0].content.text == (  # type: ignore[union-attr]
            "Prompt with arguments: arg1='a', arg2='b'"
        )
        completion = await client.complete(
            PromptReference(type="ref/prompt", name="test_prompt_with_arguments"),
            {"name": "arg1", "value": "testi"},
        )
        assert completion.completion.values == ["testing"]

    converse(face, mode, talk)


@pytest.mark.parametrize(
    ("face", "mode"), [*((face, "auto") for face in FACES), ("laptop", "legacy")]
)
def test_a_tool_asks_its_user_and_goes_on(face: str, mode: str) -> None:
    """A legacy client can be asked over a live stream only, so not on Lambda."""

    async def talk(client: Client) -> None:
        rounds = await client.call_tool("test_input_required_result_multi_round", {})
        assert text_of(rounds) == "Multi-round complete for the name who likes the color"
        several = await client.call_tool("test_input_required_result_multiple_inputs", {})
        assert text_of(several) == "Name: the name; Greeting: Paris; Roots: 1"

    converse(face, mode, talk)


@pytest.mark.parametrize("face", EVENT_SHAPES)
def test_a_legacy_client_that_cannot_be_asked_is_told_why(face: str) -> None:
    async def talk(client: Client) -> None:
        answer = await client.call_tool("test_elicitation", {"message": "Who?"})
        assert answer.is_error
        assert "elicitation" in text_of(answer)

    converse(face, "legacy", talk)


@both_eras
@pytest.mark.requirement("003.transport.stateless")
def test_no_request_ever_carries_a_session(mode: str) -> None:
    handler = mcp_handler(conformance_application(), log=Log(stream=StringIO()))
    transport = LambdaTransport(handler, EVENT_SHAPES["http-api"])

    async def main() -> None:
        async with (
            httpx2.AsyncClient(transport=transport) as http,
            client_of("https://nacre.example/mcp", http, mode) as client,
        ):
            await client.list_tools()

    asyncio.run(main())

    assert {sent.method for sent in transport.requests} <= {"POST", "GET"}
    assert not any("mcp-session-id" in sent.lower_headers for sent in transport.requests)
