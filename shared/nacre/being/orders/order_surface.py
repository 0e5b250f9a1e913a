"""A server with the tool that takes orders, under the name that each Being has given it."""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nacre.access.scopes import ORDER_PREFIX
from nacre.core.bounded_cache import BoundedCache
from nacre.core.errors import InvalidParamsError, NacreError
from nacre.core.limits import ORDER_NAME_SECONDS
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal
from nacre.protocol.surface import Definitions, Surface, WireResult, WireTool
from nacre.protocol.wrapped_surface import WrappedSurface

if TYPE_CHECKING:
    from nacre.sdk.tool import Tool

_CACHED_BEINGS = 1024  # Beings whose names one process caches
_CACHED_NAMES = 256  # names whose tools one process caches; strangers' names are not cached

OrderNaming = Callable[[Principal | None], str]
"""From a caller to the name of its Being's orders; for None, the default name."""


class OrderNames:
    """The names of orders, by caller; `lookup` returns a Being's own name, or None.

    The default name also answers while the store fails, so that tools can always be listed.
    """

    def __init__(
        self,
        lookup: Callable[[str], str | None],
        default: str,
        *,
        seconds: float = ORDER_NAME_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lookup = lookup
        self._default = default
        self._seconds = seconds
        self._monotonic = monotonic
        self._cache: BoundedCache[str, tuple[float, str]] = BoundedCache(_CACHED_BEINGS)

    def __call__(self, principal: Principal | None) -> str:
        """Return the name of the caller's orders."""
        if principal is None:
            return self._default
        now = self._monotonic()
        entry = self._cache.get(principal.being_id)
        if entry is not None and now < entry[0]:
            return entry[1]
        try:
            name = self._lookup(principal.being_id) or self._default
        except NacreError:
            return self._default if entry is None else entry[1]
        self._cache[principal.being_id] = (now + self._seconds, name)
        return name


class OrderSurface(WrappedSurface):
    """A surface with the order tool behind its own tools."""

    def __init__(
        self,
        inner: Surface,
        naming: OrderNaming,
        tool_named: "Callable[[str], Tool]",
        definition_of: Callable[[str], Mapping[str, Any]],
    ) -> None:
        super().__init__(inner)
        self._naming = naming
        self._tool_named = tool_named
        self._definition_of = definition_of
        self._order_tools: BoundedCache[str, Tool] = BoundedCache(_CACHED_NAMES)
        self._lists: BoundedCache[str, tuple[Definitions, Definitions]] = BoundedCache(
            _CACHED_NAMES
        )

    def tools(self) -> Definitions:
        """Return the definitions of all tools, the order's under its default name."""
        return self._with_order(super().tools(), self._naming(None))

    def tools_for(self, principal: Principal | None) -> Definitions:
        """Return the caller's tools, the order tool under its Being's name."""
        return self._with_order(super().tools_for(principal), self._naming(principal))

    def get_tool(self, name: str) -> WireTool | None:
        """Return the tool, or None; an order tool compares its name when it is called."""
        if name.startswith(ORDER_PREFIX):
            return NamedOrder(name, self._naming, self._order_tool)
        return self._inner.get_tool(name)

    def _with_order(self, tools: Definitions, name: str) -> Definitions:
        entry = self._lists.get(name)
        if entry is None or entry[0] is not tools:
            entry = self._lists[name] = (tools, (*tools, self._definition_of(name)))
        return entry[1]

    def _order_tool(self, name: str) -> "Tool":
        tool = self._order_tools.get(name)
        if tool is None:
            tool = self._order_tools[name] = self._tool_named(name)
        return tool


class NamedOrder:
    """The order tool as a client named it; only the caller's own Being answers to its name."""

    __slots__ = ("_name", "_naming", "_tool")

    blocking = True
    read_only = False

    def __init__(self, name: str, naming: OrderNaming, tool: "Callable[[str], Tool]") -> None:
        self._name = name
        self._naming = naming
        self._tool = tool

    async def call(self, arguments: dict[str, Any], context: Context) -> WireResult:
        """Give the order; raises InvalidParamsError if the Being has another name."""
        tool = self._tool(self._naming(context.principal))
        if tool.name != self._name:
            raise InvalidParamsError(
                f"Unknown tool: {self._name[:200]}; this Being's is {tool.name}"
            )
        return await tool.call(arguments, context)
