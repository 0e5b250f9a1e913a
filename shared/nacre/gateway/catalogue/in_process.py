"""A server in this process: the tools and other features of a user's package."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nacre.core.errors import InvalidInputError
from nacre.gateway.catalogue.own_code_errors import contain_exit
from nacre.ports.other_programs.upstream import Offered
from nacre.protocol.context import Context
from nacre.protocol.large_calls import read_in_full
from nacre.protocol.surface import WireResult
from nacre.sdk.tool import Tool
from nacre.sdk.tool_server import ToolServer

if TYPE_CHECKING:
    from nacre.gateway.catalogue.event_loops import OwnLoops


class InProcessServer:
    """Gives a ToolServer the methods that the gateway calls on another server.

    With `loops`, its code does not run in the event loop of its caller.
    """

    def __init__(self, name: str, server: ToolServer, *, loops: "OwnLoops | None" = None) -> None:
        self.name = name
        self.server = server
        self._loops = loops

    def offered(self) -> Offered:
        """Return the current lists of tools, resources, templates and prompts."""
        server = self.server
        return Offered(
            tuple(server.tools()),
            tuple(server.resources()),
            tuple(server.resource_templates()),
            tuple(server.prompts()),
        )

    def tool(self, name: str, *, reads: Callable[[str], bool]) -> "InProcessTool | None":
        """Return a tool; `reads` tells whether the owner declares one as read-only."""
        tool = self.server.get_tool(name)
        return (
            None if tool is None else InProcessTool(tool, read_only=reads(name), loops=self._loops)
        )

    async def request(
        self, method: str, params: Mapping[str, Any], context: Context
    ) -> dict[str, Any]:
        """Answer a request about a resource, a prompt or a completion."""
        if self._loops is None:
            return await contain_exit(self._answer(method, params, context), has_terminal=False)
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
                arguments = (params.get("context") or {}).get("arguments") or {}
                ref, argument = params["ref"], params["argument"]
                return {"completion": await self.server.complete(ref, argument, arguments)}
            case _:
                raise InvalidInputError(f"{method} is not for a server of this process")


class InProcessTool:
    """A tool of a user's package; the configuration says whether it is read-only."""

    def __init__(self, tool: Tool, *, read_only: bool, loops: "OwnLoops | None" = None) -> None:
        self.tool = tool
        self._loops = None if tool.blocking else loops
        self._has_terminal = loops is not None  # without loops it runs in a function
        self.blocking = tool.blocking
        self.read_only = read_only

    async def call(self, arguments: dict[str, Any], context: Context) -> WireResult:
        """Check the arguments and run the tool."""
        arguments = await read_in_full(arguments)
        if self._loops is None:
            work = self.tool.call(arguments, context)
            return await contain_exit(work, has_terminal=self._has_terminal)
        return await self._loops.run(partial(self.tool.call, arguments), context)
