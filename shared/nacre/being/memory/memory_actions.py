"""The actions of `update_memory` on memories that a patrol has made, by their node ids."""

from collections.abc import Collection, Iterator
from typing import Any, Literal

from nacre.being.memory.model.fields import checked_name
from nacre.being.memory.model.lineage import origins_of
from nacre.being.memory.model.types import Node
from nacre.being.memory.model.wordings import wordings_of
from nacre.being.memory.store.corrections import Corrections, undo_end
from nacre.being.memory.store.nodes import Nodes
from nacre.core.errors import InvalidArgumentError, NotFoundError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.origins import Origin

MEMORIES = "memories"
"""The name of the target."""

_UNDO = "undo"
_LISTED = 100  # hidden memories in an answer


@dataclass(frozen=True, slots=True)
class MemoryActions:
    """Corrects and hides memories for an agent, or undoes that; returns texts for the model."""

    nodes: Nodes
    corrections: Corrections

    def apply(
        self,
        being_id: str,
        action: Literal["get", "append", "update", "delete"],
        *,
        content: str | None,
        key: str | None,
        origins: Collection[Origin] = (),
        collected: set[Origin] | None = None,
    ) -> dict[str, Any]:
        """Do the action and return its answer; raises an error that names what is wrong.

        `origins` are those of what the agent has received; they join those of a corrected memory.
        The origins of a text in the answer are added to `collected`.
        """
        if action == "append":
            raise InvalidArgumentError(
                "argument 'action': update_notes records new memories; here use get, update, delete"
            )
        if key is None or not key.strip():
            if action == "get":
                return {"entries": list(self._hidden(being_id))}
            raise InvalidArgumentError(f"argument 'key' is needed for {action}: a node id")
        before = self._node(being_id, key)
        if collected is not None:
            collected |= origins_of(before)
        if action == "get":
            return _described(before)
        if action == "delete":
            after = self.corrections.hide(being_id, before.node_id, by="agent")
            remark = (
                f'hidden, not erased: update with the content "{_UNDO}" takes that back until'
                f" {(undo_end(after.hidden_at) or '')[:10]}"
            )
        elif content is None or not content.strip():
            raise InvalidArgumentError(f"argument 'content' is needed for {action}")
        elif content.strip().casefold() == _UNDO:
            after = self.corrections.take_back(being_id, before.node_id, by="agent")
            remark = "shown again" if before.status == "hidden" else "the earlier wording is back"
        else:
            after = self.corrections.correct(
                being_id, before.node_id, content, by="agent", origins=origins
            )
            remark = "nothing changed" if after == before else "the earlier wording is kept"
        return {
            "key": after.node_id,
            "version": after.version,
            "before": before.action,
            "remark": remark,
        }

    def _node(self, being_id: str, key: str) -> Node:
        node = self.nodes.get(being_id, checked_name(key, "key"))
        if node is None:
            raise NotFoundError(
                "there is no memory of this node id; a scene that no patrol has taken is replaced"
                " by update_notes with the action 'update' and its scene_ids"
            )
        return node

    def _hidden(self, being_id: str) -> Iterator[dict[str, Any]]:
        """Yield the hidden memories, the last first, without their texts."""
        for node in self.nodes.hidden(being_id, limit=_LISTED).nodes:
            yield {"key": node.node_id, **_hiding(node)}


def _described(node: Node) -> dict[str, Any]:
    if node.status == "hidden":
        return {"key": node.node_id, "version": node.version, **_hiding(node)}
    wordings = [
        {"content": wording.fields.get("action", node.action), "until": wording.until[:10]}
        | {"corrected_by": wording.by}
        for wording in wordings_of(node)
    ]
    return {
        "key": node.node_id,
        "version": node.version,
        "status": node.status,
        "content": node.action,
        "earlier_wordings": wordings or None,
    }


def _hiding(node: Node) -> dict[str, Any]:
    hiding = {"hidden_at": (node.hidden_at or "")[:10], "hidden_by": node.hidden_by}
    if node.hidden_by != "owner":
        hiding["undo_until"] = (undo_end(node.hidden_at) or "")[:10]
    return hiding
