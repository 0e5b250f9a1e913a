"""The tool `trigger_patrol`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from nacre.being.tools.tool_calls import caller, json_answer, memory_tool
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import TASK_SLICE_SECONDS
from nacre.protocol.context import Context, TaskRun
from nacre.protocol.holder import holder_of
from nacre.sdk.result import ToolResult
from nacre.sdk.tool import Tool

if TYPE_CHECKING:
    from nacre.being.patrol.trigger import PatrolRequests

_MAX_ATTEMPTS = 500  # at least ten minutes of waiting for the patrol to begin


@dataclass(frozen=True, slots=True)
class MessageArgument:  # a docstring would travel in every tools/list
    role: str
    content: str


def trigger_patrol(patrols: "Callable[[], PatrolRequests]") -> Tool:
    """Return the tool that stores messages and runs a patrol."""

    @memory_tool(
        name="trigger_patrol", read_only=False, destructive=False, idempotent=False, task="optional"
    )
    async def trigger(
        messages: Annotated[list[MessageArgument], "[] to process noted scenes only"],
        marker_id: Annotated[str | None, "The marker_id of the call before"] = None,
        *,
        context: Context,
    ) -> ToolResult:
        """Store a conversation and turn noted scenes into memories."""
        if context.task is not None:
            return json_answer(_follow(patrols(), messages, marker_id, context, context.task))
        answer = patrols().take(
            caller(context).being_id,
            messages,
            marker_id=marker_id,
            llm_api_key=context.llm_api_key,
            on_progress=lambda step, steps, name: context.progress(step, steps, name),
            is_cancelled=lambda: context.cancelled,
            holder=holder_of(context),
        )
        return json_answer(answer)

    return trigger


def _follow(
    patrols: "PatrolRequests",
    messages: list[MessageArgument],
    marker_id: str | None,
    context: Context,
    task: TaskRun,
) -> dict[str, Any]:
    """Return the answer at the end of the patrol, however long it takes.

    Each attempt ends early and is continued later, because the patrol may need its thread.
    """
    from nacre.being.patrol.trigger import UnfinishedPatrol  # noqa: PLC0415 - loaded with the patrols

    being_id, key = caller(context).being_id, context.llm_api_key
    if not task.notes:
        notes = patrols.hand_over(
            being_id, messages, marker_id=marker_id, llm_api_key=key, holder=holder_of(context)
        )
        task.keep(notes)
    answer = patrols.follow(
        being_id,
        task.notes,
        llm_api_key=key,
        seconds=TASK_SLICE_SECONDS,
        patient=task.attempt < _MAX_ATTEMPTS,
        on_progress=lambda step, steps, name: context.progress(step, steps, name),
        is_cancelled=lambda: context.cancelled,
    )
    if isinstance(answer, UnfinishedPatrol):
        task.keep(answer.notes)
        task.go_on_later()
    return answer
