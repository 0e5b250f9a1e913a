"""A task: what its item says, and what its caller is told."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, cast

from nacre.core.limits import TASK_KEPT_SECONDS, TASK_POLL_MS
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Item, Key

Status = Literal["working", "input_required", "completed", "failed", "cancelled"]

# The lease in the same item writes its own version, which is 1 as well: a second version of
# either needs a place of its own for the lease.
TASK = ItemSchema("task", 1)
CALL = ItemSchema("task call", 1)
RESULT = ItemSchema("task result", 1)


def partition(being_id: str) -> str:
    """Return the partition of a Being's tasks."""
    return f"B#{being_id}#TASKS"


def head_of(being_id: str, task_id: str) -> Key:
    """Return where a task's state is; the lease of its worker is in the same item."""
    return Key(partition(being_id), f"TASK#{task_id}")


def call_of(being_id: str, task_id: str) -> Key:
    """Return where the call is that the task makes, as long as it is not over."""
    return Key(partition(being_id), f"CALL#{task_id}")


def result_of(being_id: str, task_id: str) -> Key:
    """Return where the task's result or error is."""
    return Key(partition(being_id), f"RESULT#{task_id}")


@dataclass(frozen=True, slots=True)
class Task:
    """How a task stands."""

    being_id: str
    task_id: str
    subject: str  # of the principal that made it, the only one that sees it
    tool: str
    status: Status
    created_ms: int
    updated_ms: int
    message: str | None
    group: str
    round: int  # how often a job was sent for it
    due_ms: int | None  # when the job was sent that no worker has taken yet
    tries: int  # deliveries of the job that was taken last
    asked: bytes | None = field(default=None, repr=False)
    call_blob: str | None = None  # where the call is, when it is too large for an item

    @property
    def head(self) -> Key:
        """Where the task's state is."""
        return head_of(self.being_id, self.task_id)

    @property
    def questions(self) -> dict[str, Any]:
        """What the client has not answered yet."""
        return {} if self.asked is None else dict(json.loads(self.asked))

    def shown(self) -> dict[str, Any]:
        """Return what every answer says of the task."""
        shown: dict[str, Any] = {
            "taskId": self.task_id,
            "status": self.status,
            "createdAt": _moment(self.created_ms),
            "lastUpdatedAt": _moment(self.updated_ms),
            "ttlMs": TASK_KEPT_SECONDS * 1000,
            "pollIntervalMs": TASK_POLL_MS,
        }
        if self.message is not None:
            shown["statusMessage"] = self.message
        return shown


@dataclass(frozen=True, slots=True)
class TaskCall:
    """The call that a task makes: all that its handler is given."""

    tool: str
    arguments: Mapping[str, Any] = field(repr=False)
    subject: str
    being_id: str
    scopes: frozenset[str]
    client: str | None
    version: str
    client_info: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    answers: Mapping[str, Any] = field(default_factory=dict, repr=False)
    llm_api_key: str | None = field(default=None, repr=False)
    notes: Mapping[str, Any] = field(default_factory=dict, repr=False)
    kept: Mapping[str, Any] = field(default_factory=dict, repr=False)


def read_task(item: Item) -> Task:
    """Return the task in its item."""
    item = TASK.read(item)
    being_id = str(item["pk"]).split("#")[1]
    message, asked, blob = item.get("message"), item.get("asked"), item.get("call_blob")
    return Task(
        being_id=being_id,
        task_id=str(item["sk"]).partition("#")[2],
        subject=str(item["subject"]),
        tool=str(item["tool"]),
        status=cast("Status", item["status"]),
        created_ms=_whole(item["created_ms"]),
        updated_ms=_whole(item["updated_ms"]),
        message=message if isinstance(message, str) else None,
        group=str(item["group"]),
        round=_whole(item["round"]),
        due_ms=_whole(item["due_ms"]) if "due_ms" in item else None,
        tries=_whole(item.get("tries", 0)),
        asked=asked if isinstance(asked, bytes) else None,
        call_blob=blob if isinstance(blob, str) else None,
    )


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return value


def _moment(milliseconds: int) -> str:
    at = datetime.fromtimestamp(milliseconds // 1000, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"
