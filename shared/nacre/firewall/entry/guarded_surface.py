"""The MCP entry: our own tools, resources and prompts behind the policy, like any others.

Nothing of the policy is loaded before the first list or call: a function pays for its
start each time, and most of what a client asks first needs no decision.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from nacre.core.errors import OffersChangedError, RelayedError
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal
from nacre.protocol.surface import Definitions, GatheringSource, Surface, WireResult, WireTool
from nacre.protocol.wrapped_surface import WrappedSurface

if TYPE_CHECKING:
    from nacre.firewall.entry.mounted_servers import Kind

_MOST_TOOLS = 4096  # kept ready


class Entry(Protocol):
    """Decides about the calls of a server; EntryJudge does."""

    def shown(self, whole: Definitions, principal: Principal | None) -> Definitions:
        """Return the tools that the policy does not deny for every argument."""
        ...

    def offered(self, kind: "Kind", whole: Definitions) -> Definitions:
        """Return the prompts, resources or templates that do not wait for their owner."""
        ...

    def may_read(self, uri: str, principal: Principal | None) -> bool:
        """Tell whether a resource may be read without asking anybody; nothing is recorded."""
        ...

    async def refused(
        self, tool: str, arguments: Mapping[str, Any], context: Context
    ) -> WireResult | None:
        """Return None for a call that may be made, else what its caller gets."""
        ...

    async def permit(self, method: str, params: Mapping[str, Any], context: Context) -> None:
        """Raise BlockedError unless the request may be made."""
        ...

    async def screened(self, tool: str, result: WireResult, context: Context) -> WireResult:
        """Return a tool's result as its caller may have it."""
        ...

    async def screened_value(
        self, method: str, params: Mapping[str, Any], value: Mapping[str, Any], context: Context
    ) -> Mapping[str, Any]:
        """Return a resource or a prompt as its caller may have it; raises BlockedError."""
        ...

    def screened_completion(self, ref: Mapping[str, Any], found: dict[str, Any]) -> dict[str, Any]:
        """Return suggestions as their caller may have them; raises BlockedError."""
        ...

    def screened_error(
        self, method: str, name: str, error: RelayedError, context: Context
    ) -> RelayedError:
        """Return another server's error as its caller may have it; raises BlockedError."""
        ...


