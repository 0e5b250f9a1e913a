"""The tools that the model of an order may call, with the rights of its caller."""

import json
import re
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from typing import Any

from nacre.access.scopes import ORDER_PREFIX
from nacre.being.memory.text.text_blocks import shortened
from nacre.being.orders.daemon_thread import in_daemon_thread
from nacre.being.orders.media.outgoing import OutMedia, media_of
from nacre.being.orders.order.deadline import OrderDeadline
from nacre.core.coroutines import step
from nacre.core.errors import NacreError
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import ORDER_TOOL_RESULT_BYTES, ORDER_TOOLS
from nacre.ports.chat import ToolRequest
from nacre.protocol.context import Channel, Context, WrappedChannel
from nacre.protocol.surface import (
    Definitions,
    GatheringSource,
    SelectiveSource,
    Surface,
    WireTool,
    part_of,
)
from nacre.protocol.versions import MODERN


class DeadlineChannel(WrappedChannel):
    """A channel whose questions wait until the deadline of the order.

    A person may take minutes to answer. Meanwhile the order keeps its session and reports
    progress, and it ends when its client gives it up. Later answers are dropped.
    """

    def __init__(self, channel: Channel, deadline: OrderDeadline) -> None:
        super().__init__(channel)
        self._deadline = deadline

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the client's result; the order's thread waits for it."""
        question = partial(step, self._channel.ask(method, params))
        return self._deadline.block(in_daemon_thread(question))


# The patrol has its own jobs, and the prompt of an order contains the results of the others.
_HIDDEN = frozenset({"trigger_patrol", "get_context", "recall"})
_OTHER_SERVERS = "mcp__"  # the prefix of their tools
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # function names that providers accept
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
# Providers reject these at the top level of a function's parameters.
_NOT_AT_TOP_LEVEL = (
    "$schema",
    "$id",
    "$anchor",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
)


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The outcome of a call: a text for the model, and parts of the order's answer.

    Results of other servers' tools become part of the answer. Results of the Being's own tools
    are for its model alone.
    """

    for_model: str
    text: str = ""
    media: tuple[OutMedia, ...] = ()
    is_error: bool = False


class Toolbox:
    """The tools of one order, called in this process, behind the policy and as its caller."""

    def __init__(self, surface: Surface, context: Context, deadline: OrderDeadline) -> None:
        self._surface = surface = part_of(surface, context.principal)
        self._context = context
        self._deadline = deadline
        self._names: dict[str, str] = {}
        self.definitions = tuple(self._functions(_usable_tools(surface, context)))
        self.called: set[str] = set()

    async def call(self, request: ToolRequest) -> ToolOutcome:
        """Make a call that the model asked for; errors become results for the model."""
        name = self._names.get(request.name)
        tool = None if name is None else self._surface.get_tool(name)
        if name is None or tool is None:
            return _failed(f"there is no tool {request.name[:100]!r}")
        try:
            arguments = json.loads(request.arguments or "{}")
        except (ValueError, RecursionError):
            return _failed("the arguments are not JSON; call the tool again with an object")
        if not isinstance(arguments, dict):
            return _failed("the arguments must be an object; call the tool again with one")
        try:
            result = await self._result(tool, arguments)
        except NacreError as error:
            return _failed(error.public or str(error))
        except Exception:  # noqa: BLE001 - tools may raise anything, and the order continues
            return _failed(f"the tool {name!r} failed")
        outcome = _outcome(result, is_own=not name.startswith(_OTHER_SERVERS))
        if not outcome.is_error:
            self.called.add(name)
        return outcome

    async def _result(self, tool: WireTool, arguments: dict[str, Any]) -> Mapping[str, Any]:
        # A new context for each call: an approval holds for one call only.
        call = tool.call(arguments, _inner_context(self._context, self._deadline))
        # A blocking tool may block the thread, which belongs to this order alone.
        result = step(call) if tool.blocking else await self._deadline.wait(call)
        return result.to_dict()

    def _functions(self, tools: Definitions) -> list[dict[str, Any]]:
        functions = []
        for definition in tools[:ORDER_TOOLS]:
            name = str(definition["name"])
            function_name = self._function_name(name)
            self._names[function_name] = name
            function = {
                "name": function_name,
                "description": str(definition.get("description", "")),
                "parameters": _parameters(definition["inputSchema"]),
            }
            functions.append({"type": "function", "function": function})
        return functions

    def _function_name(self, name: str) -> str:
        if _NAME.fullmatch(name) and name not in self._names:
            return name
        digest = sha256(name.encode()).hexdigest()[:8]
        return f"{_NOT_IN_NAMES.sub('_', name)[:55]}_{digest}"


def _usable_tools(surface: Surface, context: Context) -> Definitions:
    """Return the tools that the caller sees, except for those that an order has no use for."""
    if isinstance(surface, GatheringSource) and not surface.is_gathered():
        surface.gather(context.principal)
    tools = (
        surface.tools_for(context.principal)
        if isinstance(surface, SelectiveSource)
        else surface.tools()
    )
    return [
        tool
        for tool in tools
        if tool["name"] not in _HIDDEN and not str(tool["name"]).startswith(ORDER_PREFIX)
    ]


def _inner_context(context: Context, deadline: OrderDeadline) -> Context:
    """Return the context of calls within the order.

    A modern client is asked by ending its call, and it repeats the call with the answer. An order
    cannot be repeated from its start, so such a client is not asked. The key is for the order
    alone.
    """
    capabilities = {} if context.version == MODERN else context.capabilities
    return replace(
        context,
        capabilities=capabilities,
        channel=DeadlineChannel(context.channel, deadline),
        llm_api_key=None,
        progress_token=None,
        answers={},
        handler_state={},  # an approval of the order does not approve calls within it
        takes_task=False,
        task=None,
        via=None,
    )


def _parameters(schema: Mapping[str, Any]) -> dict[str, Any]:
    accepted = {name: value for name, value in schema.items() if name not in _NOT_AT_TOP_LEVEL}
    return {"type": "object", "properties": {}, **accepted}


def _outcome(result: Mapping[str, Any], *, is_own: bool) -> ToolOutcome:
    texts: list[str] = []
    media: list[OutMedia] = []
    lines: list[str] = []
    for block in result.get("content") or ():
        medium = media_of(block)
        if medium is not None:
            media.append(medium)
            lines.append(f"[{medium.mime_type}, sent along with the answer]")
        elif block.get("type") == "text":
            texts.append(str(block.get("text", "")))
        elif block.get("type") == "resource":
            texts.append(str((block.get("resource") or {}).get("text", "")))
        elif block.get("type") == "resource_link":
            lines.append(f"[resource {block.get('uri')}]")
    text = "\n\n".join(part for part in texts if part.strip())
    is_error = result.get("isError") is True
    everything = "\n".join(line for line in (text, *lines) if line)
    for_model = shortened(everything, ORDER_TOOL_RESULT_BYTES)
    return ToolOutcome(
        for_model=for_model or "(nothing)",
        text="" if is_own or is_error else text,
        media=() if is_error else tuple(media),
        is_error=is_error,
    )


def _failed(reason: str) -> ToolOutcome:
    return ToolOutcome(f"Error: {reason}", is_error=True)
