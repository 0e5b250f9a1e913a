"""The tool `update_memory`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

from nacre.being.tools.json_answer import json_answer
from nacre.being.tools.memory_access import caller
from nacre.protocol.context import Context
from nacre.sdk.decorator import tool
from nacre.sdk.result import ToolResult
from nacre.sdk.schema.field import Field
from nacre.sdk.tool import Tool

if TYPE_CHECKING:
    from nacre.being.memory.updates import Updates

TargetName = Literal[
    "preferences",
    "knowledge",
    "relationship",
    "partner_tools",
    "partner_map",
    "diary",
    "notes",
    "party_message",
    "partner_rules",
    "souls",
]
Action = Literal["get", "append", "update", "delete"]


def update_memory(updates: "Callable[[], Updates]") -> Tool:
    """Return the tool that reads and writes what a Being keeps about itself and its partner."""

    @tool(
        name="update_memory",
        read_only=False,
        destructive=True,
        idempotent=False,
        open_world=False,
        blocking=True,
    )
    async def updated(
        target: TargetName,
        action: Action,
        content: Annotated[
            str | None, Field(description="Text. For get: `next` of the answer before")
        ] = None,
        key: Annotated[
            str | None, Field(description="Title, name, date, field or id; a get without lists")
        ] = None,
        location: Annotated[str | None, Field(description="For partner_map")] = None,
        to: Annotated[str | None, Field(description="Recipient, for party_message")] = None,
        *,
        context: Context,
    ) -> ToolResult:
        """Get, append, update or delete an entry of a target. Writes answer with the text before.

        souls keys: name, model, personality, voice, values, backstory, inner_world, examples.
        partner_rules: "[category] title: body", or "enabled"/"disabled". party_message:
        append sends, update with "read" marks as read.
        """
        answer = updates().apply(
            caller(context).being_id,
            target,
            action,
            content=content,
            key=key,
            location=location,
            to=to,
        )
        return json_answer(answer)

    return updated
