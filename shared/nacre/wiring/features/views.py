"""The interactive views of a Being's memory and approvals, for clients that show them."""

from pathlib import Path
from typing import TYPE_CHECKING

from nacre.console.views.view_tools import ViewParts, view_server
from nacre.firewall.approvals.service import Desk

if TYPE_CHECKING:
    from nacre.sdk.tool_server import ToolServer
    from nacre.wiring.compose import Home
    from nacre.wiring.ports import Ports
    from nacre.wiring.settings import Settings


def build_views(home: "Home") -> "ToolServer":
    """Return the server of the tools whose results are shown as views."""
    parts = ViewParts(
        table=lambda: home.data,
        memory_services=lambda: home.memory_services,
        approvals=lambda: Desk(home.data, clock=home.ports.clock),
        address=lambda: _console_address(home.ports, home.settings),
    )
    return view_server(parts)


def _console_address(ports: "Ports", settings: "Settings") -> str:
    """Return the address of the console, empty if it is unknown or no server runs."""
    if settings.public_url or ports.is_stack:
        return settings.public_url
    from nacre.wiring.server_registry import running_urls

    return next((url.removesuffix("/mcp") for url in running_urls(Path(ports.where))), "")
