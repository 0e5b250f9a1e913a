"""This server and the servers behind it, as one surface.

`LazyMounts` answers the questions of the policy without loading the other servers for own names.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nacre.core.bounded_cache import BoundedCache
from nacre.core.errors import NacreError, UnknownResourceError
from nacre.core.limits import CAPABILITY_BYTES, CAPABILITY_DESCRIPTION
from nacre.gateway.qualified_names import OWN_SCHEMES, PREFIX
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal
from nacre.protocol.surface import Definitions, Surface, WireTool
from nacre.protocol.wrapped_surface import WrappedSurface

if TYPE_CHECKING:
    from nacre.firewall.entry.guarded_surface import GuardedSurface
    from nacre.firewall.entry.mounted_servers import Kind, PinHold, Place
    from nacre.firewall.entry.profile_surface import ProfileSurface
    from nacre.firewall.rules.rule import Surroundings
    from nacre.gateway.mounts import Mounts

_MAX_JOINED = 256  # lists of callers who see different own tools
_MAX_OWN_TOOLS = 256  # that were called


class JoinedSurface(WrappedSurface):
    """The own tools first, then those of other servers, in the order of the servers' names.

    `mounts` is called by the first list, or by the first request to another server. A client that
    only initializes loads no other server. `is_alone` tells whether no other server is configured:
    then the lists do not load them either.
    """

    def __init__(
        self,
        own_surface: Surface,
        mounts: "Callable[[], Mounts]",
        is_alone: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(own_surface)
        self._mounts = mounts
        self._is_alone = is_alone
        self._may_be_alone = True  # until another server was seen
        self._has_gathered = False
        # The own tools never change, and some names of orders are made up.
        self._own_tools: BoundedCache[str, WireTool] = BoundedCache(_MAX_OWN_TOOLS)
        self._joined: BoundedCache[int, tuple[Definitions, Definitions, Definitions]] = (
            BoundedCache(_MAX_JOINED)
        )

    # Gathering.

    def is_gathered(self) -> bool:
        """Tell whether the lists are available without asking a server."""
        if self._has_gathered:
            return self._mounts().is_gathered()
        if self._may_be_alone:
            try:
                self._may_be_alone = self._is_alone()
            except NacreError:  # the lists say which servers cannot be read
                self._may_be_alone = False
        return self._may_be_alone

    def gather(self, principal: Principal | None) -> None:
        """Ask the servers whose lists are due, with the logins of the caller's owner."""
        self._mounts().gather(principal)
        self._has_gathered = True

    def list_meta(self) -> Mapping[str, Any] | None:
        """Return the servers that are missing from the lists, with the reasons."""
        return self._mounts().list_meta() if self._has_gathered else None

    # Lists.

    def tools(self) -> Definitions:
        """Return the definitions of all tools."""
        return self._with(super().tools(), "tools")

    def tools_for(self, principal: Principal | None) -> Definitions:
        """Return the tools that this caller sees."""
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
        if name.startswith(PREFIX):
            return self._mounts().tool(name)
        tool = self._own_tools.get(name)
        if tool is None:
            tool = self._inner.get_tool(name)
            if tool is not None:
                self._own_tools[name] = tool
        return tool

    def resource_version(self, uri: str, principal: Principal | None) -> object | None:
        """Return a value that differs once the resource has changed.

        It is None for servers outside this process, whose resources cannot be subscribed to.
        """
        if uri.startswith(OWN_SCHEMES):
            return super().resource_version(uri, principal)
        place = self._mounts().place("resource", uri)
        if place is None:
            return super().resource_version(uri, principal)
        return self._mounts().resource_version(place)

    async def read_resource(self, uri: str, context: Context) -> Mapping[str, Any]:
        """Return the contents; raises NotFoundError for an unknown URI."""
        place = None if uri.startswith(OWN_SCHEMES) else self._mounts().place("resource", uri)
        if place is None:
            return await super().read_resource(uri, context)
        params = {"uri": place.name}
        try:
            return await self._mounts().request("resources/read", place, params, context)
        except UnknownResourceError as error:
            raise UnknownResourceError(uri) from error

    async def get_prompt(
        self, name: str, arguments: dict[str, str], context: Context
    ) -> Mapping[str, Any]:
        """Return the prompt's messages; raises NotFoundError for an unknown name."""
        place = self._mounts().place("prompt", name) if name.startswith(PREFIX) else None
        if place is None:
            return await super().get_prompt(name, arguments, context)
        params = {"name": place.name, "arguments": arguments}
        return await self._mounts().request("prompts/get", place, params, context)

    async def complete(
        self,
        ref: Mapping[str, Any],
        argument: Mapping[str, Any],
        context_arguments: Mapping[str, str],
    ) -> dict[str, Any]:
        """Return suggestions for the text that the user has typed so far."""
        place, server_ref = self._completion_place(ref)
        if place is None:
            return await super().complete(ref, argument, context_arguments)
        params: dict[str, Any] = {"ref": server_ref, "argument": dict(argument)}
        if context_arguments:
            params["context"] = {"arguments": dict(context_arguments)}
        result = await self._mounts().request(
            "completion/complete", place, params, Context.detached()
        )
        completion: dict[str, Any] = result.get("completion") or {"values": []}
        return completion

    def _completion_place(self, ref: Mapping[str, Any]) -> "tuple[Place | None, Mapping[str, Any]]":
        match ref:
            case {"type": "ref/prompt", "name": str(name)} if name.startswith(PREFIX):
                place = self._mounts().place("prompt", name)
                return place, {**ref, "name": place.name if place else name}
            case {"type": "ref/resource", "uri": str(uri)} if not uri.startswith(OWN_SCHEMES):
                return self._mounts().template_place(uri), ref
            case _:
                return None, ref

    def _with(self, definitions: Definitions, kind: str) -> Definitions:
        """Return the own definitions and the others; the same object until one changes."""
        if not self._has_gathered:
            return definitions
        others: Definitions = getattr(self._mounts().lists, kind)
        if not others:
            return definitions
        joined = self._joined.get(id(definitions))
        if joined is None or joined[0] is not definitions or joined[1] is not others:
            joined = self._joined[id(definitions)] = (definitions, others, (*definitions, *others))
        return joined[2]


