"""Several servers of tools in one process, each under its name."""

from collections.abc import Mapping
from typing import Any

from nacre.core.errors import NotFoundError
from nacre.sdk.tool_names import check_server_name, qualified_name
from nacre.sdk.tool_server import ToolServer


class ToolRegistry:
    """Routes JSON-RPC messages to servers by name."""

    def __init__(self) -> None:
        self._servers: dict[str, ToolServer] = {}

    def register(self, server: ToolServer) -> ToolServer:
        """Add a server; one with the same name is replaced."""
        self._servers[check_server_name(server.name)] = server
        return server

    def get(self, name: str) -> ToolServer | None:
        """Return the server, None for an unknown name."""
        return self._servers.get(name)

    def list_servers(self) -> list[str]:
        """Return the servers' names in the order of registration."""
        return list(self._servers)

    def list_tools(self) -> list[dict[str, Any]]:
        """Return every tool's definition under its qualified name `mcp__SERVER__TOOL`."""
        return [
            {**definition, "name": qualified_name(server.name, definition["name"])}
            for server in self._servers.values()
            for definition in server.list_tools()
        ]

    async def handle(self, server: str, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """Let the server answer; raises NotFoundError for a name that is not registered."""
        registered = self._servers.get(server)
        if registered is None:
            names = ", ".join(f"'{name}'" for name in list(self._servers)[:20]) or "none"
            raise NotFoundError(f"no server '{server[:200]}' is registered; known: {names}")
        return await registered.handle_jsonrpc(request)
