"""The tool `search_history`."""

from collections.abc import Callable
from typing import Annotated

from nacre.being.caller import caller
from nacre.limits import HISTORY_SCAN_BYTES, MAX_ANSWER_BYTES, MAX_HISTORY_RESULTS
from nacre.memory.history import Findings, folded
from nacre.memory.memory import Memory
from nacre.memory.model import Message
from nacre.protocol.context import Context
from nacre.tools.decorator import tool
from nacre.tools.field import Field
from nacre.tools.result import ToolResult
from nacre.tools.tool import Tool

_RESULTS = 10  # seed 003
_HEADER = 500  # bytes of an answer that are not messages
_BEFORE = 200  # characters shown before the first match


def search_history(memory: Callable[[], Memory]) -> Tool:
    """Return the tool that searches what was said."""

    @tool(
        name="search_history",
        read_only=True,
        destructive=False,
        idempotent=True,
        open_world=False,
        blocking=True,
    )
    async def searched(
        query: Annotated[str | None, "Part of a message"] = None,
        date_from: Annotated[str | None, "YYYY-MM-DD, UTC, inclusive"] = None,
        date_to: Annotated[str | None, "YYYY-MM-DD, UTC, inclusive"] = None,
        limit: Annotated[int, Field(ge=1, le=MAX_HISTORY_RESULTS)] = _RESULTS,
        *,
        context: Context,
    ) -> ToolResult:
        """Search past conversation messages by keyword and dates, newest first."""
        found = memory().history.search(
            caller(context).being_id,
            limit=limit,
            query=query,
            date_from=date_from,
            date_to=date_to,
        )
        return ToolResult.text(_listed(found, query or ""))

    return searched


def _listed(found: Findings, query: str) -> str:
    count = len(found.messages)
    header = f"{count or 'No'} message{'' if count == 1 else 's'}, newest first"
    if found.more:
        header += "; older ones match too: use date_to to see them"
    if found.truncated:
        size = HISTORY_SCAN_BYTES // (1024 * 1024)
        header += f"; truncated: the search stopped after {size} MB, use date_to to look further"
    room = (MAX_ANSWER_BYTES - _HEADER) // max(1, count)
    return "\n\n".join([header, *(_shown(message, query, room) for message in found.messages)])


def _shown(message: Message, query: str, room: int) -> str:
    frame = f"[{message.ts}] {message.role}: "
    return frame + _excerpt(message.content, query, room - len(frame) - 2)


def _excerpt(text: str, query: str, room: int) -> str:
    """Return the text, or the part of it around the first match, in so many bytes."""
    if len(text.encode()) <= room:
        return text
    # Folding may change lengths a little; the place is near enough.
    place = max(0, folded(text).find(folded(query)) - _BEFORE) if query else 0
    room -= 8  # two ellipses and the halves of letters that are cut off
    part = text[place:].encode()[:room].decode(errors="ignore")
    return f"{'…' if place else ''}{part}{'…' if place + len(part) < len(text) else ''}"