def capability_tools(
    surface: "GuardedSurface | ProfileSurface", principal: Principal | None
) -> list[dict[str, str]]:
    """Return the tools of other servers that this caller sees, as `get_context` names them.

    There are as many as fit into CAPABILITY_BYTES.
    """
    if not surface.is_gathered():
        surface.gather(principal)
    room = CAPABILITY_BYTES
    tools = []
    for tool in surface.tools_for(principal):
        name = str(tool["name"])
        if not name.startswith(PREFIX):
            continue
        text = " ".join(str(tool.get("description") or tool.get("title") or "").split())
        if len(text) > CAPABILITY_DESCRIPTION:
            text = f"{text[: CAPABILITY_DESCRIPTION - 1]}…"
        room -= len(name) + len(text.encode("utf-8", "replace")) + 32
        if room < 0:
            break
        tools.append({"name": name, "description": text})
    return tools


class LazyMounts:
    """Passes questions about other servers' names on, and answers those about own names."""

    def __init__(self, mounts: "Callable[[], Mounts]") -> None:
        self._mounts = mounts

    def place(self, kind: "Kind", name: str) -> "Place | None":
        """Return the place of a name; None for a name of this server."""
        return None if _is_own(kind, name) else self._mounts().place(kind, name)

    def template_place(self, template: str) -> "Place | None":
        """Return the place of a resource template; None for one of this server."""
        is_own = template.startswith(OWN_SCHEMES)
        return None if is_own else self._mounts().template_place(template)

    def where(self, server: str) -> "Surroundings":
        """Return the machine and folders that a server runs in."""
        return self._mounts().where(server)

    def is_external(self, server: str) -> bool:
        """Tell whether a server is another program that its owner has not declared as trusted."""
        return self._mounts().is_external(server)

    def path_arguments(self, tool: str) -> frozenset[str]:
        """Return the arguments of a tool that are paths by its schema."""
        return self._mounts().path_arguments(tool) if tool.startswith(PREFIX) else frozenset()

    def held(self, kind: "Kind", name: str) -> "PinHold | None":
        """Return the reason against using a name, None if there is none."""
        return None if _is_own(kind, name) else self._mounts().held(kind, name)

    def is_stale(self, server: str) -> bool:
        """Tell whether a server has announced lists that were not fetched yet."""
        return self._mounts().is_stale(server)

    async def fresh(self, server: str) -> bool:
        """Wait for the lists that a server has announced; return False if they do not arrive."""
        return await self._mounts().fresh(server)


def _is_own(kind: "Kind", name: str) -> bool:
    if kind in ("resource", "template"):
        return name.startswith(OWN_SCHEMES)
    return not name.startswith(PREFIX)
