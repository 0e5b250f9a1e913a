"""The tool `capture_messages`, which hooks of clients call and no model sees."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from nacre.being.tools.tool_calls import caller, json_answer, memory_tool
from nacre.core.errors import InvalidArgumentError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import MAX_CHAT_MESSAGES
from nacre.protocol.context import Context
from nacre.protocol.holder import holder_of
from nacre.sdk.result import ToolResult
from nacre.sdk.tool import Tool

if TYPE_CHECKING:
    from nacre.being.memory.conversations.captured_message import CapturedMessage
    from nacre.being.memory.services import MemoryServices


@dataclass(frozen=True, slots=True)
class CapturedArgument:  # a docstring would travel with the definition
    role: Annotated[str, "user or assistant"]
    text: str
    at: Annotated[str, "The time of the message, as in RFC 3339"]
    id: Annotated[str | None, "The client's own id of the message"] = None


def capture_messages(memory: "Callable[[], MemoryServices]") -> Tool:
    """Return the tool that stores messages of a client's conversation."""

    @memory_tool(name="capture_messages", read_only=False, destructive=False, idempotent=True)
    async def capture(
        client: Annotated[str, "Such as claude-code"],
        session: Annotated[str, "The client's id of the session"],
        messages: list[CapturedArgument],
        project: Annotated[str | None, "The folder that the session works in"] = None,
        is_over: Annotated[bool, "Look for facts in the messages now"] = False,
        *,
        context: Context,
    ) -> ToolResult:
        """Keep messages of a client's conversation in the history, each of them once."""
        if len(messages) > MAX_CHAT_MESSAGES:
            raise InvalidArgumentError(
                f"'messages' has {len(messages)} entries and its limit is {MAX_CHAT_MESSAGES}"
            )
        being_id, services = caller(context).being_id, memory()
        holder = holder_of(context)
        services.writers.heard(holder, ((message.role, message.text) for message in messages))
        received = services.writers.of_text(holder)
        result = services.captured.keep(
            being_id,
            [_captured(message, client, session, project, received) for message in messages],
        )
        if is_over and services.memory.trigger.pending(being_id)[1]:
            services.memory.trigger.ask(being_id, dedupe_key="captured")
        return json_answer(
            {"new": result.new, "repeated": result.repeated, "left_out": result.left_out}
        )

    return capture


def _captured(
    message: CapturedArgument,
    client: str,
    session: str,
    project: str | None,
    received: tuple[str, ...],
) -> "CapturedMessage":
    from nacre.being.memory.conversations.captured_message import (  # noqa: PLC0415 - loaded with the memory
        CapturedMessage,
    )

    try:
        at = datetime.fromisoformat(message.at)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise InvalidArgumentError("'at' must be a time with a zone, such as 2026-07-28T12:00:00Z")
    return CapturedMessage(
        client=client,
        session=session,
        role=message.role,
        text=message.text,
        at=at,
        message_id=message.id,
        project=project,
        origins=received,
    )