class GuardedSurface(WrappedSurface):
    """A server whose every call is decided first; `entry` is called when one is made."""

    def __init__(self, surface: Surface, entry: Callable[[], Entry]) -> None:
        super().__init__(surface)
        self._gathering = surface if isinstance(surface, GatheringSource) else None
        self._entry = entry
        self._tools: dict[str, tuple[WireTool, GuardedTool]] = {}
        self._has_gathered = False  # before that, all lists are our own

    # Lists of which parts come from elsewhere.

    def is_gathered(self) -> bool:
        """Tell whether the lists can be given at once."""
        return self._gathering is None or self._gathering.is_gathered()

    def gather(self) -> None:
        """Fetch what is missing."""
        if self._gathering is not None:
            self._gathering.gather()
            self._has_gathered = True

    def list_meta(self) -> Mapping[str, Any] | None:
        """Return what a list says of itself."""
        return None if self._gathering is None else self._gathering.list_meta()

    # Tools.

    def tools_for(self, principal: Principal | None) -> Definitions:
        """Return the tools that the policy does not deny for every argument."""
        return self._entry().shown(super().tools_for(principal), principal)

    def get_tool(self, name: str) -> "GuardedTool | None":
        """Return the tool, None for an unknown name."""
        tool = self._inner.get_tool(name)
        if tool is None:
            return None
        known = self._tools.get(name)
        if known is None or known[0] is not tool:
            if len(self._tools) >= _MOST_TOOLS:  # some surfaces answer to any name of a kind
                self._tools.clear()
            known = self._tools[name] = (tool, GuardedTool(name, tool, self._entry))
        return known[1]

    # Resources.

    def resources(self) -> Definitions:
        """Return the fixed resources, without those that wait for their owner."""
        return self._offered("resource", super().resources())

    def resource_templates(self) -> Definitions:
        """Return the templates, without those that wait for their owner."""
        return self._offered("template", super().resource_templates())

    def prompts(self) -> Definitions:
        """Return the prompts, without those that wait for their owner."""
        return self._offered("prompt", super().prompts())

    def _offered(self, kind: "Kind", whole: Definitions) -> Definitions:
        return self._entry().offered(kind, whole) if self._has_gathered else whole

    def resource_version(self, uri: str, principal: Principal | None) -> object | None:
        """Return a value that differs once the resource has changed, if it may be read."""
        if not self._entry().may_read(uri, principal):
            return None
        return super().resource_version(uri, principal)

    async def read_resource(self, uri: str, context: Context) -> Mapping[str, Any]:
        """Return the contents, if they may be read; raises BlockedError."""
        params = {"uri": uri}
        try:
            read = await self._permitted(
                "resources/read", params, context, lambda: self._inner.read_resource(uri, context)
            )
        except RelayedError as error:
            raise self._entry().screened_error("resources/read", uri, error, context) from None
        return await self._entry().screened_value("resources/read", params, read, context)

    # Prompts.

    async def get_prompt(
        self, name: str, arguments: dict[str, str], context: Context
    ) -> Mapping[str, Any]:
        """Return the prompt's messages, if it may be used; raises BlockedError."""
        params = {"name": name, "arguments": arguments}
        try:
            prompt = await self._permitted(
                "prompts/get",
                params,
                context,
                lambda: self._inner.get_prompt(name, arguments, context),
            )
        except RelayedError as error:
            raise self._entry().screened_error("prompts/get", name, error, context) from None
        return await self._entry().screened_value("prompts/get", params, prompt, context)

    async def _permitted(
        self,
        method: str,
        params: Mapping[str, Any],
        context: Context,
        make: Callable[[], Awaitable[Mapping[str, Any]]],
    ) -> Mapping[str, Any]:
        """Make a request if it may be made; decide again if its server's offers have changed."""
        await self._entry().permit(method, params, context)
        try:
            return await make()
        except OffersChangedError:
            await self._entry().permit(method, params, context)
            return await make()

    async def complete(
        self,
        ref: Mapping[str, Any],
        argument: Mapping[str, Any],
        context_arguments: Mapping[str, str],
    ) -> dict[str, Any]:
        """Return suggestions, which no rule is about; raises BlockedError for what is in them."""
        found = await self._inner.complete(ref, argument, context_arguments)
        return self._entry().screened_completion(ref, found)


class GuardedTool:
    """A tool whose every call is decided first."""

    __slots__ = ("_entry", "_name", "_tool")

    def __init__(self, name: str, tool: WireTool, entry: Callable[[], Entry]) -> None:
        self._name = name
        self._tool = tool
        self._entry = entry

    @property
    def blocking(self) -> bool:
        """Whether the handler blocks its thread and never awaits an event loop."""
        return self._tool.blocking

    @property
    def read_only(self) -> bool:
        """Whether the tool changes nothing, by our own word."""
        return self._tool.read_only

    async def call(self, arguments: dict[str, Any], context: Context) -> WireResult:
        """Run the tool if it may be run, else return a result that says why not."""
        entry = self._entry()
        refused = await entry.refused(self._name, arguments, context)
        if refused is not None:
            return refused
        try:
            try:
                result = await self._tool.call(arguments, context)
            except OffersChangedError:  # what was decided about is not what is offered now
                refused = await entry.refused(self._name, arguments, context)
                if refused is not None:
                    return refused
                result = await self._tool.call(arguments, context)
        except RelayedError as error:
            raise entry.screened_error("tools/call", self._name, error, context) from None
        return await entry.screened(self._name, result, context)
