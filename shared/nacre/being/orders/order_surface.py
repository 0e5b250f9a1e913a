"""A server with the tool that takes orders, under the name that each Being has given it."""

from collections.abc import Callable
from typing import Any

from nacre.access.scopes import ORDER_PREFIX
from nacre.core.errors import InvalidParamsError
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal
from nacre.protocol.surface import Definitions, Surface, WireResult, WireTool
from nacre.protocol.wrapped_surface import WrappedSurface
from nacre.sdk.tool import Tool

_MOST_NAMES = 256  # whose tools one process keeps ready; the names of strangers are no more

Naming = Callable[[Principal | None], str]
"""From a caller to the name that its Being's orders have; for nobody, the default."""


class OrderSurface(WrappedSurface):
    """A surface with the order tool behind its own tools."""

    def __init__(self, inner: Surface, naming: Naming, tool_named: Callable[[str], Tool]) -> None:
        super().__init__(inner)
        self._naming = naming
        self._tool_named = tool_named
        self._made: dict[str, Tool] = {}
        self._joined: dict[str, tuple[Definitions, Definitions]] = {}

    def tools(self) -> Definitions:
        """Return the definitions of all tools, the order's under its default name."""
        return self._with_order(super().tools(), self._naming(None))

    def tools_for(self, principal: Principal | None) -> Definitions:
        """Return what this caller sees, the order tool under its Being's name."""
        return self._with_order(super().tools_for(principal), self._naming(principal))

    def get_tool(self, name: str) -> WireTool | None:
        """Return the tool, None for an unknown name; whose order it is, the call tells."""
        if name.startswith(ORDER_PREFIX):
            return NamedOrder(name, self._naming, self._tool)
        return super().get_tool(name)

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
