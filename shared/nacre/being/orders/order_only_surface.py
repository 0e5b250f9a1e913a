"""A server that shows the tool that takes orders, and nothing else."""

from collections.abc import Mapping
from typing import Any

from nacre.access.scopes import ORDER_PREFIX
from nacre.core.errors import NotFoundError, UnknownResourceError
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal
from nacre.protocol.surface import Definitions, Surface, WireTool, part_of
from nacre.protocol.wrapped_surface import WrappedSurface


class OrderOnlySurface(WrappedSurface):
    """A surface with the order tool of another one."""

    def __init__(self, inner: Surface) -> None:
        super().__init__(inner)
        self._cache: tuple[Definitions, Definitions] | None = None
        self._part: OrderOnlySurface | None = None

    @property
    def instructions(self) -> str | None:
        """None: the inner server's instructions are about tools that are not shown."""
        return None

    def part_for(self, principal: Principal) -> Surface:
        """Return the order tool of the part that a caller in a profile sees."""
        inner = part_of(self._inner, principal)
        if inner is self._inner:
            return self
        if self._part is None or self._part._inner is not inner:
            self._part = OrderOnlySurface(inner)
        return self._part

    def tools(self) -> Definitions:
        """Return the order tool."""
        return self._orders(super().tools())

    def tools_for(self, principal: Principal | None) -> Definitions:
        """Return the order tool, unless this caller must not see it."""
        return self._orders(super().tools_for(principal))

    def get_tool(self, name: str) -> WireTool | None:
        """Return the order tool by its name."""
        return super().get_tool(name) if name.startswith(ORDER_PREFIX) else None

    def resources(self) -> Definitions:
        """Return nothing."""
        return ()

    def resource_templates(self) -> Definitions:
        """Return nothing."""
        return ()

    async def read_resource(self, uri: str, context: Context) -> dict[str, Any]:
        """Raise UnknownResourceError: there are no resources."""
        raise UnknownResourceError(uri)

    def prompts(self) -> Definitions:
        """Return nothing."""
        return ()

    async def get_prompt(
        self, name: str, arguments: dict[str, str], context: Context
    ) -> dict[str, Any]:
        """Raise NotFoundError: there are no prompts."""
        raise NotFoundError(f"Prompt not found: {name[:200]}")

    async def complete(
        self,
        ref: Mapping[str, Any],
        argument: Mapping[str, Any],
        context_arguments: Mapping[str, str],
    ) -> dict[str, Any]:
        """Suggest nothing."""
        return {"values": []}

    def _orders(self, tools: Definitions) -> Definitions:
        if self._cache is None or self._cache[0] is not tools:
            orders = tuple(tool for tool in tools if str(tool["name"]).startswith(ORDER_PREFIX))
            self._cache = (tools, orders)
        return self._cache[1]
