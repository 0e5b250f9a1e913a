"""Our own server and the servers behind it, as one."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from nacre.core.errors import UnknownResourceError
from nacre.gateway.qualified_names import OWN_SCHEME, PREFIX
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal
from nacre.protocol.surface import Definitions, Surface, WireTool
from nacre.protocol.wrapped_surface import WrappedSurface

_MOST_JOINED = 256  # lists of callers who see different tools of our own

if TYPE_CHECKING:
    from nacre.firewall.entry.mounted_servers import Kind, Place
    from nacre.gateway.catalogue.merged_lists import Joined


class Behind(Protocol):
    """The servers behind ours; Mounts are."""

    @property
    def lists(self) -> "Joined":
        """What there is."""
        ...

    def is_gathered(self) -> bool:
        """Tell whether the lists can be given at once."""
        ...

    def gather(self) -> None:
        """Ask the servers that are due."""
        ...

    def list_meta(self) -> Mapping[str, Any] | None:
        """Return which servers are missing."""
        ...

    def tool(self, name: str) -> WireTool | None:
        """Return a tool, None for an unknown name."""
        ...

    def place(self, kind: "Kind", name: str) -> "Place | None":
        """Return where something lives."""
        ...

    def resource_version(self, place: "Place") -> object | None:
        """Return a value that differs once a resource has changed, None where nobody knows."""
        ...

    def template_place(self, template: str) -> "Place | None":
        """Return the server of a resource template."""
        ...

    async def request(
        self, method: str, place: "Place", params: Mapping[str, Any], context: Context
    ) -> Mapping[str, Any]:
        """Return what a server answers."""
        ...


class JoinedSurface(WrappedSurface):
    """Our own tools first, then those of the servers behind, in the order of their names.

    `behind` is called by the first list, or the first request for another server's things:
    who only introduces himself loads nothing of them.
    """

    def __init__(self, own: Surface, behind: Callable[[], Behind]) -> None:
        super().__init__(own)
        self._behind = behind
        self._has_gathered = False
        self._joined: dict[int, tuple[Definitions, Definitions, Definitions]] = {}

    # Gathering.

    def is_gathered(self) -> bool:
        """Tell whether the lists can be given at once."""
        return self._has_gathered and self._behind().is_gathered()

    def gather(self) -> None:
        """Ask the servers that are due."""
        self._behind().gather()
        self._has_gathered = True

    def list_meta(self) -> Mapping[str, Any] | None:
        """Return which servers are missing."""
        return self._behind().list_meta() if self._has_gathered else None

    # Lists.

    def tools(self) -> Definitions:
        """Return the definitions of all tools."""
        return self._with(super().tools(), "tools")

    def tools_for(self, principal: Principal | None) -> Definitions:
        """Return what this caller sees."""
        return self._with(super().tools_for(principal), "tools")

    def resources(self) -> Definitions:
        """Return the fixed resources."""
        return self._with(super().resources(), "resources")

    def resource_templates(self) -> Definitions:
        """Return the templates."""
        return self._with(super().resource_templates(), "templates")

    def prompts(self) -> Definitions:
        """Return the prompts."""
        return self._with(super().prompts(), "prompts")

    # Calls.

    def get_tool(self, name: str) -> WireTool | None:
        """Return the tool, None for an unknown name."""
        return self._behind().tool(name) if name.startswith(PREFIX) else super().get_tool(name)

    def resource_version(self, uri: str, principal: Principal | None) -> object | None:
        """Return a value that differs once the resource has changed.

        Servers outside this process tell nothing here, so that theirs cannot be followed.
        """
        if uri.startswith(OWN_SCHEME):
            return super().resource_version(uri, principal)
        place = self._behind().place("resource", uri)
        if place is None:
            return super().resource_version(uri, principal)
        return self._behind().resource_version(place)

    async def read_resource(self, uri: str, context: Context) -> Mapping[str, Any]:
        """Return the contents; raises NotFoundError for an unknown URI."""
        place = None if uri.startswith(OWN_SCHEME) else self._behind().place("resource", uri)
        if place is None:
            return await super().read_resource(uri, context)
        params = {"uri": place.name}
        try:
            return await self._behind().request("resources/read", place, params, context)
        except UnknownResourceError as error:
            raise UnknownResourceError(uri) from error

    async def get_prompt(
        self, name: str, arguments: dict[str, str], context: Context
    ) -> Mapping[str, Any]:
        """Return the prompt's messages; raises NotFoundError for an unknown name."""
        place = self._behind().place("prompt", name) if name.startswith(PREFIX) else None
        if place is None:
            return await super().get_prompt(name, arguments, context)
        params = {"name": place.name, "arguments": arguments}
        return await self._behind().request("prompts/get", place, params, context)

    async def complete(
        self,
        ref: Mapping[str, Any],
        argument: Mapping[str, Any],
        context_arguments: Mapping[str, str],
    ) -> dict[str, Any]:
        """Return suggestions for what the user has typed so far."""
        place, there = self._completed(ref)
        if place is None:
            return await super().complete(ref, argument, context_arguments)
        params: dict[str, Any] = {"ref": there, "argument": dict(argument)}
        if context_arguments:
            params["context"] = {"arguments": dict(context_arguments)}
        result = await self._behind().request(
            "completion/complete", place, params, Context.detached()
        )
        completion: dict[str, Any] = result.get("completion") or {"values": []}
        return completion

    def _completed(self, ref: Mapping[str, Any]) -> "tuple[Place | None, Mapping[str, Any]]":
        match ref:
            case {"type": "ref/prompt", "name": str(name)} if name.startswith(PREFIX):
                place = self._behind().place("prompt", name)
                return place, {**ref, "name": place.name if place else name}
            case {"type": "ref/resource", "uri": str(uri)} if not uri.startswith(OWN_SCHEME):
                return self._behind().template_place(uri), ref
            case _:
                return None, ref

    def _with(self, own: Definitions, kind: str) -> Definitions:
        """Return both as one; the same object while neither changed."""
        if not self._has_gathered:
            return own
        others: Definitions = getattr(self._behind().lists, kind)
        if not others:
            return own
        known = self._joined.get(id(own))
        if known is None or known[0] is not own or known[1] is not others:
            if len(self._joined) >= _MOST_JOINED:
                self._joined.clear()
            known = self._joined[id(own)] = (own, others, (*own, *others))
        return known[2]
