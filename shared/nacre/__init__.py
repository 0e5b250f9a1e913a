"""Nacre: one MCP URL per AI agent. The SDK's names are imported on first use."""

# Importing `typing` would be most of the authorizer's start; type checkers know this name.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from nacre.errors import NacreError, ToolError
    from nacre.protocol.context import Context
    from nacre.tools.completion import Completion
    from nacre.tools.content import (
        Annotations,
        AudioContent,
        EmbeddedResource,
        ImageContent,
        ResourceContents,
        ResourceLink,
        TextContent,
        ToolContent,
    )
    from nacre.tools.decorator import tool
    from nacre.tools.field import Field
    from nacre.tools.names import qualified_name, split_name
    from nacre.tools.prompts import PromptMessage
    from nacre.tools.registry import ToolRegistry
    from nacre.tools.result import ToolResult
    from nacre.tools.server import ToolServer
    from nacre.tools.tool import Tool, ToolHandler

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
    "NacreError": "nacre.errors",
    "ToolError": "nacre.errors",
    "Context": "nacre.protocol.context",
    "Completion": "nacre.tools.completion",
    "Annotations": "nacre.tools.content",
    "AudioContent": "nacre.tools.content",
    "EmbeddedResource": "nacre.tools.content",
    "ImageContent": "nacre.tools.content",
    "ResourceContents": "nacre.tools.content",
    "ResourceLink": "nacre.tools.content",
    "TextContent": "nacre.tools.content",
    "ToolContent": "nacre.tools.content",
    "tool": "nacre.tools.decorator",
    "Field": "nacre.tools.field",
    "qualified_name": "nacre.tools.names",
    "split_name": "nacre.tools.names",
    "PromptMessage": "nacre.tools.prompts",
    "ToolRegistry": "nacre.tools.registry",
    "ToolResult": "nacre.tools.result",
    "ToolServer": "nacre.tools.server",
    "Tool": "nacre.tools.tool",
    "ToolHandler": "nacre.tools.tool",
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
