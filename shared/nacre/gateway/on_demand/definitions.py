"""The definitions of the tools that find, describe and call other tools."""

from collections.abc import Mapping
from typing import Any

from nacre.core.limits import DESCRIBED_TOOLS, FOUND_TOOLS, FOUND_TOOLS_DEFAULT, SUMMARY_BYTES
from nacre.gateway.on_demand.surface import CALL, DESCRIBE, FIND, READ

_FIND = (
    "Find tools of the connected servers. Most are not in this list: search before you conclude "
    "that something cannot be done. Returns names, arguments and which call tool to use."
)
_NAME = {"type": "string", "description": "As find_tools returns it"}
_CALLED = {
    "name": _NAME,
    "arguments": {"type": "object", "description": "The tool's own arguments"},
}


def definitions(servers: Mapping[str, int]) -> tuple[Mapping[str, Any], ...]:
    """Return the definitions; `servers` has the number of hidden tools of each server."""
    return (
        _definition(
            FIND,
            f"{_FIND} {_summary(servers)}",
            {
                "query": {"type": "string", "description": "What the tool should do"},
                "server": {"type": "string", "description": "Only tools of this server"},
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": FOUND_TOOLS,
                    "default": FOUND_TOOLS_DEFAULT,
                },
            },
            reads=True,
        ),
        _definition(
            DESCRIBE,
            "Get the full definitions of tools, with the schemas of their arguments.",
            {
                "names": {
                    "type": "array",
                    "items": {"type": "string"},
                    "minItems": 1,
                    "maxItems": DESCRIBED_TOOLS,
                }
            },
            "names",
            reads=True,
        ),
        _definition(
            READ,
            "Call a tool that find_tools marks as reading. It changes nothing.",
            _CALLED,
            "name",
            reads=True,
        ),
        _definition(
            CALL,
            "Call any other tool that find_tools returns. It may change or send something.",
            _CALLED,
            "name",
            reads=False,
        ),
    )


def _definition(
    name: str, description: str, properties: Mapping[str, Any], *required: str, reads: bool
) -> Mapping[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return {
        "name": name,
        "description": description,
        "inputSchema": schema,
        "annotations": {"readOnlyHint": reads},
    }


def _summary(servers: Mapping[str, int]) -> str:
    """Return a sentence about the servers and how many tools each has, of a bounded length."""
    room, named = SUMMARY_BYTES, []
    for server, count in servers.items():
        text = f"{server} ({count})"
        room -= len(text) + 2
        if room < 0:
            break
        named.append(text)
    others = len(servers) - len(named)
    if others:
        named.append(f"{others} more" if named else f"{others} servers")
    return f"Servers: {', '.join(named)}."
