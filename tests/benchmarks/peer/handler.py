"""The usual MCP server on Lambda: the official SDK, stateless with JSON answers, behind Mangum."""

from typing import Any

import mcp_types as types
from mangum import Mangum
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}


async def list_tools(_context: Any, _params: Any) -> Any:
    """Return the one tool there is."""
    return types.ListToolsResult(tools=[types.Tool(name="add", input_schema=SCHEMA)])


async def call_tool(_context: Any, params: Any) -> Any:
    """Add."""
    total = params.arguments["a"] + params.arguments["b"]
    return types.CallToolResult(content=[types.TextContent(type="text", text=str(total))])


server: Any = Server("peer", on_list_tools=list_tools, on_call_tool=call_tool)
# API Gateway serves its own host names only.
behind_a_gateway = TransportSecuritySettings(enable_dns_rebinding_protection=False)
app = server.streamable_http_app(
    json_response=True, stateless_http=True, transport_security=behind_a_gateway
)
handle = Mangum(app)
