"""The tool `trigger_patrol`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from nacre.being.caller import caller
from nacre.being.json_answer import json_answer
from nacre.memory.chain import Said
from nacre.memory.memory import Memory
from nacre.protocol.context import Context
from nacre.tools.decorator import tool
from nacre.tools.result import ToolResult
from nacre.tools.tool import Tool

_LATER = "stored and queued: memories are made of them when the patrol runs, in the background"


@dataclass(frozen=True, slots=True)
class MessageArgument:  # a docstring would travel in every tools/list
    role: str
    content: str


def trigger_patrol(memory: Callable[[], Memory]) -> Tool:
    """Return the tool that hands over messages and asks for a patrol."""

    @tool(
        name="trigger_patrol",
        read_only=False,
        destructive=False,
        idempotent=False,
        open_world=False,
        blocking=True,
    )
    async def triggered(
        messages: Annotated[list[MessageArgument], "[] to process noted scenes only"],
        marker_id: Annotated[str | None, "The marker_id of the call before"] = None,
        *,
        context: Context,
    ) -> ToolResult:
        """Store a conversation and turn noted scenes into memories."""
        being_id = caller(context).being_id
        store = memory()
        batch = [Said(message.role, message.content) for message in messages]
        added = store.history.add(being_id, batch, marker_id=marker_id)
        pending = store.trigger.pending(being_id)
        is_work = added.stored > 0 or pending > 0
        if is_work:
            store.trigger.ask(being_id)
        reasons = [added.remark, _LATER if is_work else "nothing to do: no scene is pending"]
        return json_answer(
            {
                "status": "queued" if is_work else "ok",
                "scenes_created": 0,
                "nodes_created": 0,
                "marker_id": added.marker_id or "",
                "messages_stored": added.stored,
                "messages_known": added.known,
                "pending_scenes": pending,
                "reasons": [reason for reason in reasons if reason],
            }
        )

    return triggered
