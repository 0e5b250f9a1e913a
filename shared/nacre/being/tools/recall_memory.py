"""The tool `recall_memory`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from nacre.being.tools.memory_access import caller
from nacre.protocol.context import Context
from nacre.sdk.decorator import tool
from nacre.sdk.result import ToolResult
from nacre.sdk.schema.field import Field
from nacre.sdk.tool import Tool

if TYPE_CHECKING:
    from nacre.being.memory.search.recall import Recollection

_NODES = 5  # where the caller does not say
_MOST_NODES = 50


def recall_memory(recollection: "Callable[[], Recollection]") -> Tool:
    """Return the tool that shows clusters, what is in one, and where a memory came from."""

    @tool(name="recall_memory", read_only=True, open_world=False, blocking=True)
    async def explored(
        cluster_id: Annotated[str | None, Field(description="Omit to list the clusters")] = None,
        node_id: Annotated[str | None, Field(description="One node, and its origin")] = None,
        limit: Annotated[int, Field(description="Nodes to return", ge=1, le=_MOST_NODES)] = _NODES,
        query: Annotated[str | None, Field(description="Only nodes with this in action")] = None,
        no_nodes: Annotated[bool, Field(description="The digest only")] = False,
        page: Annotated[int, Field(ge=1)] = 1,
        *,
        context: Context,
    ) -> ToolResult:
        """Explore memory: the clusters, one cluster's digest and top nodes, or one node."""
        principal = caller(context)
        text = recollection().explore(
            principal.being_id,
            cluster_id=cluster_id,
            node_id=node_id,
            limit=0 if no_nodes else limit,
            query=query,
            page=page,
            counted=principal.may_write,
        )
        return ToolResult.text(text)

    return explored
