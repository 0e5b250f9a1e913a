"""The tool `update_notes`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from nacre.being.tools.json_answer import json_answer
from nacre.being.tools.memory_access import caller
from nacre.core.errors import InvalidArgumentError
from nacre.protocol.context import Context
from nacre.sdk.decorator import tool
from nacre.sdk.result import ToolResult
from nacre.sdk.schema.field import Field
from nacre.sdk.tool import Tool

if TYPE_CHECKING:
    from nacre.being.memory.record_notes import Noting


@dataclass(frozen=True, slots=True)
class SceneArgument:  # a docstring would travel in every tools/list
    action: Annotated[str, "What happened"]
    actors: Annotated[list[str], "Who was involved"]
    when: Annotated[list[str], "Dates, YYYY-MM-DD"]
    setting: Annotated[str | None, "Where, in what context"] = None
    feeling: Annotated[str | None, "Your own impression"] = None
    themes: list[str] = field(default_factory=list)
    importance: Annotated[float, Field(ge=0, le=1)] = 0.5


# A field with another name would be lost in silence.
ClosedScene = Annotated[SceneArgument, Field(closed=True)]


def update_notes(noting: "Callable[[], Noting]") -> Tool:
    """Return the tool that records scenes and notes."""

    @tool(
        name="update_notes",
        read_only=False,
        destructive=True,
        idempotent=False,
        open_world=False,
        blocking=True,
    )
    async def recorded(
        action: Literal["append", "update"] = "append",
        scenes: list[ClosedScene] | None = None,
        notes: Annotated[list[str] | None, "Memos to keep as they are: TODOs, reminders"] = None,
        scene_ids: Annotated[list[str] | None, "For update: scenes to delete first"] = None,
        *,
        context: Context,
    ) -> ToolResult:
        """Record scenes (what happened; they become memories) and notes. Give at least one."""
        being_id = caller(context).being_id
        if not scenes and not notes:
            raise InvalidArgumentError("give 'scenes' or 'notes', at least one of either")
        if scene_ids and action != "update":
            raise InvalidArgumentError("argument 'scene_ids' belongs to action 'update'")
        answer = noting().note(being_id, scenes or (), notes=notes or (), replacing=scene_ids or ())
        return json_answer(answer)

    return recorded
