"""The tool `search_history`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from nacre.being.tools.memory_access import caller
from nacre.core.limits import MAX_HISTORY_RESULTS
from nacre.protocol.context import Context
from nacre.sdk.decorator import tool
from nacre.sdk.result import ToolResult
from nacre.sdk.schema.field import Field
from nacre.sdk.tool import Tool

if TYPE_CHECKING:
    from nacre.being.memory.search.history_search import Recounting

_RESULTS = 10  # where the caller does not say


def search_history(recounting: "Callable[[], Recounting]") -> Tool:
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
        before: Annotated[str | None, "Where an earlier answer says to go on"] = None,
        *,
        context: Context,
    ) -> ToolResult:
        """Search past conversation messages by keyword and dates, newest first."""
        text = recounting().search(
            caller(context).being_id,
            limit=limit,
            query=query,
            date_from=date_from,
            date_to=date_to,
            before=before,
        )
        return ToolResult.text(text)

    return searched
