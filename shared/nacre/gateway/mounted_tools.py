"""Tools of other servers as the wire calls them."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nacre.core.errors import InvalidParamsError, UpstreamError
from nacre.gateway.calls.external_server import ExternalTool
from nacre.gateway.catalogue.snapshot import MISSING
from nacre.gateway.resource_links import Links
from nacre.protocol.context import Context
from nacre.protocol.surface import WireResult

Compares = Callable[[Callable[[], Awaitable[WireResult]]], Awaitable[WireResult]]


class LinkedTool:
    """A tool whose results may name resources of its server that no list has.

    `compares` makes the call, and again in a new session of the server.
    """

    blocking = False

    def __init__(self, tool: ExternalTool, links: Links, server: str, compares: Compares) -> None:
        self._tool = tool
        self._links = links
        self._server = server
        self._compares = compares
        self.read_only = tool.read_only

    async def call(self, arguments: dict[str, Any], context: Context) -> WireResult:
        """Call the tool."""
        result = await self._compares(lambda: self._tool.call(arguments, context))
        self._links.remember(self._server, result.to_dict())
        return result


class UnlistedTool:
    """A tool of a server that nobody has asked yet what it offers.

    `gather` asks it, and returns the names of all tools and what the lists say of themselves.
    """

    blocking = True
    read_only = False

    def __init__(
        self,
        name: str,
        server: str,
        gather: Callable[[], tuple[Mapping[str, Any], Mapping[str, Any] | None]],
    ) -> None:
        self._name = name
        self._server = server
        self._gather = gather

    async def call(self, arguments: dict[str, Any], context: Context) -> WireResult:
        """Ask the server; what it offers is decided about before it is called."""
        names, meta = self._gather()
        if self._name in names:
            raise UpstreamError(
                self._server,
                "was asked for its tools only now; make the call again",
                is_fault=False,
            )
        missing = (meta or {}).get(MISSING, {})
        if self._server in missing:
            raise UpstreamError(self._server, missing[self._server], is_fault=False)
        raise InvalidParamsError(f"Unknown tool: {self._name[:200]}")
