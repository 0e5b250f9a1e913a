"""The tools that the model of an order may call: those of the server, as its caller may."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any

from nacre.access.scopes import ORDER_PREFIX
from nacre.being.memory.text.text_blocks import shortened
from nacre.being.orders.abandoned_threads import begun
from nacre.being.orders.media.outgoing import OutMedia, media_of
from nacre.being.orders.order.waiting import Patience
from nacre.core.coroutines import step
from nacre.core.errors import NacreError
from nacre.core.limits import ORDER_TOOL_RESULT_BYTES, ORDER_TOOLS
from nacre.ports.chat import ToolRequest
from nacre.protocol.context import Channel, Context
from nacre.protocol.surface import (
    Definitions,
    GatheringSource,
    SelectiveSource,
    Surface,
    WireTool,
)
from nacre.protocol.versions import is_modern


class PatientChannel:
    """A channel whose questions wait no longer than the order does.

    A person may take minutes to answer. Meanwhile the order keeps its session, is heard of, and
    ends when its client gives it up; an answer after that reaches nobody.
    """

    def __init__(self, channel: Channel, patience: Patience) -> None:
        self._channel = channel
        self._patience = patience

    @property
    def can_ask(self) -> bool:
        """Whether the client can be asked."""
        return self._channel.can_ask

    @property
    def cancelled(self) -> bool:
        """Whether the client has given the order up."""
        return self._channel.cancelled

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification that belongs to the call."""
        self._channel.notify(method, params)

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the client's result; the order's thread waits for it."""
        return self._patience.hold(begun(partial(step, self._channel.ask(method, params))))


# What an order is made of already: itself, the round that tends the memory, and the blocks and
# the recall that stand in its prompt.
_LEFT_OUT = frozenset({"trigger_patrol", "get_context", "recall"})
_FOREIGN = "mcp__"  # so begin the names of other servers' tools
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what providers take for a function
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
# Providers refuse these at the top of a function's parameters.
_NOT_AT_THE_TOP = (
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
    """What became of a call: text for the model, and what belongs into the answer.

    Another server's result is part of what the order brought about; what the Being's own tools
    say is how it remembers, and for its model alone.
    """

    shown: str
    text: str = ""
    media: tuple[OutMedia, ...] = ()
    is_error: bool = False


class Toolbox:
    """The tools of one order, called in process, behind the policy and as its caller."""

    def __init__(self, surface: Surface, context: Context, patience: Patience) -> None:
        self._surface = surface
        self._context = context
        self._patience = patience
        self._names: dict[str, str] = {}
        self.definitions = tuple(self._described(_offered(surface, context)))
        self.called: set[str] = set()

    async def call(self, request: ToolRequest) -> ToolOutcome:
        """Make a call that the model asked for; whatever is wrong with it is told to the model."""
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
        except Exception:  # noqa: BLE001 - a tool is somebody's code, and the order goes on
            return _failed(f"the tool {name!r} failed")
        outcome = _outcome(result, is_own=not name.startswith(_FOREIGN))
        if not outcome.is_error:
            self.called.add(name)
        return outcome

    async def _result(self, tool: WireTool, arguments: dict[str, Any]) -> Mapping[str, Any]:
        # Each call has a context of its own: what was approved is approved for one of them.
        called = tool.call(arguments, _inside(self._context, self._patience))
        # The order has a thread of its own, which a tool that blocks may block.
        done = step(called) if tool.blocking else await self._patience.wait(called)
        return done.to_dict()

    def _described(self, offered: Definitions) -> list[dict[str, Any]]:
        described = []
        for definition in offered[:ORDER_TOOLS]:
            name = str(definition["name"])
            known_as = self._known_as(name)
            self._names[known_as] = name
            function = {
                "name": known_as,
                "description": str(definition.get("description", "")),
                "parameters": _parameters(definition["inputSchema"]),
            }
            described.append({"type": "function", "function": function})
        return described

    def _known_as(self, name: str) -> str:
        if _NAME.fullmatch(name) and name not in self._names:
            return name
        digest = sha256(name.encode()).hexdigest()[:8]
        return f"{_UNFIT.sub('_', name)[:55]}_{digest}"


def _offered(surface: Surface, context: Context) -> Definitions:
    """Return the tools that the caller sees, without what an order is made of."""
    if isinstance(surface, GatheringSource) and not surface.is_gathered():
        surface.gather()
    seen = (
        surface.tools_for(context.principal)
        if isinstance(surface, SelectiveSource)
        else surface.tools()
    )
    return [
        each
        for each in seen
        if each["name"] not in _LEFT_OUT and not str(each["name"]).startswith(ORDER_PREFIX)
    ]


def _inside(context: Context, patience: Patience) -> Context:
    """Return the context of calls within the order.

    A modern client is asked by ending the call and making it again, and an order cannot be made
    again from its start; so nobody is asked there. The key is the order's own.
    """
    capabilities = {} if is_modern(context.version) else context.capabilities
    return replace(
        context,
        capabilities=capabilities,
        channel=PatientChannel(context.channel, patience),
        llm_api_key=None,
        progress_token=None,
        answers={},
        kept={},  # an approval of the order is none of the calls within it
        takes_task=False,
        task=None,
    )


def _parameters(schema: Mapping[str, Any]) -> dict[str, Any]:
    fit = {name: value for name, value in schema.items() if name not in _NOT_AT_THE_TOP}
    return {"type": "object", "properties": {}, **fit}


def _outcome(result: Mapping[str, Any], *, is_own: bool) -> ToolOutcome:
    texts: list[str] = []
    media: list[OutMedia] = []
    lines: list[str] = []
    for block in result.get("content") or ():
        found = media_of(block)
        if found is not None:
            media.append(found)
            lines.append(f"[{found.mime_type}, which goes to whoever gave the order]")
        elif block.get("type") == "text":
            texts.append(str(block.get("text", "")))
        elif block.get("type") == "resource":
            texts.append(str((block.get("resource") or {}).get("text", "")))
        elif block.get("type") == "resource_link":
            lines.append(f"[resource {block.get('uri')}]")
    text = "\n\n".join(each for each in texts if each.strip())
    is_error = result.get("isError") is True
    shown = shortened("\n".join(each for each in (text, *lines) if each), ORDER_TOOL_RESULT_BYTES)
    return ToolOutcome(
        shown=shown or "(nothing)",
        text="" if is_own or is_error else text,
        media=() if is_error else tuple(media),
        is_error=is_error,
    )


def _failed(reason: str) -> ToolOutcome:
    return ToolOutcome(f"Error: {reason}", is_error=True)
