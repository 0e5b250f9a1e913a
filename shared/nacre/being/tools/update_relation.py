"""The tool `update_relation`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from nacre.being.tools.json_answer import json_answer
from nacre.being.tools.memory_access import caller
from nacre.core.errors import InvalidArgumentError
from nacre.protocol.context import Context
from nacre.sdk.decorator import tool
from nacre.sdk.result import ToolResult
from nacre.sdk.tool import Tool

if TYPE_CHECKING:
    from nacre.being.memory.model.types import Relation
    from nacre.being.memory.store.relations import Relations


def update_relation(relations: "Callable[[], Relations]") -> Tool:
    """Return the tool that manages how a Being stands to entities."""

    @tool(
        name="update_relation",
        read_only=False,
        destructive=True,
        idempotent=True,
        open_world=False,
        blocking=True,
    )
    async def updated(
        entity_name: str,
        relation_type: Annotated[str, "person, device, ai, organization, ..."],
        action: Literal["upsert", "delete"],
        content: Annotated[str | None, "The relationship; needed for upsert"] = None,
        *,
        context: Context,
    ) -> ToolResult:
        """Create, overwrite or remove the relation to an entity."""
        being_id = caller(context).being_id
        if action == "upsert":
            if content is None or not content.strip():
                raise InvalidArgumentError("argument 'content' is needed for upsert")
            now, before = relations().upsert(
                being_id, entity_name, relation_type=relation_type, content=content
            )
            return json_answer({**_answer(action, now), "before": _text(before)})
        gone = relations().delete(being_id, entity_name)
        if gone is None:
            return json_answer(
                {
                    "success": False,
                    "action": action,
                    "entity_name": entity_name[:200],
                    "remark": "there is no relation to this entity",
                }
            )
        return json_answer({**_answer(action, gone), "before": _text(gone)})

    return updated


def _answer(action: str, relation: "Relation") -> dict[str, Any]:
    return {
        "success": True,
        "action": action,
        "entity_name": relation.entity,
        "relation_type": relation.type,
        "version": relation.version,
    }


def _text(relation: "Relation | None") -> dict[str, str] | None:
    if relation is None:
        return None
    return {"relation_type": relation.type, "content": relation.content}
