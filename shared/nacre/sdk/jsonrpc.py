"""JSON-RPC for a server of tools in process: initialize, tools/list and tools/call."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nacre.core.errors import MalformedMessageError, NacreError
from nacre.protocol.messages import Notification, Request, RequestId, read_message

if TYPE_CHECKING:
    from nacre.sdk.tool_server import ToolServer

PROTOCOL_VERSION = "2025-11-25"
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

_log = logging.getLogger("nacre.tools.jsonrpc")  # as users' logging settings name it


async def respond(server: "ToolServer", message: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the response to one message, None to a notification."""
    try:
        request = read_message(message)
    except MalformedMessageError as error:
        return _error(error.request_id, INVALID_REQUEST, str(error))
    if isinstance(request, Notification):
        return None
    if not isinstance(request, Request):
        return _error(request.id, INVALID_REQUEST, "a message needs a 'method'")
    match request.method:
        case "initialize":
            return _result(
                request.id,
                {
                    "protocolVersion": PROTOCOL_VERSION,
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": server.name, "version": server.version},
                },
            )
        case "tools/list":
            return _result(request.id, {"tools": server.list_tools()})
        case "tools/call":
            return await _call(server, request)
        case method:
            return _error(request.id, METHOD_NOT_FOUND, f"Method not found: {method[:100]}")


async def _call(server: "ToolServer", request: Request) -> dict[str, Any]:
    name, arguments = request.params.get("name"), request.params.get("arguments", {})
    if not isinstance(name, str):
        return _error(request.id, INVALID_PARAMS, "tools/call: 'name' must be a string")
    if server.get_tool(name) is None:
        return _error(request.id, INVALID_PARAMS, f"Tool not found: {name[:200]}")
    if not isinstance(arguments, dict):
        return _error(request.id, INTERNAL_ERROR, "tools/call: 'arguments' must be an object")
    try:
        return _result(request.id, await server.call_tool(name, arguments))
    except NacreError as error:
        return _error(request.id, INTERNAL_ERROR, str(error))
    except Exception:  # noqa: BLE001 - the edge: every request gets an answer
        # The caller learns no more than this: the text of an unforeseen error may
        # hold anything. The program's own log gets all of it.
        _log.exception("tool %s failed", name)
        return _error(request.id, INTERNAL_ERROR, f"tool '{name}' failed")


def _result(request_id: RequestId, result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def _error(request_id: RequestId | None, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}
