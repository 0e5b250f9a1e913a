"""The tool `recall`."""

from collections.abc import Callable
from typing import Annotated

from nacre.being.caller import caller
from nacre.limits import RECALL_MEMORIES
from nacre.memory.listing import trace
from nacre.memory.nodes import Nodes
from nacre.memory.rendering import Fragment, recall_block
from nacre.memory.search import Search
from nacre.memory.shelf import accesses
from nacre.protocol.context import Context
from nacre.tools.content import TextContent
from nacre.tools.decorator import tool
from nacre.tools.field import Field
from nacre.tools.result import ToolResult
from nacre.tools.tool import Tool


def recall(search: Callable[[], Search], nodes: Callable[[], Nodes]) -> Tool:
    """Return the tool that brings back what a message is about."""

    @tool(name="recall", read_only=True, open_world=False, blocking=True)
    async def recalled(
        user_message: Annotated[str, Field(description="The user's current message")],
        context: Context,
    ) -> ToolResult:
        """Call at the start of every turn: past memories that the user's message touches."""
        principal = caller(context)
        answer = search().find(principal.being_id, user_message, limit=RECALL_MEMORIES)
        if not answer.hits:
            # No block at all: models' APIs refuse a block of empty text.
            return ToolResult()
        memories = [hit.memory for hit in answer.hits]
        if principal.may_write:
            nodes().touch(principal.being_id, accesses(memories))
        fragments = [Fragment(each.text, f"{each.kind} {each.id}") for each in memories]
        block = recall_block(fragments, user_message)
        return ToolResult((TextContent(block),), meta={"nacre/search": trace(answer)})

    return recalled
