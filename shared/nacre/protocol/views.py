"""Interactive views, the extension MCP Apps of 2026-01-26: which clients show them.

A view is a resource with an address like `ui://nacre/map`, and a tool names the view that shows
its results. Clients without the extension never see a view or a tool that exists for one.
"""

from collections.abc import Mapping
from typing import Any

VIEWS = "io.modelcontextprotocol/ui"  # the extension, among the capabilities of a client
VIEW_TYPE = "text/html;profile=mcp-app"


def shows_views(capabilities: Mapping[str, Any]) -> bool:
    """Tell whether a client declared that it shows views in HTML."""
    extensions = capabilities.get("extensions")
    declared = extensions.get(VIEWS) if isinstance(extensions, Mapping) else None
    types = declared.get("mimeTypes") if isinstance(declared, Mapping) else None
    return isinstance(types, list) and VIEW_TYPE in types
