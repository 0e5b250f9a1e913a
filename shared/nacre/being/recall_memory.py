"""The tool `recall_memory`."""

from collections.abc import Callable
from typing import Annotated

from nacre.being.caller import caller
from nacre.memory.explore import Explore
from nacre.memory.nodes import Nodes
from nacre.memory.shelf import accesses
from nacre.protocol.context import Context
from nacre.tools.decorator import tool
from nacre.tools.field import Field
from nacre.tools.result import ToolResult
from nacre.tools.tool import Tool

_NODES = 5  # the seed document's default
_MOST_NODES = 50


def recall_memory(explore: Callable[[], Explore], nodes: Callable[[], Nodes]) -> Tool:
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
        being_id = principal.being_id
        if node_id is not None:
            view = explore().node(being_id, node_id)
        elif cluster_id is None:
            view = explore().clusters(being_id, query=query, page=page)
        else:
            count = 0 if no_nodes else limit
            view = explore().cluster(being_id, cluster_id, limit=count, query=query, page=page)
        if principal.may_write:
            nodes().touch(being_id, accesses(view.read))
        return ToolResult.text(view.text)

    return explored
