"""The tool `trigger_patrol`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from nacre.being.caller import caller
from nacre.being.json_answer import json_answer
from nacre.protocol.context import Context
from nacre.tools.decorator import tool
from nacre.tools.result import ToolResult
from nacre.tools.tool import Tool

if TYPE_CHECKING:
    from nacre.patrol.calls import PatrolCalls


@dataclass(frozen=True, slots=True)
class MessageArgument:  # a docstring would travel in every tools/list
    role: str
    content: str


def trigger_patrol(patrols: "Callable[[], PatrolCalls]") -> Tool:
    """Return the tool that hands over messages and has a patrol make memories."""

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
        # A client that can take a task instead of waiting will be given one here.
        answer = patrols().take(
            caller(context).being_id,
            messages,
            marker_id=marker_id,
            llm_api_key=context.llm_api_key,
            told=lambda step, steps, name: context.progress(step, steps, name),
            given_up=lambda: context.cancelled,
        )
        return json_answer(answer)

    return triggered
