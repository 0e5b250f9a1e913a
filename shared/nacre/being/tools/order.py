"""The tool `order_<name>`: a message to the Being's agent, and one answer back."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from nacre.access.scopes import ORDER_PREFIX
from nacre.being.tools.memory_access import caller
from nacre.core.errors import InvalidArgumentError
from nacre.core.names import order_slug
from nacre.protocol.context import Context
from nacre.sdk.content import (
    AudioContent,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    TextContent,
    ToolContent,
)
from nacre.sdk.result import ToolResult
from nacre.sdk.tool import CLIENTS_OWN, Tool

if TYPE_CHECKING:
    from nacre.protocol.principal import Principal

DEFAULT_ORDER_NAME = "being"
_ARGUMENTS = ("message", "sessionKey", "images", "files")


class Answer(Protocol):
    """An answer as content blocks, and the session it was given in."""

    @property
    def blocks(self) -> list[dict[str, Any]]: ...
    @property
    def session_key(self) -> str: ...


class Orders(Protocol):
    """What carries out orders."""

    async def take(
        self,
        principal: "Principal",
        context: Context,
        *,
        message: str,
        session_key: str | None = None,
        images: Any = None,
        files: Any = None,
    ) -> Answer:
        """Carry out an order and return its answer."""
        ...


class OrderResult(ToolResult):
    """An answer, which says that it is no error."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the result in wire form."""
        return {**super().to_dict(), "isError": False}


def order_tool_name(name: str) -> str:
    """Return the name of the tool for an order's name: order_clawdbot for Clawdbot."""
    return ORDER_PREFIX + order_slug(name)


def order(name: str, orders: Callable[[], Orders]) -> Tool:
    """Return the tool that gives the Being an order; `orders` is called by the first one."""

    async def ordered(arguments: dict[str, Any], context: Context) -> ToolResult:
        _check_names(arguments)
        answer = await orders().take(
            caller(context),
            context,
            message=arguments["message"],
            session_key=arguments.get("sessionKey"),
            images=arguments.get("images"),
            files=arguments.get("files"),
        )
        content = tuple(map(_content, answer.blocks))
        # A key that was given is not repeated: it is the caller's secret.
        given = answer.session_key == arguments.get("sessionKey")
        return OrderResult(content, meta=None if given else {"nacre/session": answer.session_key})

    shown = "the Being" if name == DEFAULT_ORDER_NAME else name
    return Tool(
        order_tool_name(name),
        f"Send a message to {shown} and receive a response. The message will be processed as if"
        " typed by a user. Supports sending images, files (PDF, text, markdown, CSV, JSON), audio,"
        " video, and archives (ZIP, TAR.GZ) via base64 encoding.",
        _schema(shown),
        ordered,
        read_only=False,
        destructive=True,
        idempotent=False,
        open_world=True,
        blocking=True,
    )


def _schema(shown: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "message": {"type": "string", "description": f"The message to send to {shown}"},
            "sessionKey": {
                "type": "string",
                "description": "Optional session key for conversation continuity",
            },
            "images": _media("images (max 10, 15MB each)", "image", "image/png"),
            "files": _media("files (max 5, 15MB each)", "file", "application/pdf"),
        },
        "required": ["message"],
    }


def _media(what: str, one: str, example: str) -> dict[str, Any]:
    return {
        "type": "array",
        "description": f"Optional base64-encoded {what}",
        "items": {
            "type": "object",
            "properties": {
                "data": {"type": "string", "description": f"Base64-encoded {one} data"},
                "mimeType": {"type": "string", "description": f"MIME type (e.g., '{example}')"},
                "filename": {"type": "string", "description": "Optional filename"},
            },
            "required": ["data", "mimeType"],
        },
    }


def _check_names(arguments: Mapping[str, Any]) -> None:
    """Refuse a misspelt argument, though the schema is open: a lost sessionKey is a lost talk."""
    for name in arguments:
        if name not in _ARGUMENTS and name not in CLIENTS_OWN and not name.startswith("_"):
            raise InvalidArgumentError(
                f"there is no argument {name[:60]!r}; an order has {', '.join(_ARGUMENTS)}"
            )


def _content(block: Mapping[str, Any]) -> ToolContent:
    match block:
        case {"type": "image", "data": str(data), "mimeType": str(mime_type)}:
            return ImageContent(data, mime_type)
        case {"type": "audio", "data": str(data), "mimeType": str(mime_type)}:
            return AudioContent(data, mime_type)
        case {"type": "resource", "resource": {"uri": uri, "blob": data, "mimeType": mime_type}}:
            return EmbeddedResource(ResourceContents(uri, blob=data, mime_type=mime_type))
        case _:
            return TextContent(str(block["text"]))
