"""The tool `search_memory`."""

from collections.abc import Callable
from typing import Annotated, Literal

from nacre.being.caller import caller
from nacre.limits import MAX_SEARCH_MEMORIES, SEARCH_MEMORIES
from nacre.memory.fields import checked_date
from nacre.memory.listing import found_text, trace
from nacre.memory.nodes import Nodes
from nacre.memory.search import FINDABLE, Search
from nacre.memory.shelf import accesses
from nacre.ports.vectors import Filter
from nacre.protocol.context import Context
from nacre.tools.content import TextContent
from nacre.tools.decorator import tool
from nacre.tools.field import Field
from nacre.tools.result import ToolResult
from nacre.tools.tool import Tool

Status = Annotated[
    Literal["active", "dying", "dead", "pending"], Field(description="pending: not yet a node")
]


def search_memory(search: Callable[[], Search], nodes: Callable[[], Nodes]) -> Tool:
    """Return the tool that searches all memories."""

    @tool(name="search_memory", read_only=True, open_world=False, blocking=True)
    async def searched(
        query: str,
        limit: Annotated[int, Field(ge=1, le=MAX_SEARCH_MEMORIES)] = SEARCH_MEMORIES,
        mode: Annotated[
            Literal["or", "and"], Field(description="Any or every word; for keyword search only")
        ] = "or",
        cluster_id: str | None = None,
        date_from: Annotated[str | None, Field(description="YYYY-MM-DD, inclusive")] = None,
        date_to: Annotated[str | None, Field(description="YYYY-MM-DD, inclusive")] = None,
        status: Annotated[
            Status | None, Field(description="pending: noted, not yet a node")
        ] = None,
        *,
        context: Context,
    ) -> ToolResult:
        """Search memories by meaning and words. Finds forgotten (dead) ones too."""
        principal = caller(context)
        where = Filter(
            states=FINDABLE.states if status is None else frozenset({status}),
            cluster_id=cluster_id,
            day_from=None if date_from is None else checked_date(date_from, "date_from"),
            day_to=None if date_to is None else checked_date(date_to, "date_to"),
        )
        answer = search().find(principal.being_id, query, limit=limit, where=where, mode=mode)
        if principal.may_write:
            nodes().touch(principal.being_id, accesses([hit.memory for hit in answer.hits]))
        text = TextContent(found_text(answer))
        return ToolResult((text,), meta={"nacre/search": trace(answer)})

    return searched
