"""A server of tools in this very process: a user's own package."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nacre.core.errors import InvalidInputError
from nacre.gateway.catalogue.own_code_errors import contained
from nacre.ports.upstream import Offered
from nacre.protocol.context import Context
from nacre.protocol.surface import WireResult
from nacre.sdk.tool import Tool
from nacre.sdk.tool_server import ToolServer

if TYPE_CHECKING:
    from nacre.gateway.catalogue.event_loops import OwnLoops


class InProcess:
    """What a ToolServer offers, as any other server does.

    With `loops` its code runs apart from the event loop of whoever calls.
    """

    def __init__(self, name: str, server: ToolServer, *, loops: "OwnLoops | None" = None) -> None:
        self.name = name
        self.server = server
        self._loops = loops

    def offered(self) -> Offered:
        """Return what it has now; nothing is asked."""
        server = self.server
        return Offered(
            tuple(server.tools()),
            tuple(server.resources()),
            tuple(server.resource_templates()),
            tuple(server.prompts()),
        )

    def tool(self, name: str, *, reads: Callable[[str], bool]) -> "InProcessTool | None":
        """Return a tool; `reads` tells whether the owner says that one changes nothing."""
        tool = self.server.get_tool(name)
        return (
            None if tool is None else InProcessTool(tool, read_only=reads(name), loops=self._loops)
        )

    async def request(
        self, method: str, params: Mapping[str, Any], context: Context
    ) -> dict[str, Any]:
        """Answer a request about a resource, a prompt or a completion."""
        if self._loops is None:
            return await contained(self._answer(method, params, context), has_terminal=False)
        return await self._loops.run(partial(self._answer, method, params), context)

    async def _answer(
        self, method: str, params: Mapping[str, Any], context: Context
    ) -> dict[str, Any]:
        match method:
            case "resources/read":
                return await self.server.read_resource(params["uri"], context)
            case "prompts/get":
                arguments = dict(params.get("arguments") or {})
                return await self.server.get_prompt(params["name"], arguments, context)
            case "completion/complete":
                known = (params.get("context") or {}).get("arguments") or {}
                found = await self.server.complete(params["ref"], params["argument"], known)
                return {"completion": found}
            case _:
                raise InvalidInputError(f"{method} is not for a server of this process")


class InProcessTool:
    """A tool of a user's own; that it changes nothing is for the configuration to say."""

    def __init__(self, tool: Tool, *, read_only: bool, loops: "OwnLoops | None" = None) -> None:
        self.tool = tool
        self._loops = None if tool.blocking else loops
        self._has_terminal = loops is not None  # without loops it runs in a function
        self.blocking = tool.blocking
        self.read_only = read_only

    async def call(self, arguments: dict[str, Any], context: Context) -> WireResult:
        """Check the arguments and run the tool."""
        if self._loops is None:
            work = self.tool.call(arguments, context)
            return await contained(work, has_terminal=self._has_terminal)
        return await self._loops.run(partial(self.tool.call, arguments), context)
