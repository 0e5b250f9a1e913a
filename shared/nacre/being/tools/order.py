"""The tool `order_<name>`: a message to the Being's agent, and one answer back."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from nacre.being.tools.order_definition import order_definition
from nacre.being.tools.tool_calls import caller
from nacre.core.errors import InvalidArgumentError
from nacre.protocol.context import Context
from nacre.sdk.result import (
    AudioContent,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    ResourceLink,
    TextContent,
    ToolContent,
    ToolResult,
)
from nacre.sdk.tool import CLIENTS_OWN, Tool

if TYPE_CHECKING:
    from nacre.protocol.principal import Principal

_ARGUMENTS = ("message", "sessionKey", "images", "files")


class Answer(Protocol):
    """The answer to an order as content blocks, with the key of its session."""

    @property
    def blocks(self) -> list[dict[str, Any]]: ...
    @property
    def session_key(self) -> str: ...


class Orders(Protocol):
    """Carries out orders."""

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
    """A result with an explicit `isError: false`."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the result in wire form."""
        return {**super().to_dict(), "isError": False}


def order(name: str, orders: Callable[[], Orders], *, links: bool = False) -> Tool:
    """Return the tool that gives the Being an order; the first order calls `orders`.

    With `links`, an order may name media that were uploaded before.
    """

    async def take_order(arguments: dict[str, Any], context: Context) -> ToolResult:
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
        # The caller's own key is a secret and is not repeated.
        is_own = answer.session_key == arguments.get("sessionKey")
        return OrderResult(content, meta=None if is_own else {"nacre/session": answer.session_key})

    definition = order_definition(name, links=links)
    return Tool(
        definition["name"],
        definition["description"],
        definition["inputSchema"],
        take_order,
        read_only=False,
        destructive=True,
        idempotent=False,
        open_world=True,
        blocking=True,
    )


def _check_names(arguments: Mapping[str, Any]) -> None:
    """Refuse unknown arguments: the schema is open, and a misspelt sessionKey loses the session."""
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
        case {"type": "resource_link", "uri": str(uri), "name": str(name)}:
            return ResourceLink(
                uri,
                name,
                description=block.get("description"),
                mime_type=block.get("mimeType"),
                size=block.get("size"),
                meta=block.get("_meta"),
            )
        case {"type": "resource", "resource": {"uri": uri, "blob": data, "mimeType": mime_type}}:
            return EmbeddedResource(ResourceContents(uri, blob=data, mime_type=mime_type))
        case _:
            return TextContent(str(block["text"]))
