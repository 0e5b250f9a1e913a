"""The Being's tools that read its memory, one function for each tool."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

from nacre.being.tools.tool_calls import caller, json_answer, memory_tool
from nacre.core.limits import MAX_HISTORY_RESULTS, MAX_SEARCH_MEMORIES, SEARCH_MEMORIES
from nacre.core.origins import Origin
from nacre.protocol.context import Context
from nacre.protocol.holder import holder_of
from nacre.protocol.versions import MODERN
from nacre.sdk.result import TextContent, ToolResult
from nacre.sdk.schema.field import Field
from nacre.sdk.tool import Tool

if TYPE_CHECKING:
    from nacre.being.memory.services import MemoryServices

Timezone = Annotated[str, Field(description="Of the user, e.g. Asia/Tokyo")]

NOTHING_FOUND = "No memories relate to this message."
"""For clients of older protocol versions, many of which read `content[0].text` unchecked."""


def recall(memory: "Callable[[], MemoryServices]") -> Tool:
    """Return the tool that recalls memories related to a message."""

    @memory_tool(name="recall", read_only=True)
    async def recall_related(
        user_message: Annotated[str, Field(description="The user's current message")],
        timezone: Timezone = "UTC",
        *,
        context: Context,
    ) -> ToolResult:
        """Call at the start of every turn: past memories that the user's message touches."""
        principal, services = caller(context), memory()
        holder = holder_of(context)
        services.writers.heard(holder, (("user", user_message),))
        reply = services.queries.recall(
            principal.being_id,
            user_message,
            timezone=timezone,
            counted=principal.may_write,
            holder=holder,
        )
        text = reply.text or ("" if context.version == MODERN else NOTHING_FOUND)
        # APIs of models refuse empty text blocks, so an empty answer has no block.
        content = (TextContent(text),) if text else ()
        return ToolResult(content, meta={"nacre/search": reply.trace})

    return recall_related


def get_context(
    memory: "Callable[[], MemoryServices]",
    capabilities: Callable[[Context], list[dict[str, str]]] = lambda _context: [],
) -> Tool:
    """Return the tool that describes the Being and its memory at the start of a session.

    `capabilities` returns the tools of other servers that a caller may use.
    """

    @memory_tool(name="get_context", read_only=True, idempotent=True)
    async def describe(context: Context) -> ToolResult:
        """Call once at the start of a session: the Being's persona and memory snapshot."""
        services, collected = memory(), set[Origin]()
        blocks = services.context.blocks(caller(context).being_id, collected)
        services.writers.shown(holder_of(context), collected)
        return json_answer({**blocks, "capability_tools": capabilities(context)})

    return describe


_NODES = 5  # the default
_MAX_NODES = 50


def recall_memory(memory: "Callable[[], MemoryServices]") -> Tool:
    """Return the tool that shows all clusters, one cluster, or one node with its origin."""

    @memory_tool(name="recall_memory", read_only=True)
    async def browse(
        cluster_id: Annotated[str | None, Field(description="Omit to list the clusters")] = None,
        node_id: Annotated[str | None, Field(description="One node, and its origin")] = None,
        limit: Annotated[int, Field(description="Nodes to return", ge=1, le=_MAX_NODES)] = _NODES,
        query: Annotated[str | None, Field(description="Only nodes with this in action")] = None,
        no_nodes: Annotated[bool, Field(description="The digest only")] = False,
        page: Annotated[int, Field(ge=1)] = 1,
        as_of: Annotated[str | None, Field(description="YYYY-MM-DD: as known that day")] = None,
        *,
        context: Context,
    ) -> ToolResult:
        """Explore memory: the clusters, one cluster's digest and top nodes, or one node."""
        principal = caller(context)
        text = memory().queries.browse(
            principal.being_id,
            cluster_id=cluster_id,
            node_id=node_id,
            limit=0 if no_nodes else limit,
            query=query,
            page=page,
            as_of=as_of,
            counted=principal.may_write,
            holder=holder_of(context),
        )
        return ToolResult.text(text)

    return browse


Limit = Annotated[int, Field(ge=1, le=MAX_SEARCH_MEMORIES)]
Mode = Annotated[
    Literal["or", "and"], Field(description="Any or every word; for keyword search only")
]
Day = Annotated[str, Field(description="YYYY-MM-DD, inclusive")]
Status = Annotated[
    Literal["active", "dying", "dead", "pending"], Field(description="pending: not yet a node")
]


def search_memory(memory: "Callable[[], MemoryServices]") -> Tool:
    """Return the tool that searches all memories."""

    @memory_tool(name="search_memory", read_only=True)
    async def search(
        query: Annotated[str, Field(description='"*" lists by date; may say "last week"')],
        limit: Limit = SEARCH_MEMORIES,
        mode: Mode = "or",
        cluster_id: str | None = None,
        date_from: Day | None = None,
        date_to: Day | None = None,
        status: Status | None = None,
        page: Annotated[int, Field(description="Of a list", ge=1)] = 1,
        timezone: Timezone = "UTC",
        as_of: Annotated[str | None, Field(description="YYYY-MM-DD: as known that day")] = None,
        *,
        context: Context,
    ) -> ToolResult:
        """Search memories by meaning and words, or list days. Finds forgotten (dead) ones too."""
        principal = caller(context)
        reply = memory().queries.search(
            principal.being_id,
            query,
            limit=limit,
            mode=mode,
            cluster_id=cluster_id,
            date_from=date_from,
            date_to=date_to,
            status=status,
            page=page,
            timezone=timezone,
            as_of=as_of,
            counted=principal.may_write,
            holder=holder_of(context),
        )
        return ToolResult((TextContent(reply.text),), meta={"nacre/search": reply.trace})

    return search


_RESULTS = 10  # the default


def search_history(memory: "Callable[[], MemoryServices]") -> Tool:
    """Return the tool that searches past messages."""

    @memory_tool(name="search_history", read_only=True, destructive=False, idempotent=True)
    async def search(
        query: Annotated[str | None, "Part of a message"] = None,
        date_from: Annotated[str | None, "YYYY-MM-DD, UTC, inclusive"] = None,
        date_to: Annotated[str | None, "YYYY-MM-DD, UTC, inclusive"] = None,
        limit: Annotated[int, Field(ge=1, le=MAX_HISTORY_RESULTS)] = _RESULTS,
        before: Annotated[str | None, "Where an earlier answer says to go on"] = None,
        *,
        context: Context,
    ) -> ToolResult:
        """Search past conversation messages by keyword and dates, newest first."""
        text = memory().queries.history(
            caller(context).being_id,
            limit=limit,
            query=query,
            date_from=date_from,
            date_to=date_to,
            before=before,
            holder=holder_of(context),
        )
        return ToolResult.text(text)

    return search
