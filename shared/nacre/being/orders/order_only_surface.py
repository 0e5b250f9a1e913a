"""A server that shows the tool that takes orders, and nothing else."""

from collections.abc import Mapping
from typing import Any

from nacre.access.scopes import ORDER_PREFIX
from nacre.core.errors import NotFoundError, UnknownResourceError
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal
from nacre.protocol.surface import Definitions, Surface, WireTool
from nacre.protocol.wrapped_surface import WrappedSurface


class OnlyOrder(WrappedSurface):
    """The same server to a client that is to see the order tool and nothing else."""

    def __init__(self, whole: Surface) -> None:
        super().__init__(whole)
        self._shown: tuple[Definitions, Definitions] | None = None

    @property
    def instructions(self) -> str | None:
        """Nothing: the inner server's tell of tools that are not shown."""
        return None

    def tools(self) -> Definitions:
        """Return the order tool."""
        return self._only(super().tools())

    def tools_for(self, principal: Principal | None) -> Definitions:
        """Return the order tool, unless this caller must not see it."""
        return self._only(super().tools_for(principal))

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
