"""The call of a task in its item: all that its handler gets, with the caller's key sealed."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from nacre.being.tasks.task import CALL, Task, TaskCall, call_key
from nacre.core.errors import InvalidParamsError, NotFoundError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import TASK_ANSWER_BYTES, TASK_INLINE_BYTES
from nacre.ports.blobs import Blobs
from nacre.ports.items.table import EXPIRES_AT, Item
from nacre.ports.vault import Vault
from nacre.protocol import strict_json

_BLOB = "blob"


@dataclass(frozen=True, slots=True)
class TaskContents:
    """The calls and results of tasks: small ones in items, large ones in blobs.

    `blobs` is called for the first large content.
    """

    blobs: Callable[[], Blobs]

    def store(self, name: str, data: bytes, *, until: int) -> Item:
        """Return attributes for an item: the data, or the name of the blob that has them."""
        if len(data) <= TASK_INLINE_BYTES:
            return {"data": data}
        self.blobs().put(name, data, until=datetime.fromtimestamp(until, UTC))
        return {_BLOB: name}

    def read(self, item: Item) -> bytes:
        """Return the data of an item; raises NotFoundError if its blob is gone."""
        data = item.get("data")
        if not isinstance(data, bytes):
            data = self.blobs().get(str(item[_BLOB]))
        if data is None:
            raise NotFoundError("the content of this task is no longer stored; call again")
        return data

    def drop(self, attributes: Item) -> None:
        """Delete the blob that these attributes name, if they name one."""
        name = attributes.get(_BLOB)
        if isinstance(name, str):
            self.blobs().delete(name)


@dataclass(frozen=True, slots=True)
class StoredCalls:
    """Writes and reads calls; `vault` is called only when a key is sealed or opened."""

    contents: TaskContents
    vault: Callable[[], Vault]

    def store(self, call: TaskCall, task_id: str, *, until: int) -> tuple[Item, Item]:
        """Return the item of a call, and those of its attributes that have or name its content."""
        item: Item = {**call_key(call.being_id, task_id).attributes(), EXPIRES_AT: until}
        if call.answers:
            item["answers"] = encoded_answers(call.answers)
        if call.handler_state:
            item["kept"] = strict_json.encode(call.handler_state)
        if call.llm_api_key:
            item["sealed"] = self.vault().seal(
                call.llm_api_key.encode(), context=_seal_context(call.being_id, task_id)
            )
        name = blob_name(call.being_id, task_id, "call")
        attributes = self.contents.store(name, _encoded(call), until=until)
        return CALL.stamp(item | attributes), attributes

    def read(self, task: Task, item: Item) -> TaskCall:
        """Return the call; raises NotFoundError or BrokenSealError if a part cannot be read."""
        being_id, task_id = task.being_id, task.task_id
        item = CALL.read(item)
        fields = dict(json.loads(self.contents.read(item)))
        sealed = item.get("sealed")
        key = None
        if isinstance(sealed, bytes):
            key = self.vault().open(sealed, context=_seal_context(being_id, task_id)).decode()
        return TaskCall(
            tool=fields["tool"],
            arguments=fields["arguments"],
            subject=task.subject,
            being_id=being_id,
            scopes=frozenset(fields["scopes"]),
            client=fields["client"],
            version=fields["version"],
            client_info=fields["client_info"],
            capabilities=fields["capabilities"],
            trace=fields.get("trace", {}),
            profile=task.profile,
            answers=answers_in(item),
            llm_api_key=key,
            notes=_object(item, "notes"),
            handler_state=_object(item, "kept"),
        )


def answers_in(item: Item | None) -> dict[str, Any]:
    """Return the client's answers so far."""
    return _object(item, "answers")


def encoded_answers(answers: Mapping[str, Any]) -> bytes:
    """Return answers as JSON for an item; raises InvalidParamsError if they are too long."""
    encoded = strict_json.encode(answers)
    if len(encoded) > TASK_ANSWER_BYTES:
        raise InvalidParamsError(
            f"the answers to one task take at most {TASK_ANSWER_BYTES} bytes; answer in fewer words"
        )
    return encoded


def blob_name(being_id: str, task_id: str, content: str) -> str:
    """Return the name of the blob for a content that is too large for an item."""
    return f"{being_id}/tasks/{task_id}/{content}.json"


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
            **({"trace": call.trace} if call.trace else {}),
        }
    )


def _seal_context(being_id: str, task_id: str) -> dict[str, str]:
    """Return the context that a caller's key is sealed with, so that it opens in no other task."""
    return {"purpose": "llm-key", "being": being_id, "task": task_id}
