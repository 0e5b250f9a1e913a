"""What a server lists, made sound: what no client could use is left out."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from nacre.core.errors import NacreError
from nacre.core.limits import OFFERED_TOOLS
from nacre.ports.upstream import Definition, Offered
from nacre.protocol import strict_json

_NAMED = {"tools": "name", "prompts": "name", "resources": "uri", "templates": "uriTemplate"}


def sound(offered: Offered) -> Offered:
    """Return the offer without what has no name, no schema, or too much depth."""
    return Offered(
        tuple(_tools(offered.tools)),
        tuple(_named("resources", offered.resources)),
        tuple(_named("templates", offered.templates)),
        tuple(_named("prompts", offered.prompts)),
        offered.version,
        offered.session,
    )


def _tools(tools: Iterable[Any]) -> Iterable[Definition]:
    for tool in _named("tools", tools):
        schema = tool.get("inputSchema")
        if isinstance(schema, Mapping) and schema.get("type", "object") == "object":
            yield tool


def _named(kind: str, definitions: Iterable[Any]) -> Iterable[Definition]:
    key, seen = _NAMED[kind], set[str]()
    for each in definitions:
        name = each.get(key) if isinstance(each, dict) else None
        if not isinstance(name, str) or not name or name in seen or not _is_json(each):
            continue
        seen.add(name)
        if len(seen) > OFFERED_TOOLS:
            return
        yield each


def _is_json(value: Any) -> bool:
    """Tell whether a definition can be read by every client: not too deep, no odd text."""
    try:
        strict_json.parse(json.dumps(value, allow_nan=False).encode())
    except (NacreError, ValueError, RecursionError):
        return False
    return True
