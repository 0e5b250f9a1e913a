"""The interface of a server: its tools, resources and prompts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from nacre.core.errors import ForbiddenError
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal

Definitions = Sequence[Mapping[str, Any]]


class WireResult(Protocol):
    """The result of a tool."""

    def to_dict(self) -> Mapping[str, Any]:
        """Return the result as `tools/call` carries it; a large one may be Spelled."""
        ...


class ReadyResult:
    """A result that is already as `tools/call` carries it."""

    __slots__ = ("_value",)

    def __init__(self, value: Mapping[str, Any]) -> None:
        self._value = value

    def to_dict(self) -> Mapping[str, Any]:
        """Return the value."""
        return self._value


class WireTool(Protocol):
    """One tool, ready to be called."""

    @property
    def blocking(self) -> bool:
        """True if the handler blocks its thread and never awaits an event loop."""
        ...

    @property
    def read_only(self) -> bool:
        """True if the owner of this server says that the tool changes nothing."""
        ...

    async def call(self, arguments: dict[str, Any], context: Context) -> WireResult:
        """Check the arguments and run the tool; raises an error that names the problem."""
        ...


class ToolSource(Protocol):
    """Tools by name."""

    def tools(self) -> Definitions:
        """Return the definitions in a fixed order; the same object while nothing changed."""
        ...

    def get_tool(self, name: str) -> WireTool | None:
        """Return the tool, None for an unknown name."""
        ...


@runtime_checkable
class SelectiveSource(Protocol):
    """Tools of which not everybody sees all."""

    def tools_for(self, principal: Principal | None) -> Definitions:
        """Return the tools that this caller sees; the same object while nothing changed for it."""
        ...


@runtime_checkable
class ViewingSource(Protocol):
    """Tools that exist for interactive views, for the clients that show them."""

    def view_names(self) -> frozenset[str]:
        """Return the names of the tools; for other clients they are unknown."""
        ...

    def views_for(self, principal: Principal | None) -> Definitions:
        """Return the definitions that this caller sees; the same object while nothing changed."""
        ...


@runtime_checkable
class GatheringSource(Protocol):
    """Lists of which parts come from elsewhere."""

    def is_gathered(self) -> bool:
        """Tell whether the lists can be given at once."""
        ...

    def gather(self, principal: Principal | None) -> None:
        """Fetch missing lists for a bounded time; lists that do not arrive are left out.

        Some lists are fetched only for a caller who has a login to their source.
        """
        ...

    def list_meta(self) -> Mapping[str, Any] | None:
        """Return the metadata of a list, such as which parts are missing."""
        ...


@runtime_checkable
class VersionedSource(Protocol):
    """Resources that tell when they have changed."""

    def resource_version(self, uri: str, principal: Principal | None) -> object | None:
        """Return a value that differs once the resource has changed for this caller.

        None for a resource that the caller may not read, or whose changes nobody notices.
        """
        ...


@runtime_checkable
class RedirectingSource(Protocol):
    """Tools of which some only pass a call on to another one."""

    def redirects(self, name: str) -> bool:
        """Tell whether this is one of those tools."""
        ...

    def redirected(
        self, name: str, arguments: Mapping[str, Any]
    ) -> tuple[str, Mapping[str, Any]] | None:
        """Return the tool and the arguments that a call stands for, None if it is no such call."""
        ...


class DividedSource(Protocol):
    """A server of which callers in a profile see a part."""

    def part_for(self, principal: Principal) -> "Surface":
        """Return the part that a caller in a profile sees; the same object each time.

        Raises UnknownProfileError if there is no such profile now.
        """
        ...


class ResourceSource(Protocol):
    """Resources by URI."""

    def resources(self) -> Definitions:
        """Return the fixed resources; the same object while nothing changed."""
        ...

    def resource_templates(self) -> Definitions:
        """Return the templates; the same object while nothing changed."""
        ...

    async def read_resource(self, uri: str, context: Context) -> Mapping[str, Any]:
        """Return `{"contents": [...]}`; raises NotFoundError for an unknown URI."""
        ...


class PromptSource(Protocol):
    """Prompts by name, and completion of their and the templates' arguments."""

    def prompts(self) -> Definitions:
        """Return the prompts; the same object while nothing changed."""
        ...

    async def get_prompt(
        self, name: str, arguments: dict[str, str], context: Context
    ) -> Mapping[str, Any]:
        """Return the prompt's messages; raises NotFoundError for an unknown name."""
        ...

    async def complete(
        self,
        ref: Mapping[str, Any],
        argument: Mapping[str, Any],
        context_arguments: Mapping[str, str],
    ) -> dict[str, Any]:
        """Return `{"values": [...]}`: the suggestions for the text that the user has typed."""
        ...


class NamedServer(Protocol):
    """A server, as its results name it."""

    @property
    def name(self) -> str:
        """The name that clients see."""
        ...

    @property
    def version(self) -> str:
        """The version that clients see."""
        ...

    @property
    def title(self) -> str | None:
        """The display name, if it differs from the name."""
        ...


class Surface(ToolSource, ResourceSource, PromptSource, NamedServer, Protocol):
    """A whole server: a name, a version and everything it offers."""

    @property
    def instructions(self) -> str | None:
        """Guidance for a model that uses the server."""
        ...


def part_of(surface: Surface, principal: Principal | None) -> Surface:
    """Return the whole server, or for a caller in a profile the part that it sees.

    Raises ForbiddenError for a server that has no parts, and UnknownProfileError.
    """
    if principal is None or not principal.profile:
        return surface
    part_for: Callable[[Principal], Surface] | None = getattr(surface, "part_for", None)
    if part_for is None:
        raise ForbiddenError("this server has no profiles")
    return part_for(principal)
