"""Nacre: one MCP URL per AI agent. The SDK's names are imported on first use."""

# Importing `typing` would be most of the authorizer's start; type checkers know this name.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from nacre.core.errors import NacreError, ToolError
    from nacre.protocol.context import Context
    from nacre.sdk.completion import Completion
    from nacre.sdk.decorator import tool
    from nacre.sdk.prompt_registry import PromptMessage
    from nacre.sdk.registry import ToolRegistry
    from nacre.sdk.result import (
        Annotations,
        AudioContent,
        EmbeddedResource,
        ImageContent,
        ResourceContents,
        ResourceLink,
        TextContent,
        ToolContent,
        ToolResult,
    )
    from nacre.sdk.schema.field import Field
    from nacre.sdk.tool import Tool, ToolHandler
    from nacre.sdk.tool_names import qualified_name, split_name
    from nacre.sdk.tool_server import ToolServer

__version__ = "0.1.0"

__all__ = [
    "Annotations",
    "AudioContent",
    "Completion",
    "Context",
    "EmbeddedResource",
    "Field",
    "ImageContent",
    "NacreError",
    "PromptMessage",
    "ResourceContents",
    "ResourceLink",
    "TextContent",
    "Tool",
    "ToolContent",
    "ToolError",
    "ToolHandler",
    "ToolRegistry",
    "ToolResult",
    "ToolServer",
    "qualified_name",
    "split_name",
    "tool",
]

_HOME = {
    "NacreError": "nacre.core.errors",
    "ToolError": "nacre.core.errors",
    "Context": "nacre.protocol.context",
    "Completion": "nacre.sdk.completion",
    "Annotations": "nacre.sdk.result",
    "AudioContent": "nacre.sdk.result",
    "EmbeddedResource": "nacre.sdk.result",
    "ImageContent": "nacre.sdk.result",
    "ResourceContents": "nacre.sdk.result",
    "ResourceLink": "nacre.sdk.result",
    "TextContent": "nacre.sdk.result",
    "ToolContent": "nacre.sdk.result",
    "tool": "nacre.sdk.decorator",
    "Field": "nacre.sdk.schema.field",
    "qualified_name": "nacre.sdk.tool_names",
    "split_name": "nacre.sdk.tool_names",
    "PromptMessage": "nacre.sdk.prompt_registry",
    "ToolRegistry": "nacre.sdk.registry",
    "ToolResult": "nacre.sdk.result",
    "ToolServer": "nacre.sdk.tool_server",
    "Tool": "nacre.sdk.tool",
    "ToolHandler": "nacre.sdk.tool",
}


# Hidden from type checkers, which would take every misspelt name for a found one.
if not TYPE_CHECKING:

    def __getattr__(name):
        """Import a name of the SDK from the module that defines it."""
        from importlib import import_module  # noqa: PLC0415 - for users of the SDK alone

        home = _HOME.get(name)
        if home is None:
            raise AttributeError(f"module 'nacre' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(home), name)
        return value


def __dir__() -> list[str]:
    """Return the SDK's names with the module's own."""
    return sorted({*globals(), *__all__})
