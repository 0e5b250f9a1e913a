"""The call of a task in its item: all that the handler is given, the caller's key sealed."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nacre.being.tasks.contents import Contents
from nacre.being.tasks.task import CALL, Task, TaskCall, call_of
from nacre.core.errors import InvalidParamsError
from nacre.core.limits import TASK_ANSWER_BYTES
from nacre.ports.items.table import EXPIRES_AT, Item
from nacre.ports.vault import Vault
from nacre.protocol import strict_json


@dataclass(frozen=True, slots=True)
class KeptCalls:
    """Writes and reads calls. `vault` is asked for when a caller's key is sealed or opened."""

    contents: Contents
    vault: Callable[[], Vault]

    def keep(self, call: TaskCall, task_id: str, *, until: int) -> tuple[Item, Item]:
        """Return the item of a call, and which attributes of it hold or name its contents."""
        place = call_of(call.being_id, task_id)
        item: Item = {"pk": place.pk, "sk": place.sk, EXPIRES_AT: until}
        if call.answers:
            item["answers"] = encoded_answers(call.answers)
        if call.kept:
            item["kept"] = strict_json.encode(call.kept)
        if call.llm_api_key:
            item["sealed"] = self.vault().seal(
                call.llm_api_key.encode(), context=_sealed_for(call.being_id, task_id)
            )
        name = blob_name(call.being_id, task_id, "call")
        kept = self.contents.keep(name, _encoded(call), until=until)
        return CALL.stamp(item | kept), kept

    def read(self, task: Task, item: Item) -> TaskCall:
        """Return the call; raises NotFoundError and BrokenSealError for one that is not whole."""
        being_id, task_id = task.being_id, task.task_id
        item = CALL.read(item)
        told = dict(json.loads(self.contents.read(item)))
        sealed = item.get("sealed")
        key = None
        if isinstance(sealed, bytes):
            key = self.vault().open(sealed, context=_sealed_for(being_id, task_id)).decode()
        return TaskCall(
            tool=told["tool"],
            arguments=told["arguments"],
            subject=task.subject,
            being_id=being_id,
            scopes=frozenset(told["scopes"]),
            client=told["client"],
            version=told["version"],
            client_info=told["client_info"],
            capabilities=told["capabilities"],
            answers=answers_in(item),
            llm_api_key=key,
            notes=_object(item, "notes"),
            kept=_object(item, "kept"),
        )


def answers_in(item: Item | None) -> dict[str, Any]:
    """Return what the client has answered so far."""
    return _object(item, "answers")


def encoded_answers(answers: Mapping[str, Any]) -> bytes:
    """Return answers as an item holds them; raises InvalidParamsError for too many words."""
    encoded = strict_json.encode(answers)
    if len(encoded) > TASK_ANSWER_BYTES:
        raise InvalidParamsError(
            f"the answers to one task take at most {TASK_ANSWER_BYTES} bytes; answer in fewer words"
        )
    return encoded


def blob_name(being_id: str, task_id: str, what: str) -> str:
    """Return the name of a blob for what is too large for an item of the task."""
    return f"{being_id}/tasks/{task_id}/{what}.json"


def _object(item: Item | None, name: str) -> dict[str, Any]:
    value = None if item is None else item.get(name)
    return dict(json.loads(value)) if isinstance(value, bytes) else {}


def _encoded(call: TaskCall) -> bytes:
    return strict_json.encode(
        {
            "tool": call.tool,
            "arguments": call.arguments,
            "scopes": sorted(call.scopes),
            "client": call.client,
            "version": call.version,
            "client_info": call.client_info,
            "capabilities": call.capabilities,
        }
    )


def _sealed_for(being_id: str, task_id: str) -> dict[str, str]:
    """Return what a caller's key is sealed for, so that it opens in no other task."""
    return {"purpose": "llm-key", "being": being_id, "task": task_id}
