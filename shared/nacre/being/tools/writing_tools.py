"""The Being's tools that change its memory, one function for each tool."""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from nacre.being.tools.tool_calls import caller, json_answer, memory_tool
from nacre.core.errors import InvalidArgumentError, InvalidInputError
from nacre.core.lazy_dataclasses import asdict, dataclass
from nacre.core.limits import PATROL_AT
from nacre.core.origins import Origin
from nacre.core.traces import span
from nacre.protocol.context import Context
from nacre.protocol.holder import holder_of
from nacre.sdk.result import ToolResult
from nacre.sdk.schema.field import Field
from nacre.sdk.tool import Tool

if TYPE_CHECKING:
    from nacre.being.memory.model.types import Relation
    from nacre.being.memory.patrol_trigger import PatrolState
    from nacre.being.memory.services import MemoryServices

TargetName = Literal[
    "preferences",
    "knowledge",
    "relationship",
    "partner_tools",
    "partner_map",
    "diary",
    "notes",
    "party_message",
    "partner_rules",
    "souls",
    "memories",
]
Action = Literal["get", "append", "update", "delete"]


def update_memory(memory: "Callable[[], MemoryServices]") -> Tool:
    """Return the tool that reads and writes the entries about the Being and its partner."""

    @memory_tool(name="update_memory", read_only=False, destructive=True, idempotent=False)
    async def act(
        target: TargetName,
        action: Action,
        content: Annotated[
            str | None, Field(description="Text. For get: `next` of the answer before")
        ] = None,
        key: Annotated[
            str | None, Field(description="Title, name, date, field or id; a get without lists")
        ] = None,
        location: Annotated[str | None, Field(description="For partner_map")] = None,
        to: Annotated[str | None, Field(description="Recipient, for party_message")] = None,
        *,
        context: Context,
    ) -> ToolResult:
        """Get, append, update or delete an entry of a target; writes answer with the text before.

        souls keys: name, model, personality, voice, values, backstory, inner_world, examples.
        partner_rules: "[category] title: body", or "enabled"/"disabled". party_message:
        append sends, update with "read" marks as read. memories (key: a node_id):
        update corrects, delete hides, update with "undo" takes back.
        """
        services = memory()
        # The text of an entry is no memory, and has no origins.
        holder = holder_of(context) if target == "memories" else None
        received, collected = services.writers.of(holder), set[Origin]()
        answer = services.memory.target_actions.apply(
            caller(context).being_id,
            target,
            action,
            content=content,
            key=key,
            location=location,
            to=to,
            origins=received,
            collected=collected,
        )
        services.writers.shown(holder, collected)
        return json_answer(answer)

    return act


_PATROL: "dict[PatrolState, str]" = {
    "not due": f"fires at {PATROL_AT} pending scenes",
    "queued": "fired",
    "queued before": "fired before and not done yet",
    "not queued": "could not be fired; the next scene tries again",
}


@dataclass(frozen=True, slots=True)
class SceneArgument:  # a docstring would travel in every tools/list
    action: Annotated[str, "What happened"]
    actors: Annotated[tuple[str, ...], "Who was involved"]
    when: Annotated[tuple[str, ...], "Dates, YYYY-MM-DD"]
    setting: Annotated[str | None, "Where, in what context"] = None
    feeling: Annotated[str | None, "Your own impression"] = None
    themes: tuple[str, ...] = ()
    importance: Annotated[float, Field(ge=0, le=1)] = 0.5


# An unknown field is refused: the model would not notice that it was ignored.
ClosedScene = Annotated[SceneArgument, Field(closed=True)]


def update_notes(memory: "Callable[[], MemoryServices]") -> Tool:
    """Return the tool that records scenes and notes."""

    @memory_tool(name="update_notes", read_only=False, destructive=True, idempotent=False)
    async def record(
        action: Literal["append", "update"] = "append",
        scenes: list[ClosedScene] | None = None,
        notes: Annotated[list[str] | None, "Memos to keep as they are: TODOs, reminders"] = None,
        scene_ids: Annotated[list[str] | None, "For update: scenes to delete first"] = None,
        *,
        context: Context,
    ) -> ToolResult:
        """Record scenes (what happened; they become memories) and notes. Give at least one."""
        being_id = caller(context).being_id
        if not scenes and not notes:
            raise InvalidArgumentError("give 'scenes' or 'notes', at least one of either")
        if scene_ids and action != "update":
            raise InvalidArgumentError("argument 'scene_ids' belongs to action 'update'")
        services = memory()
        origins = services.writers.of_text(holder_of(context)) if scenes else ()
        return json_answer(
            _record(services, being_id, scenes or (), notes or (), scene_ids or (), origins)
        )

    return record


