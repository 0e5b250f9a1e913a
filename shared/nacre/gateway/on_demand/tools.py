"""The tools that find and describe other tools, and refuse calls that cannot be made."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from nacre.core.errors import InvalidArgumentError
from nacre.core.limits import DESCRIBED_TOOLS, FOUND_TOOLS, FOUND_TOOLS_DEFAULT
from nacre.gateway.on_demand.surface import CALL, DESCRIBE, FIND, READ
from nacre.gateway.on_demand.tool_texts import description_of
from nacre.gateway.qualified_names import server_of
from nacre.protocol.context import Context
from nacre.protocol.large_calls import in_full
from nacre.protocol.principal import Principal
from nacre.protocol.results import tool_error
from nacre.protocol.surface import Definitions, ReadyResult

_SHOWN_DESCRIPTION = 240  # characters; describe_tools has the rest
_SHOWN_ARGUMENTS = 12


class Tools(Protocol):
    """The tools that callers may find."""

    def searched_tools(self, principal: Principal | None) -> Definitions:
        """Return the tools that a caller may find."""
        ...

    def found(self, tools: Definitions, query: str) -> list[Mapping[str, Any]]:
        """Return the tools that a request is about, best first."""
        ...

    def reads(self, name: str) -> bool:
        """Tell whether a tool only reads, by our own configuration."""
        ...

    def is_known(self, name: str) -> bool:
        """Tell whether there is a tool of this name to call."""
        ...


def _answer(text: str) -> ReadyResult:
    return ReadyResult({"content": [{"type": "text", "text": text}]})


def _refusal(text: str) -> ReadyResult:
    """Return the result of a call that cannot be made."""
    return ReadyResult(tool_error(text))


class OnDemandTool:
    """One of the tools of the short list. It shows only what the lists would show."""

    blocking = True  # a search computes vectors
    read_only = True  # calls that change something are turned into calls of the tool itself

    def __init__(self, name: str, tools: Tools) -> None:
        self._name = name
        self._tools = tools

    async def call(self, arguments: dict[str, Any], context: Context) -> ReadyResult:
        """Answer; raises InvalidArgumentError for wrong arguments."""
        fields = in_full(arguments)
        match self._name:
            case "find_tools":
                return self._find(fields, context.principal)
            case "describe_tools":
                return self._describe(fields, context.principal)
            case _:
                return self._refuse(fields, context.principal)

    def _find(self, fields: Mapping[str, Any], principal: Principal | None) -> ReadyResult:
        query, server = _text(fields, FIND, "query"), _text(fields, FIND, "server")
        limit = _limit(fields)
        if not query.strip() and not server:
            raise InvalidArgumentError(f"{FIND}: 'query' is missing; say what the tool should do")
        every = self._tools.searched_tools(principal)
        servers = sorted({name for tool in every if (name := server_of(str(tool["name"])))})
        if server and server not in servers:
            return _refusal(f"There is no server '{server[:80]}'. Servers: {', '.join(servers)}")
        ranked: Sequence[Mapping[str, Any]] = (
            self._tools.found(every, query) if query.strip() else every
        )
        entries: list[str] = []
        for tool in ranked:
            name = str(tool["name"])
            if server and server_of(name) != server:
                continue
            reads = self._tools.reads(name)
            if principal is not None and not principal.may_write and not reads:
                continue  # a token that only reads could not call it
            entries.append(_entry(tool, reads=reads))
            if len(entries) == limit:
                break
        if not entries:
            return _answer(f"No tool fits. Servers: {', '.join(servers) or 'none'}")
        return _answer("\n".join(entries))

    def _describe(self, fields: Mapping[str, Any], principal: Principal | None) -> ReadyResult:
        names = fields.get("names")
        if isinstance(names, str):
            names = [names]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise InvalidArgumentError(f"{DESCRIBE}: 'names' must be a list of tools' names")
        if not 1 <= len(names) <= DESCRIBED_TOOLS:
            raise InvalidArgumentError(f"{DESCRIBE}: give 1 to {DESCRIBED_TOOLS} 'names'")
        by_name = {str(tool["name"]): tool for tool in self._tools.searched_tools(principal)}
        for name in names:
            if name not in by_name:
                return _refusal(_unknown(name, list(by_name)))
        texts = [
            json.dumps(
                {**by_name[name], "call_with": READ if self._tools.reads(name) else CALL},
                ensure_ascii=False,
                separators=(",", ":"),
            )
            for name in dict.fromkeys(names)
        ]
        return _answer("\n".join(texts))

    def _refuse(self, fields: Mapping[str, Any], principal: Principal | None) -> ReadyResult:
        """Say why a call was not turned into the call of a tool."""
        name, arguments = fields.get("name"), fields.get("arguments", {})
        if not isinstance(name, str) or not name:
            raise InvalidArgumentError(f"{self._name}: 'name' must be the name of a tool")
        if arguments is not None and not isinstance(arguments, dict):
            raise InvalidArgumentError(
                f"{self._name}: 'arguments' must be an object with the arguments of {name[:200]}"
            )
        if self._tools.is_known(name):
            return _refusal(f"{name[:200]} is not marked as reading; call it with {CALL}.")
        return _refusal(
            _unknown(name, [str(tool["name"]) for tool in self._tools.searched_tools(principal)])
        )


def _entry(tool: Mapping[str, Any], *, reads: bool) -> str:
    """Return a tool in two lines: what it does and how it is called, and its arguments."""
    text = description_of(tool)
    if len(text) > _SHOWN_DESCRIPTION:
        text = f"{text[: _SHOWN_DESCRIPTION - 1]}…"
    return f"{tool['name']} ({READ if reads else CALL}): {text}\n  {_arguments(tool)}"


def _arguments(tool: Mapping[str, Any]) -> str:
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or not properties:
        return "no arguments"
    required = schema.get("required") if isinstance(schema, Mapping) else None
    needed = [name for name in required if name in properties] if required else []
    optional = [name for name in properties if name not in needed]
    parts = [f"{name}: {_type(properties[name])}" for name in needed]
    parts += [f"{name}?: {_type(properties[name])}" for name in optional]
    more = len(parts) - _SHOWN_ARGUMENTS
    return ", ".join(parts[:_SHOWN_ARGUMENTS]) + (f", {more} more" if more > 0 else "")


def _type(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    choices = schema.get("enum")
    if isinstance(choices, list) and 0 < len(choices) <= 8:
        return "|".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
    kind = schema.get("type")
    if kind == "array":
        return f"{_type(schema.get('items'))}[]"
    return kind if isinstance(kind, str) else "any"


def _text(fields: Mapping[str, Any], tool: str, name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidArgumentError(f"{tool}: '{name}' must be a text")
    return value


def _limit(fields: Mapping[str, Any]) -> int:
    limit = fields.get("limit", FOUND_TOOLS_DEFAULT)
    if isinstance(limit, float) and limit.is_integer():
        limit = int(limit)
    if type(limit) is bool or not isinstance(limit, int) or not 1 <= limit <= FOUND_TOOLS:
        raise InvalidArgumentError(
            f"{FIND}: 'limit' must be a whole number from 1 to {FOUND_TOOLS}"
        )
    return limit


def _unknown(name: str, names: Sequence[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - few callers make mistakes

    similar = get_close_matches(name, names, n=3, cutoff=0.7)
    hint = f" Did you mean {', '.join(similar)}?" if similar else f" Search with {FIND}."
    return f"There is no tool '{name[:200]}'.{hint}"
