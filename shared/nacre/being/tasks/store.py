"""The stored tasks: each change of state is one conditional write.

A running task has two items: its state, which also has the lease of its worker, and its call.
When the task ends, the call is deleted with the caller's key in it, and the result is written.
All items expire a day after the task was created.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from random import Random
from typing import Any

from nacre.being.tasks.stored_call import (
    StoredCalls,
    TaskContents,
    answers_in,
    blob_name,
    encoded_answers,
)
from nacre.being.tasks.task import (
    RESULT,
    TASK,
    Status,
    Task,
    TaskCall,
    call_key,
    head_key,
    read_task,
    result_key,
)
from nacre.core.clock import Clock
from nacre.core.errors import (
    ConditionFailedError,
    LeaseLostError,
    NotFoundError,
    UnavailableError,
)
from nacre.core.ids import new_uuid
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import TASK_KEPT_SECONDS
from nacre.jobs.lease import Lease
from nacre.ports.items.table import (
    EXPIRES_AT,
    SCHEMA,
    Absent,
    Change,
    Check,
    Compare,
    Condition,
    Delete,
    Either,
    Every,
    Item,
    Key,
    Present,
    Put,
    Table,
    Update,
)
from nacre.ports.vault import Vault
from nacre.protocol import strict_json

_UPDATES = 5  # attempts while other clients answer at the same time


@dataclass(frozen=True, slots=True)
class TaskStore:
    """The tasks of all Beings; `vault` is called only when a key is sealed or opened."""

    table: Table
    contents: TaskContents
    vault: Callable[[], Vault]
    clock: Clock
    rng: Random

    @property
    def _calls(self) -> StoredCalls:
        return StoredCalls(self.contents, self.vault)

    # For clients.

    def create(self, call: TaskCall, *, group: str) -> Task:
        """Store a new task; raises NotFoundError if there is no such Being."""
        now, task_id, being_id = self.now(), new_uuid(self.rng), call.being_id
        until = now // 1000 + TASK_KEPT_SECONDS
        body, attributes = self._calls.store(call, task_id, until=until)
        head: Item = {
            **head_key(being_id, task_id).attributes(),
            EXPIRES_AT: until,
            "subject": call.subject,
            "tool": call.tool,
            "status": "working",
            "created_ms": now,
            "updated_ms": now,
            "due_ms": now,
            "round": 0,
            "group": group,
        }
        head[SCHEMA] = TASK.version if call.profile else 1
        if call.profile:
            head["profile"] = call.profile
        if "blob" in attributes:
            head["call_blob"] = attributes["blob"]
        exists = Check(Key(f"B#{being_id}", "META"), Present())
        try:
            self.table.transact([Put(head), Put(body), exists])
        except ConditionFailedError:
            self.contents.drop(attributes)
            raise NotFoundError("there is no such Being") from None
        return read_task(head)

    def find(self, being_id: str, task_id: str) -> Task | None:
        """Return a task; None if it is unknown or has expired."""
        item = self.table.get(head_key(being_id, task_id))
        return None if item is None or "subject" not in item else read_task(item)

    def outcome(self, task: Task) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return the `result` or the `error` of a task that has ended, and the origins in it."""
        item = self.table.get(result_key(task.being_id, task.task_id))
        if item is None:
            raise NotFoundError("the result of this task is no longer stored; call again")
        item = RESULT.read(item)
        origins = str(item.get("origins", "")).splitlines()
        return dict(json.loads(self.contents.read(item))), tuple(origins)

    def answer(self, task: Task, answers: Mapping[str, Any]) -> Task | None:
        """Store answers to the open questions; return the task if a job has to continue it."""
        being_id = task.being_id
        for _ in range(_UPDATES):
            if task.status != "input_required":
                return None
            questions = task.questions
            new_answers = {key: value for key, value in answers.items() if key in questions}
            if not new_answers:
                return None
            place = call_key(being_id, task.task_id)
            encoded = encoded_answers({**answers_in(self.table.get(place)), **new_answers})
            unanswered = {key: value for key, value in questions.items() if key not in new_answers}
            is_awaited = task.waiting is not None
            with suppress(ConditionFailedError):
                self.table.transact(
                    [
                        Update(
                            task.head,
                            self._still_asking(unanswered)
                            if unanswered
                            else self._resuming(is_awaited=is_awaited),
                            Every(
                                (
                                    _has_status("input_required"),
                                    Compare("asked", "=", task.encoded_questions),
                                )
                            ),
                        ),
                        Update(place, Change(set={"answers": encoded}), Present()),
                    ]
                )
                return None if unanswered or is_awaited else self.find(being_id, task.task_id)
            current = self.find(being_id, task.task_id)
            if current is None:
                return None
            task = current
        raise UnavailableError(
            "other clients are answering this task at the same time; answer again"
        )

    def cancel(self, task: Task) -> None:
        """End the task without a result, unless it has ended already."""
        is_open = Either((_has_status("working"), _has_status("input_required")))
        with suppress(ConditionFailedError):
            self._end(task, is_open, "cancelled", None, "cancelled by the client")

    def mark_sent(self, task: Task) -> bool:
        """Record that the job was sent again; return False if the task has changed meanwhile."""
        unchanged = Every((_has_status("working"), Compare("due_ms", "=", task.due_ms)))
        change = Change(set={"due_ms": self.now()})
        return _succeeds(lambda: self.table.update(task.head, change, when=unchanged))

    def fail_stuck(self, task: Task, error: Mapping[str, Any]) -> None:
        """End a task with an error, if no worker will take it again."""
        stuck = Every((_has_status("working"), Absent("due_ms"), Compare("tries", "=", task.tries)))
        if task.waiting is not None:
            stuck = Every(
                (_has_status("input_required"), Compare("waiting", "=", task.waiting)),
            )
        with suppress(ConditionFailedError):
            self._end(task, stuck, "failed", {"error": dict(error)}, str(error["message"]))

    # For the worker, under its lease.

    def begin(self, task: Task, lease: Lease, tries: int) -> TaskCall | None:
        """Record a new attempt and return the call; None if the task has ended."""
        change = Change(set={"tries": tries}, remove=frozenset({"due_ms"}))
        try:
            self.table.update(task.head, change, when=_is_held_by(lease))
        except ConditionFailedError:
            # If the task expired at this moment, taking its lease has created a new item.
            with suppress(ConditionFailedError):
                self.table.delete(task.head, when=Absent("subject"))
            return None
        item = self.table.get(call_key(task.being_id, task.task_id))
        return None if item is None else self._calls.read(task, item)

    def store_progress(self, task: Task, lease: Lease, message: str | None) -> bool:
        """Store new progress; return False if this worker does not hold the task any more."""
        if message is None:
            item = self.table.get(task.head)
            return item is not None and _holds(item, lease)
        change = Change(set={"message": message, "updated_ms": self.now()})
        return _succeeds(lambda: self.table.update(task.head, change, when=_is_held_by(lease)))

    def note(self, task: Task, lease: Lease, notes: bytes) -> None:
        """Store notes for later attempts; raises ConditionFailedError without the lease."""
        place = call_key(task.being_id, task.task_id)
        self.table.transact(
            [
                Update(place, Change(set={"notes": notes}), Present()),
                Check(task.head, _is_held_by(lease)),
            ]
        )

    def park(self, task: Task, lease: Lease, questions: bytes, handler_state: bytes) -> bool:
        """Wait for the client's answers; return False without the lease."""
        place = call_key(task.being_id, task.task_id)
        change = Change(
            set={"status": "input_required", "asked": questions, "updated_ms": self.now()},
            remove=frozenset({"message"}),
        )
        writes = [
            Update(task.head, change, _is_held_by(lease)),
            Update(place, Change(set={"kept": handler_state}), Present()),
        ]
        return _succeeds(lambda: self.table.transact(writes))

    def ask(self, task: Task, lease: Lease, questions: bytes) -> bool:
        """Ask the client while the attempt goes on; return False without the lease."""
        change = Change(
            set={
                "status": "input_required",
                "asked": questions,
                "waiting": lease.fence,
                "updated_ms": self.now(),
            }
        )
        return _succeeds(lambda: self.table.update(task.head, change, when=_is_held_by(lease)))

    def awaited(self, task: Task, lease: Lease) -> dict[str, Any] | None:
        """Return the client's answers so far, None while the questions of `ask` are open.

        Raises LeaseLostError once the task has ended or another worker has it.
        """
        item = self.table.get(task.head)
        if item is None or not _holds(item, lease):
            raise LeaseLostError("the task has ended, or another worker has it")
        if item.get("status") != "working":
            return None
        return answers_in(self.table.get(call_key(task.being_id, task.task_id)))

    def go_on(self, task: Task, lease: Lease) -> Task | None:
        """Make the task ready for another attempt and return it; None without the lease."""
        change = Change(set={"due_ms": self.now()}, add={"round": 1})
        try:
            return read_task(self.table.update(task.head, change, when=_is_held_by(lease)))
        except ConditionFailedError:
            return None

    def finish(
        self,
        task: Task,
        lease: Lease,
        status: Status,
        outcome: Mapping[str, Any],
        message: str | None,
        origins: Iterable[str] = (),
    ) -> bool:
        """End the task with its result or its error; return False without the lease.

        `origins` are those of the external content that may be in it.
        """
        return _succeeds(
            lambda: self._end(
                task,
                _is_held_by(lease),
                status,
                outcome,
                message,
                attempt=lease.fence,
                origins=origins,
            )
        )

    def now(self) -> int:
        """Return the current time in milliseconds."""
        return int(self.clock().timestamp() * 1000)

    def _end(
        self,
        task: Task,
        when: Condition,
        status: Status,
        outcome: Mapping[str, Any] | None,
        message: str | None,
        *,
        attempt: int = 0,
        origins: Iterable[str] = (),
    ) -> None:
        being_id, task_id = task.being_id, task.task_id
        change: Item = {"status": status, "updated_ms": self.now(), "message": message}
        writes: list[Update | Put | Delete] = []
        attributes: Item = {}
        if outcome is not None:
            until = task.created_ms // 1000 + TASK_KEPT_SECONDS
            data = strict_json.encode(outcome)
            # One name per attempt: one that lost its lease must not overwrite another's blob.
            name = blob_name(being_id, task_id, f"result-{attempt}")
            attributes = self.contents.store(name, data, until=until)
            body: Item = {
                **result_key(being_id, task_id).attributes(),
                EXPIRES_AT: until,
                **attributes,
            }
            if lines := "\n".join(origins):
                body["origins"] = lines
            writes.append(Put(RESULT.stamp(body)))
        ended = Change(set=change, remove=frozenset({"asked", "due_ms", "waiting"}))
        writes += [Update(task.head, ended, when), Delete(call_key(being_id, task_id))]
        try:
            self.table.transact(writes)
        except ConditionFailedError:
            self.contents.drop(attributes)
            raise
        self.contents.drop({"blob": task.call_blob})

    def _still_asking(self, questions: Mapping[str, Any]) -> Change:
        return Change(set={"asked": strict_json.encode(questions), "updated_ms": self.now()})

    def _resuming(self, *, is_awaited: bool) -> Change:
        now = self.now()
        state: Item = {"status": "working", "updated_ms": now}
        if is_awaited:
            return Change(set=state, remove=frozenset({"asked", "waiting"}))
        return Change(set={**state, "due_ms": now}, add={"round": 1}, remove=frozenset({"asked"}))


def _succeeds(write: Callable[[], object]) -> bool:
    try:
        write()
    except ConditionFailedError:
        return False
    return True


def _has_status(status: Status) -> Compare:
    return Compare("status", "=", status)


def _is_held_by(lease: Lease) -> Every:
    """The condition for which `_holds` is true."""
    waits = Every((_has_status("input_required"), Compare("waiting", "=", lease.fence)))
    return Every((Either((_has_status("working"), waits)), Compare("fence", "=", lease.fence)))


def _holds(item: Item, lease: Lease) -> bool:
    """Tell whether the worker with this lease has the task, and it has not ended."""
    is_waiting = item.get("status") == "input_required" and item.get("waiting") == lease.fence
    return (item.get("status") == "working" or is_waiting) and item.get("fence") == lease.fence
