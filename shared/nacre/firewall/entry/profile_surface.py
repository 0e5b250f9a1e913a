"""The part of the MCP entry that callers in one profile see.

Whether a name belongs to it depends on the name's server alone, so a name of another profile and
one that does not exist get the same answer.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nacre.core.errors import ForbiddenError, NotFoundError, UnknownResourceError
from nacre.core.own_server_name import OWN
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal
from nacre.protocol.surface import Definitions, Surface, WireTool
from nacre.protocol.wrapped_surface import WrappedSurface

if TYPE_CHECKING:
    from nacre.firewall.entry.guarded_surface import GuardedSurface
    from nacre.firewall.entry.visible_lists import VisibleLists

_MISSING = "nacre/missing"  # servers that are missing from a list, with the reasons


class ProfileSurface(WrappedSurface):
    """Shows what is in the profile of one caller, and nothing else.

    Views show the whole Being and what waits for its owner, so no profile has them.
    """

    _inner: "GuardedSurface"

    def __init__(
        self,
        inner: "GuardedSurface",
        principal: Principal,
        lists: "Callable[[], VisibleLists]",
    ) -> None:
        super().__init__(inner)
        self._principal = principal
        self._lists = lists

    def part_for(self, principal: Principal) -> Surface:
        """Return this surface; raises ForbiddenError for a caller of another one."""
        mine = self._principal
        if (principal.being_id, principal.profile) != (mine.being_id, mine.profile):
            raise ForbiddenError("this server has no such profile")
        return self

    @property
    def instructions(self) -> str | None:
        """Return the guidance about the Being's tools, if the profile has them."""
        return super().instructions if self._has_server(OWN) else None

    # Gathering.

    def is_gathered(self) -> bool:
        """Tell whether the lists are ready."""
        return self._inner.is_gathered()

    def gather(self, principal: Principal | None) -> None:
        """Fetch the missing lists."""
        self._inner.gather(principal)

    def list_meta(self) -> Mapping[str, Any] | None:
        """Return which servers of the profile are missing from the lists."""
        missing = (self._inner.list_meta() or {}).get(_MISSING) or {}
        mine = {name: text for name, text in missing.items() if self._has_server(name)}
        return {_MISSING: mine} if mine else None

    # Tools.

    def tools(self) -> Definitions:
        """Return the tools of the profile."""
        return self.tools_for(self._principal)

    def tools_for(self, principal: Principal | None) -> Definitions:
        """Return the tools of the profile that the policy does not deny for every argument."""
        # An order is named after its Being, so the own list may differ between Beings.
        definitions = self._inner.tools_for(self._principal)
        return self._lists().in_profile("tool", definitions, self._principal)

    def views_for(self, principal: Principal | None) -> Definitions:
        """Return nothing."""
        return ()

    def get_tool(self, name: str) -> WireTool | None:
        """Return a tool of the profile, None for an unknown name."""
        if name in self.view_names() or not self._lists().has("tool", name, self._principal):
            return None
        return self._inner.get_tool(name)

    # Resources and prompts.

    def resources(self) -> Definitions:
        """Return the fixed resources of the profile's servers."""
        return self._lists().in_profile("resource", self._inner.resources(), self._principal)

    def resource_templates(self) -> Definitions:
        """Return the templates of the profile's servers."""
        templates = self._inner.resource_templates()
        return self._lists().in_profile("template", templates, self._principal)

    def prompts(self) -> Definitions:
        """Return the prompts of the profile's servers."""
        return self._lists().in_profile("prompt", self._inner.prompts(), self._principal)

    def resource_version(self, uri: str, principal: Principal | None) -> object | None:
        """Return a value that differs once the resource has changed, if it may be read."""
        if not self._lists().has("resource", uri, self._principal):
            return None
        return self._inner.resource_version(uri, self._principal)

    async def read_resource(self, uri: str, context: Context) -> Mapping[str, Any]:
        """Return the contents; raises NotFoundError for an unknown URI."""
        if not self._lists().has("resource", uri, self._principal):
            raise UnknownResourceError(uri)
        return await self._inner.read_resource(uri, context)

    async def get_prompt(
        self, name: str, arguments: dict[str, str], context: Context
    ) -> Mapping[str, Any]:
        """Return the prompt's messages; raises NotFoundError for an unknown name."""
        if not self._lists().has("prompt", name, self._principal):
            raise NotFoundError(f"Prompt not found: {name[:200]}")
        return await self._inner.get_prompt(name, arguments, context)

    async def complete(
        self,
        ref: Mapping[str, Any],
        argument: Mapping[str, Any],
        context_arguments: Mapping[str, str],
    ) -> dict[str, Any]:
        """Return suggestions; raises NotFoundError for an unknown prompt or template."""
        match ref:
            case {"type": "ref/prompt", "name": str(name)}:
                if not self._lists().has("prompt", name, self._principal):
                    raise NotFoundError(f"Prompt not found: {name[:200]}")
            case {"type": "ref/resource", "uri": str(uri)}:
                if not self._lists().has("template", uri, self._principal):
                    raise UnknownResourceError(uri)
            case _:
                pass  # the inner surface says what is wrong with it
        return await self._inner.complete(ref, argument, context_arguments)

    def _has_server(self, name: str) -> bool:
        return self._lists().profile(self._principal).has_server(name)
