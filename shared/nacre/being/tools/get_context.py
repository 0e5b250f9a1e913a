"""The tool `get_context`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from nacre.being.tools.json_answer import json_answer
from nacre.being.tools.memory_access import caller
from nacre.protocol.context import Context
from nacre.sdk.decorator import tool
from nacre.sdk.result import ToolResult
from nacre.sdk.tool import Tool

if TYPE_CHECKING:
    from nacre.being.memory.search.opening_context import ContextBlocks


def get_context(
    blocks: "Callable[[], ContextBlocks]",
    capabilities: Callable[[Context], list[dict[str, str]]] = lambda _context: [],
) -> Tool:
    """Return the tool that tells a client who the Being is and what it knows.

    `capabilities` are the tools of other servers that a caller has.
    """

    @tool(name="get_context", read_only=True, idempotent=True, open_world=False, blocking=True)
    async def context_of(context: Context) -> ToolResult:
        """Call once at the start of a session: the Being's persona and memory snapshot."""
        described = blocks().described(caller(context).being_id)
        return json_answer({**described, "capability_tools": capabilities(context)})

    return context_of
