"""A surface around another one, which changes some of its offers."""

from collections.abc import Callable, Mapping
from typing import Any

from nacre.protocol.context import Context
from nacre.protocol.principal import Principal
from nacre.protocol.surface import Definitions, Surface, VersionedSource, WireTool


class WrappedSurface:
    """Passes every request to the inner surface; a subclass overrides what it changes."""

    def __init__(self, inner: Surface) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """The name that clients see."""
        return self._inner.name

    @property
    def version(self) -> str:
        """The version that clients see."""
        return self._inner.version

    @property
    def title(self) -> str | None:
        """The display name, if it differs from the name."""
        return self._inner.title

    @property
    def instructions(self) -> str | None:
        """Guidance for a model that uses the server."""
        return self._inner.instructions

    def tools(self) -> Definitions:
        """Return the definitions of all tools."""
        return self._inner.tools()

    def tools_for(self, principal: Principal | None) -> Definitions:
        """Return the tools that this caller sees."""
        # No isinstance: from Python 3.12 on, that of a protocol loads `inspect`.
        tools_for: Callable[[Principal | None], Definitions] | None
        tools_for = getattr(self._inner, "tools_for", None)
        return self._inner.tools() if tools_for is None else tools_for(principal)

    def view_names(self) -> frozenset[str]:
        """Return the names of the tools that exist for views; other clients do not know them."""
        names: Callable[[], frozenset[str]] | None = getattr(self._inner, "view_names", None)
        return frozenset() if names is None else names()

    def views_for(self, principal: Principal | None) -> Definitions:
        """Return the definitions of these tools that this caller sees."""
        views_for: Callable[[Principal | None], Definitions] | None
        views_for = getattr(self._inner, "views_for", None)
        return () if views_for is None else views_for(principal)

    def get_tool(self, name: str) -> WireTool | None:
        """Return the tool, None for an unknown name."""
        return self._inner.get_tool(name)

    def resources(self) -> Definitions:
        """Return the fixed resources."""
        return self._inner.resources()

    def resource_templates(self) -> Definitions:
        """Return the templates."""
        return self._inner.resource_templates()

    async def read_resource(self, uri: str, context: Context) -> Mapping[str, Any]:
        """Return the contents; raises NotFoundError for an unknown URI."""
        return await self._inner.read_resource(uri, context)

    def resource_version(self, uri: str, principal: Principal | None) -> object | None:
        """Return a value that differs once the resource has changed, None for an unknown one."""
        inner = self._inner
        return (
            inner.resource_version(uri, principal) if isinstance(inner, VersionedSource) else None
        )

    def prompts(self) -> Definitions:
        """Return the prompts."""
        return self._inner.prompts()

    async def get_prompt(
        self, name: str, arguments: dict[str, str], context: Context
    ) -> Mapping[str, Any]:
        """Return the prompt's messages; raises NotFoundError for an unknown name."""
        return await self._inner.get_prompt(name, arguments, context)

    async def complete(
        self,
        ref: Mapping[str, Any],
        argument: Mapping[str, Any],
        context_arguments: Mapping[str, str],
    ) -> dict[str, Any]:
        """Return suggestions for the text that the user has typed."""
        return await self._inner.complete(ref, argument, context_arguments)
