"""Fixtures that answer with content, notifications and errors."""

import asyncio
import json
from typing import Any

from nacre import (
    AudioContent,
    Context,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    TextContent,
    Tool,
    ToolError,
    ToolResult,
    ToolServer,
    tool,
)

# One red pixel, and a WAV file with no samples.
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5E"
    "rkJggg=="
)
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
# The suite looks at the times of the notifications of one call.
PAUSE_SECONDS = 0.05

SCHEMA_2020_12: dict[str, Any] = {
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


@tool(name="test_simple_text", read_only=True)
async def simple_text() -> ToolResult:
    """Tests simple text content response."""
    return ToolResult.text("This is a simple text response for testing.")


@tool(name="test_image_content", read_only=True)
async def image_content() -> ToolResult:
    """Tests image content response."""
    return ToolResult.image(PNG, "image/png")


@tool(name="test_audio_content", read_only=True)
async def audio_content() -> ToolResult:
    """Tests audio content response."""
    return ToolResult((AudioContent(WAV, "audio/wav"),))


@tool(name="test_embedded_resource", read_only=True)
async def embedded_resource() -> ToolResult:
    """Tests embedded resource content response."""
    return ToolResult.resource(
        "test://embedded-resource",
        text="This is an embedded resource content.",
        mime_type="text/plain",
    )


@tool(name="test_multiple_content_types", read_only=True)
async def multiple_content_types() -> ToolResult:
    """Tests response with text, an image and a resource."""
    data = json.dumps({"test": "data", "value": 123})
    resource = ResourceContents("test://mixed-content-resource", data, mime_type="application/json")
    return ToolResult(
        (
            TextContent("Multiple content types test:"),
            ImageContent(PNG, "image/png"),
            EmbeddedResource(resource),
        )
    )


@tool(name="test_error_handling", read_only=True)
async def error_handling() -> ToolResult:
    """Tests error response handling."""
    raise ToolError("This tool intentionally returns an error for testing")


@tool(name="test_tool_with_logging", read_only=True)
async def with_logging(context: Context) -> ToolResult:
    """Tests tool that emits log messages during execution."""
    context.log("info", "Tool execution started")
    await asyncio.sleep(PAUSE_SECONDS)
    context.log("info", "Tool processing data")
    await asyncio.sleep(PAUSE_SECONDS)
    context.log("info", "Tool execution completed")
    return ToolResult.text("Tool with logging executed successfully")


@tool(name="test_tool_with_progress", read_only=True)
async def with_progress(context: Context) -> ToolResult:
    """Tests tool that reports progress notifications."""
    for done in (0, 50, 100):
        context.progress(done, 100, f"Completed step {done} of 100")
        await asyncio.sleep(PAUSE_SECONDS)
    return ToolResult.text(str(context.progress_token))


@tool(name="test_logging_tool", read_only=True)
async def logging_tool(context: Context) -> ToolResult:
    """Logs, which reaches only a client that named a log level."""
    context.log("info", "Diagnostic trace logging activated")
    return ToolResult.text("Logging evaluated")


@tool(name="test_streaming_elicitation", read_only=True)
async def streaming(context: Context) -> ToolResult:
    """Reports progress on the response stream."""
    context.progress(50, 100)
    return ToolResult.text("Streaming complete")


class Echo:
    """Says its arguments back."""

    async def call(self, arguments: dict[str, Any]) -> ToolResult:
        """Return the arguments as text."""
        return ToolResult.text(f"called with: {json.dumps(arguments)}")


def register_content(server: ToolServer) -> None:
    """Add the fixtures."""
    for fixture in (
        simple_text,
        image_content,
        audio_content,
        embedded_resource,
        multiple_content_types,
        error_handling,
        with_logging,
        with_progress,
        logging_tool,
        streaming,
    ):
        server.register_tool(fixture)
    server.register_tool(
        Tool("json_schema_2020_12_tool", "Tests JSON Schema 2020-12", SCHEMA_2020_12, Echo())
    )
    mirrored = {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "query": {"type": "string"},
        },
        "required": ["region"],
    }
    server.register_tool(
        Tool(
            "test_header_parameter", "Tests a parameter that travels in a header", mirrored, Echo()
        )
    )
