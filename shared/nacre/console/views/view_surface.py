"""A server with interactive views, for the clients that show them."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nacre.core.errors import UnknownResourceError
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal
from nacre.protocol.surface import Definitions, Surface, WireTool
from nacre.protocol.wrapped_surface import WrappedSurface

if TYPE_CHECKING:
    from nacre.sdk.tool_server import ToolServer

SCHEME = "ui://nacre/"
# No address beside the document itself: nothing is loaded, and no network is reached.
_META = {"ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": False}}


def _definition(name: str, description: str, **properties: Mapping[str, str]) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": properties,
            **({"required": ["node_id"]} if "node_id" in properties else {}),
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
        "_meta": {"ui": {"resourceUri": f"{SCHEME}{name.removeprefix('show_')}"}},
    }


VIEW_TOOLS = (
    _definition(
        "show_map",
        "Show the user a map of all memories, or of one cluster, to look around and correct.",
        cluster_id={"type": "string", "description": "Omit for the whole map"},
    ),
    _definition(
        "show_memory",
        "Show the user one memory as a card, with its origin and forms to correct or hide it.",
        node_id={"type": "string", "description": "The memory"},
    ),
    _definition(
        "show_approvals",
        "Show the user which calls of this client wait for the owner's approval.",
    ),
)
"""The tools whose results are shown as views. They only read."""

_NAMES = frozenset(str(tool["name"]) for tool in VIEW_TOOLS)
_URIS = frozenset(str(tool["_meta"]["ui"]["resourceUri"]) for tool in VIEW_TOOLS)


class ViewSurface(WrappedSurface):
    """A surface with views; `load` returns the server of their tools when the first is called."""

    def __init__(self, inner: Surface, load: "Callable[[], ToolServer]") -> None:
        super().__init__(inner)
        self._load = load

    @cached_property
    def _views(self) -> "ToolServer":
        return self._load()

    def view_names(self) -> frozenset[str]:
        """Return the names of the tools that exist for views."""
        return _NAMES

    def views_for(self, principal: Principal | None) -> Definitions:
        """Return the definitions of the tools that exist for views."""
        return VIEW_TOOLS

    def get_tool(self, name: str) -> WireTool | None:
        """Return the tool, None for an unknown name."""
        return self._views.get_tool(name) if name in _NAMES else super().get_tool(name)

    async def read_resource(self, uri: str, context: Context) -> Mapping[str, Any]:
        """Return the contents; a view is unknown to clients that do not show views."""
        if uri not in _URIS:
            return await super().read_resource(uri, context)
        # Few clients read one.
        from nacre.console.views.view_document import view_document  # noqa: PLC0415
        from nacre.protocol.views import VIEW_TYPE, shows_views  # noqa: PLC0415

        if not shows_views(context.capabilities):
            raise UnknownResourceError(uri)
        document = {"uri": uri, "mimeType": VIEW_TYPE, "text": view_document(), "_meta": _META}
        return {"contents": [document]}
