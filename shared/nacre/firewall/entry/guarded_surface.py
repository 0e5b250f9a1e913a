"""The MCP entry: the server's own tools, resources and prompts behind the policy.

Nothing of the policy is loaded before the first list or call: a Lambda function pays for its
start each time, and most first requests of a client need no decision.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nacre.core.bounded_cache import BoundedCache
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal
from nacre.protocol.surface import Definitions, GatheringSource, Surface, WireResult, WireTool
from nacre.protocol.wrapped_surface import WrappedSurface

if TYPE_CHECKING:
    from nacre.firewall.entry.entry_judge import EntryJudge
    from nacre.firewall.entry.mounted_servers import Kind
    from nacre.firewall.entry.profile_surface import ProfileSurface
    from nacre.firewall.entry.visible_lists import VisibleLists

_MAX_TOOLS = 4096  # kept ready
_MAX_PARTS = 256  # profiles of Beings


class GuardedSurface(WrappedSurface):
    """A server whose every call is decided first.

    `entry` is called when a call is made, and `lists` when a list is asked for.
    """

    def __init__(
        self,
        surface: Surface,
        entry: "Callable[[], EntryJudge]",
        lists: "Callable[[], VisibleLists]",
    ) -> None:
        super().__init__(surface)
        self._lists = lists
        self._gathering = surface if isinstance(surface, GatheringSource) else None
        self._entry = entry
        # Some surfaces answer to any name of a kind.
        self._tools: BoundedCache[str, GuardedTool] = BoundedCache(_MAX_TOOLS)
        self._has_gathered = False  # before that, all lists are our own
        self._parts: BoundedCache[tuple[str, str], ProfileSurface] = BoundedCache(_MAX_PARTS)

    def part_for(self, principal: Principal) -> "ProfileSurface":
        """Return the part that a caller in a profile sees; raises UnknownProfileError."""
        self._lists().profile(principal)
        key = principal.being_id, principal.profile
        part = self._parts.get(key)
        if part is None:
            # Few callers have a profile.
            from nacre.firewall.entry.profile_surface import ProfileSurface  # noqa: PLC0415

            part = self._parts[key] = ProfileSurface(self, principal, self._lists)
        return part

    # Lists of which parts come from elsewhere.

    def is_gathered(self) -> bool:
        """Tell whether the lists are ready."""
        return self._gathering is None or self._gathering.is_gathered()

    def gather(self, principal: Principal | None) -> None:
        """Fetch the missing lists."""
        if self._gathering is not None:
            self._gathering.gather(principal)
            self._has_gathered = True

    def list_meta(self) -> Mapping[str, Any] | None:
        """Return the metadata of the lists, such as which servers are missing."""
        return None if self._gathering is None else self._gathering.list_meta()

    # Tools.

    def tools_for(self, principal: Principal | None) -> Definitions:
        """Return the tools that the policy does not deny for every argument."""
        return self._lists().tools(super().tools_for(principal), principal)

    def views_for(self, principal: Principal | None) -> Definitions:
        """Return the tools for views that the policy does not deny for every argument."""
        return self._lists().tools(super().views_for(principal), principal)

    def get_tool(self, name: str) -> "GuardedTool | None":
        """Return the tool, None for an unknown name."""
        tool = self._inner.get_tool(name)
        if tool is None:
            return None
        guarded = self._tools.get(name)
        if guarded is None or guarded.tool is not tool:
            guarded = self._tools[name] = GuardedTool(name, tool, self._entry)
        return guarded

    # Resources.

    def resources(self) -> Definitions:
        """Return the fixed resources, without those that wait for their owner."""
        return self._visible("resource", super().resources())

    def resource_templates(self) -> Definitions:
        """Return the templates, without those that wait for their owner."""
        return self._visible("template", super().resource_templates())

    def prompts(self) -> Definitions:
        """Return the prompts, without those that wait for their owner."""
        return self._visible("prompt", super().prompts())

    def _visible(self, kind: "Kind", definitions: Definitions) -> Definitions:
        return self._lists().others(kind, definitions) if self._has_gathered else definitions

    def resource_version(self, uri: str, principal: Principal | None) -> object | None:
        """Return a value that differs once the resource has changed, if it may be read."""
        if not self._entry().may_read(uri, principal):
            return None
        return super().resource_version(uri, principal)

    async def read_resource(self, uri: str, context: Context) -> Mapping[str, Any]:
        """Return the contents, if they may be read; raises BlockedError."""
        return await self._entry().request(
            "resources/read",
            {"uri": uri},
            context,
            lambda: self._inner.read_resource(uri, context),
        )

    # Prompts.

    async def get_prompt(
        self, name: str, arguments: dict[str, str], context: Context
    ) -> Mapping[str, Any]:
        """Return the prompt's messages, if it may be used; raises BlockedError."""
        return await self._entry().request(
            "prompts/get",
            {"name": name, "arguments": arguments},
            context,
            lambda: self._inner.get_prompt(name, arguments, context),
        )

    async def complete(
        self,
        ref: Mapping[str, Any],
        argument: Mapping[str, Any],
        context_arguments: Mapping[str, str],
    ) -> dict[str, Any]:
        """Return suggestions; no rule decides about them, but bad content raises BlockedError."""
        completion = await self._inner.complete(ref, argument, context_arguments)
        return self._entry().screened_completion(ref, completion)


class GuardedTool:
    """A tool whose every call is decided first."""

    __slots__ = ("_entry", "_name", "blocking", "read_only", "tool")

    def __init__(self, name: str, tool: WireTool, entry: "Callable[[], EntryJudge]") -> None:
        self.tool = tool
        self.blocking = tool.blocking
        self.read_only = tool.read_only
        self._name = name
        self._entry = entry

    async def call(self, arguments: dict[str, Any], context: Context) -> WireResult:
        """Run the tool if it may be run, else return a result that says why not."""
        return await self._entry().call_tool(self._name, self.tool, arguments, context)
