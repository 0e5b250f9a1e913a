"""The tool `merge_nodes`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from nacre.being.tools.memory_access import caller
from nacre.core.errors import InvalidInputError
from nacre.protocol.context import Context
from nacre.sdk.decorator import tool
from nacre.sdk.result import ToolResult
from nacre.sdk.tool import Tool

if TYPE_CHECKING:
    from nacre.being.memory.store.merges import Merges

_UNDO = "undo"


def merge_nodes(merges: "Callable[[], Merges]") -> Tool:
    """Return the tool that makes one memory of several, and takes that back."""

    @tool(
        name="merge_nodes",
        read_only=False,
        destructive=False,
        idempotent=False,
        open_world=False,
        blocking=True,
    )
    async def merged(
        node_ids: Annotated[str, "Node ids with commas between them"],
        summary: Annotated[str, "What the merged node says happened"],
        feeling: str | None = None,
        *,
        context: Context,
    ) -> ToolResult:
        """Merge similar nodes into one. To take a merge back: its id alone and summary "undo"."""
        being_id = caller(context).being_id
        ids = [each.strip() for each in node_ids.split(",") if each.strip()]
        if len(ids) == 1 and summary.strip().casefold() == _UNDO:
            undone = merges().undo(being_id, ids[0])
            back = ", ".join(source.node_id for source in undone.sources)
            return ToolResult.text(f"Took back the merge {ids[0]}. These are back: {back}")
        if summary.strip().casefold() == _UNDO:
            raise InvalidInputError(
                f"'summary' is \"{_UNDO}\", which takes back one merge: give its id alone"
            )
        made = merges().merge(being_id, ids, action=summary, feeling=feeling)
        return ToolResult.text(
            f"Merged {len(made.sources)} nodes into {made.node.node_id}. The sources are kept;"
            f' merge_nodes with this id alone and summary "{_UNDO}" brings them back.'
        )

    return merged
