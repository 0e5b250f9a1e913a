"""A server with the tool that takes orders, under the name that each Being has given it."""

from collections.abc import Callable, Mapping
from typing import Any

from nacre.access.scopes import ORDER_PREFIX
from nacre.errors import InvalidParamsError, NotFoundError, UnknownResourceError
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal
from nacre.protocol.surface import (
    Definitions,
    SelectiveSource,
    Surface,
    WireResult,
    WireTool,
)
from nacre.tools.tool import Tool

_MOST_NAMES = 256  # whose tools one process keeps ready; the names of strangers are no more

Naming = Callable[[Principal | None], str]
"""From a caller to the name that its Being's orders have; for nobody, the default."""


class OrderSurface:
    """A surface with the order tool behind its own tools."""

    def __init__(self, inner: Surface, naming: Naming, tool_named: Callable[[str], Tool]) -> None:
        self._inner = inner
        self._naming = naming
        self._tool_named = tool_named
        self._made: dict[str, Tool] = {}
        self._joined: dict[str, tuple[Definitions, Definitions]] = {}

    @property
    def name(self) -> str:
        """The name that clients see."""
        return self._inner.name

    @property
    def version(self) -> str:
        """The version that clients see."""
        return self._inner.version

    @property
    def title(self) -> str | None:
        """The name for people, where it differs."""
        return self._inner.title

    @property
    def instructions(self) -> str | None:
        """Guidance for a model that uses the server."""
        return self._inner.instructions

    def tools(self) -> Definitions:
        """Return the definitions of all tools, the order's under its default name."""
        return self._with_order(self._inner.tools(), self._naming(None))

    def tools_for(self, principal: Principal | None) -> Definitions:
        """Return what this caller sees, the order tool under its Being's name."""
        inner = self._inner
        seen = inner.tools_for(principal) if isinstance(inner, SelectiveSource) else inner.tools()
        return self._with_order(seen, self._naming(principal))

    def get_tool(self, name: str) -> WireTool | None:
        """Return the tool, None for an unknown name; whose order it is, the call tells."""
        if name.startswith(ORDER_PREFIX):
            return NamedOrder(name, self._naming, self._tool)
        return self._inner.get_tool(name)

    def resources(self) -> Definitions:
        """Return the fixed resources."""
        return self._inner.resources()

    def resource_templates(self) -> Definitions:
        """Return the templates."""
        return self._inner.resource_templates()

    async def read_resource(self, uri: str, context: Context) -> dict[str, Any]:
        """Return the contents; raises NotFoundError for an unknown URI."""
        return await self._inner.read_resource(uri, context)

    def prompts(self) -> Definitions:
        """Return the prompts."""
        return self._inner.prompts()

    async def get_prompt(
        self, name: str, arguments: dict[str, str], context: Context
    ) -> dict[str, Any]:
        """Return the prompt's messages; raises NotFoundError for an unknown name."""
        return await self._inner.get_prompt(name, arguments, context)

    async def complete(
        self,
        ref: Mapping[str, Any],
        argument: Mapping[str, Any],
        context_arguments: Mapping[str, str],
    ) -> dict[str, Any]:
        """Return suggestions for what the user has typed so far."""
        return await self._inner.complete(ref, argument, context_arguments)

    def _with_order(self, seen: Definitions, name: str) -> Definitions:
        known = self._joined.get(name)
        if known is None or known[0] is not seen:
            if len(self._joined) >= _MOST_NAMES:
                self._joined.clear()
            known = self._joined[name] = (seen, (*seen, self._tool(name).definition))
        return known[1]

    def _tool(self, name: str) -> Tool:
        tool = self._made.get(name)
        if tool is None:
            if len(self._made) >= _MOST_NAMES:
                self._made.clear()
            tool = self._made[name] = self._tool_named(name)
        return tool


class NamedOrder:
    """The order tool as one name calls it; only the caller's own Being answers to its name."""

    __slots__ = ("_name", "_naming", "_tool")

    blocking = True
    read_only = False

    def __init__(self, name: str, naming: Naming, tool: Callable[[str], Tool]) -> None:
        self._name = name
        self._naming = naming
        self._tool = tool

    async def call(self, arguments: dict[str, Any], context: Context) -> WireResult:
        """Give the order; raises InvalidParamsError where the Being has another name."""
        tool = self._tool(self._naming(context.principal))
        if tool.name != self._name:
            raise InvalidParamsError(
                f"Unknown tool: {self._name[:200]}; this Being's is {tool.name}"
            )
        return await tool.call(arguments, context)


class OnlyOrder:
    """The same server to a client that is to see the order tool and nothing else."""

    def __init__(self, whole: Surface) -> None:
        self._whole = whole
        self._shown: tuple[Definitions, Definitions] | None = None

    @property
    def name(self) -> str:
        """The name that clients see."""
        return self._whole.name

    @property
    def version(self) -> str:
        """The version that clients see."""
        return self._whole.version

    @property
    def title(self) -> str | None:
        """The name for people, where it differs."""
        return self._whole.title

    instructions: str | None = None

    def tools(self) -> Definitions:
        """Return the order tool."""
        return self._only(self._whole.tools())

    def tools_for(self, principal: Principal | None) -> Definitions:
        """Return the order tool, unless this caller must not see it."""
        whole = self._whole
        seen = whole.tools_for(principal) if isinstance(whole, SelectiveSource) else whole.tools()
        return self._only(seen)

    def get_tool(self, name: str) -> WireTool | None:
        """Return the order tool by its name."""
        return self._whole.get_tool(name) if name.startswith(ORDER_PREFIX) else None

    def resources(self) -> Definitions:
        """Return nothing."""
        return ()

    def resource_templates(self) -> Definitions:
        """Return nothing."""
        return ()

    async def read_resource(self, uri: str, context: Context) -> dict[str, Any]:
        """Refuse: there are none."""
        raise UnknownResourceError(uri)

    def prompts(self) -> Definitions:
        """Return nothing."""
        return ()

    async def get_prompt(
        self, name: str, arguments: dict[str, str], context: Context
    ) -> dict[str, Any]:
        """Refuse: there are none."""
        raise NotFoundError(f"Prompt not found: {name[:200]}")

    async def complete(
        self,
        ref: Mapping[str, Any],
        argument: Mapping[str, Any],
        context_arguments: Mapping[str, str],
    ) -> dict[str, Any]:
        """Suggest nothing."""
        return {"values": []}

    def _only(self, seen: Definitions) -> Definitions:
        if self._shown is None or self._shown[0] is not seen:
            orders = tuple(each for each in seen if str(each["name"]).startswith(ORDER_PREFIX))
            self._shown = (seen, orders)
        return self._shown[1]