def _record(
    memory: "MemoryServices",
    being_id: str,
    scenes: Sequence[SceneArgument],
    notes: Sequence[str],
    scene_ids: Sequence[str],
    origins: tuple[str, ...],
) -> dict[str, Any]:
    """Store scenes and notes in place of the scenes with these ids, and return the answer."""
    from nacre.being.memory.model.types import SceneDraft  # noqa: PLC0415 - loaded with the memory

    drafts = [SceneDraft(**asdict(scene), origins=origins) for scene in scenes]
    with span("create_memory update_notes", {"gen_ai.operation.name": "create_memory"}) as recorded:
        stored = memory.memory.scenes.record(being_id, drafts, notes=notes, replacing=scene_ids)
        recorded.set("gen_ai.memory.record.count", len(stored.scenes) + len(stored.notes))
    waiting = memory.memory.trigger.after_scenes(being_id)
    return {
        "success": True,
        "scene_ids": [scene.scene_id for scene in stored.scenes],
        "note_ids": [note.key for note in stored.notes],
        "deleted_scene_ids": list(stored.deleted) if scene_ids else None,
        "not_deleted": stored.not_deleted or None,
        "pending_scenes": waiting.scenes,
        "patrol": _PATROL[waiting.patrol],
    }


def update_relation(memory: "Callable[[], MemoryServices]") -> Tool:
    """Return the tool that creates, overwrites and removes relations to entities."""

    @memory_tool(name="update_relation", read_only=False, destructive=True, idempotent=True)
    async def update(
        entity_name: str,
        relation_type: Annotated[str, "person, device, ai, organization, ..."],
        action: Literal["upsert", "delete"],
        content: Annotated[str | None, "The relationship; needed for upsert"] = None,
        *,
        context: Context,
    ) -> ToolResult:
        """Create, overwrite or remove the relation to an entity."""
        being_id, relations = caller(context).being_id, memory().memory.relations
        if action == "upsert":
            if content is None or not content.strip():
                raise InvalidArgumentError("argument 'content' is needed for upsert")
            relation, before = relations.upsert(
                being_id, entity_name, relation_type=relation_type, content=content
            )
            return json_answer({**_answer(action, relation), "before": _text(before)})
        deleted = relations.delete(being_id, entity_name)
        if deleted is None:
            return json_answer(
                {
                    "success": False,
                    "action": action,
                    "entity_name": entity_name[:200],
                    "remark": "there is no relation to this entity",
                }
            )
        return json_answer({**_answer(action, deleted), "before": _text(deleted)})

    return update


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


_UNDO = "undo"


def merge_nodes(memory: "Callable[[], MemoryServices]") -> Tool:
    """Return the tool that merges memories into one and undoes a merge."""

    @memory_tool(name="merge_nodes", read_only=False, destructive=False, idempotent=False)
    async def merge_or_undo(
        node_ids: Annotated[str | list[str], "Node ids with commas between them, or a list"],
        summary: Annotated[str, "What the merged node says happened"],
        feeling: str | None = None,
        *,
        context: Context,
    ) -> ToolResult:
        """Merge similar nodes into one. To take a merge back: its id alone and summary "undo"."""
        being_id = caller(context).being_id
        services = memory()
        edits = services.memory.edits
        ids = _ids(node_ids)
        if len(ids) == 1 and summary.strip().casefold() == _UNDO:
            undone = edits.undo_merge(being_id, ids[0], by="agent")
            restored = ", ".join(source.node_id for source in undone.sources)
            return ToolResult.text(f"Took back the merge {ids[0]}. These are back: {restored}")
        if summary.strip().casefold() == _UNDO:
            raise InvalidInputError(
                f"'summary' is \"{_UNDO}\", which takes back one merge: give its id alone"
            )
        merge = edits.merge(
            being_id,
            ids,
            action=summary,
            feeling=feeling,
            by="agent",
            origins=services.writers.of(holder_of(context)),
        )
        return ToolResult.text(
            f"Merged {len(merge.sources)} nodes into {merge.node.node_id}. The sources are kept;"
            f' merge_nodes with this id alone and summary "{_UNDO}" brings them back.'
        )

    return merge_or_undo


def _ids(node_ids: str | list[str]) -> list[str]:
    """Return the ids in a list, in the text of a JSON list, or in a text with commas."""
    if isinstance(node_ids, str) and node_ids.lstrip().startswith("["):
        try:
            node_ids = json.loads(node_ids)
        except (ValueError, RecursionError):
            raise InvalidArgumentError("argument 'node_ids' is not a JSON list of ids") from None
    entries = node_ids.split(",") if isinstance(node_ids, str) else node_ids
    if not all(isinstance(entry, str) for entry in entries):
        raise InvalidArgumentError("argument 'node_ids': each id is a string")
    return [entry.strip() for entry in entries if entry.strip()]
