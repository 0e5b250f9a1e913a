"""The tool `search_memory`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

from nacre.being.tools.memory_access import caller
from nacre.core.limits import MAX_SEARCH_MEMORIES, SEARCH_MEMORIES
from nacre.protocol.context import Context
from nacre.sdk.content import TextContent
from nacre.sdk.decorator import tool
from nacre.sdk.result import ToolResult
from nacre.sdk.schema.field import Field
from nacre.sdk.tool import Tool

if TYPE_CHECKING:
    from nacre.being.memory.search.recall import Recollection

Limit = Annotated[int, Field(ge=1, le=MAX_SEARCH_MEMORIES)]
Mode = Annotated[
    Literal["or", "and"], Field(description="Any or every word; for keyword search only")
]
Day = Annotated[str, Field(description="YYYY-MM-DD, inclusive")]
Status = Annotated[
    Literal["active", "dying", "dead", "pending"], Field(description="pending: not yet a node")
]


def search_memory(recollection: "Callable[[], Recollection]") -> Tool:
    """Return the tool that searches all memories."""

    @tool(name="search_memory", read_only=True, open_world=False, blocking=True)
    async def searched(
        query: str,
        limit: Limit = SEARCH_MEMORIES,
        mode: Mode = "or",
        cluster_id: str | None = None,
        date_from: Day | None = None,
        date_to: Day | None = None,
        status: Status | None = None,
        *,
        context: Context,
    ) -> ToolResult:
        """Search memories by meaning and words. Finds forgotten (dead) ones too."""
        principal = caller(context)
        reply = recollection().search(
            principal.being_id,
            query,
            limit=limit,
            mode=mode,
            cluster_id=cluster_id,
            date_from=date_from,
            date_to=date_to,
            status=status,
            counted=principal.may_write,
        )
        return ToolResult((TextContent(reply.text),), meta={"nacre/search": reply.trace})

    return searched
