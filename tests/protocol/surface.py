"""A small server of its own for tests of the wire: no SDK stands behind it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from nacre.core.errors import InvalidInputError, NotFoundError, UnknownResourceError
from nacre.faces.mcp_endpoint import Rules
from nacre.protocol.context import Context
from nacre.protocol.dispatch.methods import Dispatcher
from nacre.protocol.dispatch.request_state import RequestStates, SigningKeys
from nacre.protocol.surface import Definitions

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
KEYS = SigningKeys(b"k" * 32)
_OBJECT = {"type": "object"}
_REGION = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "place": {
            "type": "object",
            "properties": {"floor": {"type": "integer", "x-mcp-header": "Floor"}},
        },
    },
}
_TOOLS: tuple[dict[str, Any], ...] = (
    {"name": "echo", "description": "Say it back", "inputSchema": _OBJECT},
    {"name": "write", "description": "Change something", "inputSchema": _OBJECT},
    {"name": "located", "description": "Mirror parameters", "inputSchema": _REGION},
    {"name": "ask", "description": "Ask twice", "inputSchema": _OBJECT},
    {"name": "chatty", "description": "Report progress and log", "inputSchema": _OBJECT},
    {"name": "broken", "description": "Raise", "inputSchema": _OBJECT},
    {
        "name": "scores",
        "description": "Return a list",
        "inputSchema": _OBJECT,
        "outputSchema": {"type": "array"},
    },
)


def elicit(message: str) -> dict[str, Any]:
    """Return a request that asks the person for a name."""
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    return {
        "method": "elicitation/create",
        "params": {"message": message, "requestedSchema": schema},
    }


class Said:
    """A result with one text."""

    def __init__(self, text: str, **more: Any) -> None:
        self.text = text
        self.more = more

    def to_dict(self) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": self.text}], **self.more}


class SmallTool:
    """One of the server's tools."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.blocking = name == "echo"
        self.read_only = name != "write"

    async def call(self, arguments: dict[str, Any], context: Context) -> Said:
        if arguments.get("text") == 7:
            raise InvalidInputError("argument 'text': expected a string")
        match self.name:
            case "ask":
                first = await context.ask({"first": elicit("Your name?")})
                second = await context.ask({"second": elicit("Your other name?")})
                return Said(f"{_name(first['first'])} {_name(second['second'])}")
            case "chatty":
                context.progress(1, 2, "half")
                context.log("debug", "quiet")
                context.log("warning", {"loud": True}, "test")
                return Said("done")
            case "scores":
                return Said("[1]", structuredContent=[1])
            case "broken":
                raise RuntimeError("secret detail")
            case _:
                return Said(str(arguments.get("text", self.name)))


class SmallServer:
    """A few tools, one resource, one template and one prompt."""

    name = "small"
    version = "1.2.3"
    title = None
    instructions = "Be brief."

    def tools(self) -> Definitions:
        return _TOOLS

    def get_tool(self, name: str) -> "SmallTool | None":
        return SmallTool(name) if any(tool["name"] == name for tool in _TOOLS) else None

    def resources(self) -> Definitions:
        return ({"uri": "test://one", "name": "one"},)

    def resource_templates(self) -> Definitions:
        return ({"uriTemplate": "test://{id}", "name": "any"},)

    async def read_resource(self, uri: str, context: Context) -> dict[str, Any]:
        if uri != "test://one":
            raise UnknownResourceError(uri)
        return {"contents": [{"uri": uri, "text": "1"}]}

    def prompts(self) -> Definitions:
        return ({"name": "greet"},)

    async def get_prompt(
        self, name: str, arguments: dict[str, str], context: Context
    ) -> dict[str, Any]:
        if name != "greet":
            raise NotFoundError(f"there is no prompt '{name}'")
        text = f"Hello {arguments.get('who', 'you')}"
        return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}

    async def complete(
        self,
        ref: Mapping[str, Any],
        argument: Mapping[str, Any],
        context_arguments: Mapping[str, str],
    ) -> dict[str, Any]:
        return {"values": [f"{argument['value']}a"], "total": 1, "hasMore": False}


def small_dispatcher(*, logging: bool = False) -> Dispatcher:
    """Return a dispatcher over the small server, at a fixed moment."""
    states = RequestStates(lambda: KEYS, lambda: NOW)
    return Dispatcher(SmallServer(), rules=Rules(), states=states, logging=logging)


def _name(answer: Mapping[str, Any]) -> str:
    return str(answer["content"]["name"])
