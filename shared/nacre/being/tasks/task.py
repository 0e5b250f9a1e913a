"""A task: its stored state, and the call that it makes."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, cast

from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import TASK_KEPT_SECONDS, TASK_POLL_MS
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Item, Key
from nacre.ports.untrusted_results import Holder

Status = Literal["working", "input_required", "completed", "failed", "cancelled"]

# The lease in the same item has its own schema version, which is 1 too. Before either gets a second
# version, the lease needs another item.
# Version 2 has a profile, which a worker that reads version 1 would not notice.
TASK = ItemSchema("task", 2, {1: lambda item: item})
CALL = ItemSchema("task call", 1)
RESULT = ItemSchema("task result", 1)


def partition(being_id: str) -> str:
    """Return the partition of a Being's tasks."""
    return f"B#{being_id}#TASKS"


def head_key(being_id: str, task_id: str) -> Key:
    """Return the key of a task's state; the lease of its worker is in the same item."""
    return Key(partition(being_id), f"TASK#{task_id}")


def call_key(being_id: str, task_id: str) -> Key:
    """Return the key of the task's call, which is stored until the task ends."""
    return Key(partition(being_id), f"CALL#{task_id}")


def result_key(being_id: str, task_id: str) -> Key:
    """Return the key of the task's result or error."""
    return Key(partition(being_id), f"RESULT#{task_id}")


@dataclass(frozen=True, slots=True)
class Task:
    """The state of one task."""

    being_id: str
    task_id: str
    subject: str  # of the principal that created it, the only one that may see it
    tool: str
    status: Status
    created_ms: int
    updated_ms: int
    message: str | None
    group: str
    round: int  # how many jobs were sent for it
    due_ms: int | None  # when the job was sent, if no worker has taken it yet
    tries: int  # deliveries of the latest job
    encoded_questions: bytes | None = field(default=None, repr=False)
    call_blob: str | None = None  # the blob of a call that is too large for an item
    profile: str = ""  # of the principal; it does not see the task from another one
    # The lease of an attempt that goes on while its questions are open, and waits for the answers.
    waiting: int | None = None

    @property
    def head(self) -> Key:
        """The key of the task's state."""
        return head_key(self.being_id, self.task_id)

    @property
    def holder(self) -> Holder:
        """Whoever receives its result."""
        return Holder(self.being_id, self.subject)

    @property
    def questions(self) -> dict[str, Any]:
        """The questions that the client has not answered yet."""
        if self.encoded_questions is None:
            return {}
        return dict(json.loads(self.encoded_questions))

    def to_wire(self) -> dict[str, Any]:
        """Return the fields that every answer about the task has."""
        wire: dict[str, Any] = {
            "taskId": self.task_id,
            "status": self.status,
            "createdAt": _moment(self.created_ms),
            "lastUpdatedAt": _moment(self.updated_ms),
            "ttlMs": TASK_KEPT_SECONDS * 1000,
            "pollIntervalMs": TASK_POLL_MS,
        }
        if self.message is not None:
            wire["statusMessage"] = self.message
        return wire


@dataclass(frozen=True, slots=True)
class TaskCall:
    """The call that a task makes, with all that its handler gets."""

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
    handler_state: Mapping[str, Any] = field(default_factory=dict, repr=False)
    trace: Mapping[str, str] = field(default_factory=dict, repr=False)
    profile: str = ""


def read_task(item: Item) -> Task:
    """Return the task in an item."""
    item = TASK.read(item)
    being_id = str(item["pk"]).split("#")[1]
    message, questions, blob = item.get("message"), item.get("asked"), item.get("call_blob")
    return Task(
        being_id=being_id,
        task_id=str(item["sk"]).partition("#")[2],
        subject=str(item["subject"]),
        tool=str(item["tool"]),
        status=cast("Status", item["status"]),
        created_ms=_int(item["created_ms"]),
        updated_ms=_int(item["updated_ms"]),
        message=message if isinstance(message, str) else None,
        group=str(item["group"]),
        round=_int(item["round"]),
        due_ms=_int(item["due_ms"]) if "due_ms" in item else None,
        tries=_int(item.get("tries", 0)),
        encoded_questions=questions if isinstance(questions, bytes) else None,
        call_blob=blob if isinstance(blob, str) else None,
        profile=str(item.get("profile", "")),
        # An older version takes an answer and leaves it.
        waiting=_int(item["waiting"])
        if "waiting" in item and item["status"] == "input_required"
        else None,
    )


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value


def _moment(milliseconds: int) -> str:
    at = datetime.fromtimestamp(milliseconds // 1000, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"
