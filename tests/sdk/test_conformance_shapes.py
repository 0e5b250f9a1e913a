"""The official conformance suite's fixtures, as far as a tool can say them itself."""

import asyncio
from typing import Annotated, Any

import pytest

from nacre import (
    AudioContent,
    Context,
    EmbeddedResource,
    Field,
    ImageContent,
    PromptMessage,
    ResourceContents,
    TextContent,
    ToolResult,
    ToolServer,
    tool,
)
from nacre.core.errors import ClientCapabilityError
from nacre.protocol.context import InputRequired

JSON_SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

PNG, WAV = b"\x89PNG\r\n\x1a\n", b"RIFF"


@tool(name="test_multiple_content_types")
async def multiple() -> list[Any]:
    return [
        TextContent("Multiple content types test:"),
        ImageContent(PNG, "image/png"),
        AudioContent(WAV, "audio/wav"),
        EmbeddedResource(ResourceContents("test://embedded-resource", "text")),
    ]


@tool(name="test_error_handling")
async def failing() -> ToolResult:
    return ToolResult.error("This tool intentionally returns an error for testing")


@tool(name="json_schema_2020_12_tool", input_schema=JSON_SCHEMA_2020_12)
async def json_schema(name: str | None = None, address: dict[str, Any] | None = None) -> str:
    return f"{name} {address}"


@tool(name="test_header")
async def header(
    region: Annotated[str, Field("The region", header="Region")],
    count: Annotated[int | None, Field(header="Count")] = None,
) -> str:
    return region


@tool(name="test_missing_capability")
async def missing(context: Context) -> str:
    context.require("sampling")
    return "sampled"


@tool(name="test_input_required_result_elicitation")
async def elicit(context: Context) -> str:
    form = {"mode": "form", "message": "What is your name?", "requestedSchema": {"type": "object"}}
    answers = await context.ask({"user_name": {"method": "elicitation/create", "params": form}})
    return f"Hello, {answers['user_name']['content']['name']}!"


@tool(name="test_tool_with_progress")
async def progressing(context: Context) -> str:
    for step in (0, 50, 100):
        context.progress(step, 100)
    return "done"


def conformance() -> ToolServer:
    server = ToolServer("conformance", "1.0.0")
    for item in (multiple, failing, json_schema, header, missing, elicit, progressing):
        server.register_tool(item)

    @server.resource("test://static-binary", mime_type="image/png")
    async def binary() -> bytes:
        return PNG

    @server.prompt("test_prompt_with_embedded_resource")
    async def embedded(resourceUri: str) -> list[Any]:  # noqa: N803 - the suite's name
        return [
            PromptMessage("user", EmbeddedResource(ResourceContents(resourceUri, "content"))),
            "Please process the embedded resource above.",
        ]

    return server


def call(name: str, arguments: dict[str, Any], context: Context | None = None) -> dict[str, Any]:
    return asyncio.run(conformance().call_tool(name, arguments, context))


def test_every_schema_compiles() -> None:
    conformance().check()


def test_a_2020_12_schema_is_listed_verbatim_and_enforced() -> None:
    server = conformance()

    assert json_schema.definition["inputSchema"] == JSON_SCHEMA_2020_12
    assert (
        server.check_arguments(json_schema.name, {"contactMethod": "phone", "phone": "1"}) is None
    )
    assert server.check_arguments(json_schema.name, {"contactMethod": "phone", "email": "e"}) == (
        "argument 'phone' is missing: expected a string"
    )


def test_several_kinds_of_content_travel_together() -> None:
    content = call("test_multiple_content_types", {})["content"]

    assert [block["type"] for block in content] == ["text", "image", "audio", "resource"]


def test_header_parameters_are_annotated_where_clients_look_for_them() -> None:
    properties = header.input_schema["properties"]

    assert properties["region"]["x-mcp-header"] == "Region"
    assert properties["count"] == {"type": "integer", "x-mcp-header": "Count"}


def test_a_client_that_cannot_do_it_is_told_what_is_missing() -> None:
    with pytest.raises(ClientCapabilityError, match="'sampling'"):
        call("test_missing_capability", {})


def test_a_question_to_the_client_passes_through_and_its_answer_comes_back() -> None:
    asking = Context(version="2026-07-28", capabilities={"elicitation": {}})
    with pytest.raises(InputRequired) as question:
        call("test_input_required_result_elicitation", {}, asking)
    assert question.value.requests.keys() == {"user_name"}

    answered = Context(
        version="2026-07-28",
        capabilities={"elicitation": {}},
        answers={"user_name": {"action": "accept", "content": {"name": "Ada"}}},
    )
    result = call("test_input_required_result_elicitation", {}, answered)
    assert result["content"] == [{"type": "text", "text": "Hello, Ada!"}]


def test_progress_reaches_the_channel() -> None:
    class Recording:
        can_ask = False
        cancelled = False

        def __init__(self) -> None:
            self.sent: list[Any] = []

        def notify(self, method: str, params: dict[str, Any]) -> None:
            self.sent.append((method, params["progress"]))

        async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
            raise AssertionError(method)

    channel = Recording()
    call("test_tool_with_progress", {}, Context(progress_token="t", channel=channel))

    assert channel.sent == [("notifications/progress", step) for step in (0, 50, 100)]


def test_binary_resources_and_prompts_with_resources() -> None:
    server = conformance()
    contents = asyncio.run(server.read_resource("test://static-binary"))["contents"]
    prompt = asyncio.run(
        server.get_prompt("test_prompt_with_embedded_resource", {"resourceUri": "test://r"})
    )

    assert contents == [
        {"uri": "test://static-binary", "mimeType": "image/png", "blob": "iVBORw0KGgo="}
    ]
    assert [message["content"]["type"] for message in prompt["messages"]] == ["resource", "text"]
