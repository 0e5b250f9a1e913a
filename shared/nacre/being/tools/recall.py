"""The tool `recall`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from nacre.being.tools.memory_access import caller
from nacre.protocol.context import Context
from nacre.protocol.versions import is_modern
from nacre.sdk.content import TextContent
from nacre.sdk.decorator import tool
from nacre.sdk.result import ToolResult
from nacre.sdk.schema.field import Field
from nacre.sdk.tool import Tool

if TYPE_CHECKING:
    from nacre.being.memory.search.recall import Recollection

NOTHING_FOUND = "No memories relate to this message."
"""The answer to clients of the older revisions, many of which read `content[0].text` unchecked."""


def recall(recollection: "Callable[[], Recollection]") -> Tool:
    """Return the tool that brings back what a message is about."""

    @tool(name="recall", read_only=True, open_world=False, blocking=True)
    async def recalled(
        user_message: Annotated[str, Field(description="The user's current message")],
        context: Context,
    ) -> ToolResult:
        """Call at the start of every turn: past memories that the user's message touches."""
        principal = caller(context)
        reply = recollection().recall(principal.being_id, user_message, counted=principal.may_write)
        text = reply.text or ("" if is_modern(context.version) else NOTHING_FOUND)
        # Models' APIs refuse blocks of empty text, so an empty message has no block.
        content = (TextContent(text),) if text else ()
        return ToolResult(content, meta={"nacre/search": reply.trace})

    return recalled
