"""The tool `trigger_patrol`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from nacre.being.tools.json_answer import json_answer
from nacre.being.tools.memory_access import caller
from nacre.core.limits import TASK_SLICE_SECONDS
from nacre.protocol.context import Context, TaskRun
from nacre.sdk.decorator import tool
from nacre.sdk.result import ToolResult
from nacre.sdk.tool import Tool

if TYPE_CHECKING:
    from nacre.being.patrol.trigger import PatrolCalls

_MOST_ATTEMPTS = 500  # ten minutes at least, for a patrol whose turn does not come


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
        task="optional",
    )
    async def triggered(
        messages: Annotated[list[MessageArgument], "[] to process noted scenes only"],
        marker_id: Annotated[str | None, "The marker_id of the call before"] = None,
        *,
        context: Context,
    ) -> ToolResult:
        """Store a conversation and turn noted scenes into memories."""
        if context.task is not None:
            return json_answer(_followed(patrols(), messages, marker_id, context, context.task))
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


def _followed(
    patrols: "PatrolCalls",
    messages: list[MessageArgument],
    marker_id: str | None,
    context: Context,
    task: TaskRun,
) -> dict[str, Any]:
    """Return the answer at the patrol's end, however long it takes.

    The task ends its attempt again and again: the patrol may need the thread that it waits in.
    """
    from nacre.being.patrol.trigger import Handed  # noqa: PLC0415 - loaded with the patrols

    being_id, key = caller(context).being_id, context.llm_api_key
    if not task.notes:
        task.keep(patrols.hand_over(being_id, messages, marker_id=marker_id, llm_api_key=key))
    answer = patrols.follow(
        being_id,
        task.notes,
        llm_api_key=key,
        seconds=TASK_SLICE_SECONDS,
        patient=task.attempt < _MOST_ATTEMPTS,
        told=lambda step, steps, name: context.progress(step, steps, name),
        given_up=lambda: context.cancelled,
    )
    if isinstance(answer, Handed):
        task.keep(answer.notes)
        task.go_on_later()
    return answer
