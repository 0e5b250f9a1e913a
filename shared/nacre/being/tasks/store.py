"""Tasks in the item store: each change of state is one conditional write.

A task has two items while it works: its state, in which the lease of its worker stands too, and
the call that it makes. When it ends, the call goes, with the caller's key in it, and the result
takes its place. All of them die a day after the task was made.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

from nacre.being.tasks.contents import Contents
from nacre.being.tasks.stored_call import KeptCalls, answers_in, blob_name, encoded_answers
from nacre.being.tasks.task import (
    RESULT,
    TASK,
    Status,
    Task,
    TaskCall,
    call_of,
    head_of,
    read_task,
    result_of,
)
from nacre.core.clock import Clock
from nacre.core.errors import (
    ConditionFailedError,
    NotFoundError,
    UnavailableError,
)
from nacre.core.ids import new_uuid
from nacre.core.limits import TASK_KEPT_SECONDS
from nacre.jobs.lease import Lease
from nacre.ports.items.table import (
    EXPIRES_AT,
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

_UPDATES = 5  # tries against other clients that answer at the same moment


@dataclass(frozen=True, slots=True)
class TaskStore:
    """Keeps tasks. `vault` is asked for when a caller's key is sealed or opened."""

    table: Table
    contents: Contents
    vault: Callable[[], Vault]
    clock: Clock
    rng: Random

    @property
    def _calls(self) -> KeptCalls:
        return KeptCalls(self.contents, self.vault)

    # What callers do.

    def create(self, call: TaskCall, *, group: str) -> Task:
        """Keep a new task; raises NotFoundError when there is no such Being."""
        now, task_id, being_id = self.now(), new_uuid(self.rng), call.being_id
        until = now // 1000 + TASK_KEPT_SECONDS
        body, kept = self._calls.keep(call, task_id, until=until)
        place = head_of(being_id, task_id)
        head: Item = {
            "pk": place.pk,
            "sk": place.sk,
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
        if "blob" in kept:
            head["call_blob"] = kept["blob"]
        exists = Check(Key(f"B#{being_id}", "META"), Present())
        try:
            self.table.transact([Put(TASK.stamp(head)), Put(body), exists])
        except ConditionFailedError:
            self.contents.drop(kept)
            raise NotFoundError("there is no such Being") from None
        return read_task(TASK.stamp(head))

    def find(self, being_id: str, task_id: str) -> Task | None:
        """Return how a task stands; None for one that is not known, or not any more."""
        item = self.table.get(head_of(being_id, task_id))
        return None if item is None or "subject" not in item else read_task(item)

    def outcome(self, task: Task) -> dict[str, Any]:
        """Return the `result` or the `error` of a task that has ended with one."""
        item = self.table.get(result_of(task.being_id, task.task_id))
        if item is None:
            raise NotFoundError("the result of this task is not kept any more; call again")
        return dict(json.loads(self.contents.read(RESULT.read(item))))

    def answer(self, task: Task, given: Mapping[str, Any]) -> Task | None:
        """Take answers to what is asked; return the task when it can go on now."""
        for _ in range(_UPDATES):
            if task.status != "input_required":
                return None
            questions = task.questions
            fresh = {key: value for key, value in given.items() if key in questions}
            if not fresh:
                return None
            place = call_of(task.being_id, task.task_id)
            answers = encoded_answers({**answers_in(self.table.get(place)), **fresh})
            left = {key: asked for key, asked in questions.items() if key not in fresh}
            with suppress(ConditionFailedError):
                self.table.transact(
                    [
                        Update(
                            task.head,
                            self._still_asking(left) if left else self._going_on(),
                            Every((_is("input_required"), Compare("asked", "=", task.asked))),
                        ),
                        Update(place, Change(set={"answers": answers}), Present()),
                    ]
                )
                return None if left else self.find(task.being_id, task.task_id)
            found = self.find(task.being_id, task.task_id)
            if found is None:
                return None
            task = found
        raise UnavailableError("others answer this task at the same moment; answer again")

    def cancel(self, task: Task) -> None:
        """End the task without a result; nothing happens when it has ended."""
        open_still = Either((_is("working"), _is("input_required")))
        with suppress(ConditionFailedError):
            self._end(task, open_still, "cancelled", None, "cancelled by the client")

    def sent_again(self, task: Task) -> bool:
        """Note that a job is sent once more; False when something has happened meanwhile."""
        unchanged = Every((_is("working"), Compare("due_ms", "=", task.due_ms)))
        try:
            self.table.update(task.head, Change(set={"due_ms": self.now()}), when=unchanged)
        except ConditionFailedError:
            return False
        return True

    def given_up(self, task: Task, error: Mapping[str, Any]) -> None:
        """Let a task fail that no worker will take any more."""
        stuck = Every((_is("working"), Absent("due_ms"), Compare("tries", "=", task.tries)))
        with suppress(ConditionFailedError):
            self._end(task, stuck, "failed", {"error": dict(error)}, str(error["message"]))

    # What the worker does, under its lease.

    def begin(self, task: Task, lease: Lease, tries: int) -> TaskCall | None:
        """Note that an attempt begins, and return the call; None when the task is over."""
        change = Change(set={"tries": tries}, remove=frozenset({"due_ms"}))
        try:
            self.table.update(task.head, change, when=_mine(lease))
        except ConditionFailedError:
            # Where the task died at this moment, taking its lease has made an item of its own.
            with suppress(ConditionFailedError):
                self.table.delete(task.head, when=Absent("subject"))
            return None
        item = self.table.get(call_of(task.being_id, task.task_id))
        return None if item is None else self._calls.read(task, item)

    def told(self, task: Task, lease: Lease, message: str | None) -> bool:
        """Keep how far the task is, if it is new; False when the task is not ours any more."""
        if message is None:
            item = self.table.get(task.head)
            return item is not None and (item.get("status"), item.get("fence")) == (
                "working",
                lease.fence,
            )
        change = Change(set={"message": message, "updated_ms": self.now()})
        try:
            self.table.update(task.head, change, when=_mine(lease))
        except ConditionFailedError:
            return False
        return True

    def note(self, task: Task, lease: Lease, notes: bytes) -> None:
        """Keep notes for later attempts; raises ConditionFailedError when it is not ours."""
        place = call_of(task.being_id, task.task_id)
        self.table.transact(
            [Update(place, Change(set={"notes": notes}), Present()), Check(task.head, _mine(lease))]
        )

    def park(self, task: Task, lease: Lease, questions: bytes, kept: bytes) -> bool:
        """Wait for the client's answers; False when the task is not ours any more."""
        place = call_of(task.being_id, task.task_id)
        change = Change(
            set={"status": "input_required", "asked": questions, "updated_ms": self.now()},
            remove=frozenset({"message"}),
        )
        try:
            self.table.transact(
                [
                    Update(task.head, change, _mine(lease)),
                    Update(place, Change(set={"kept": kept}), Present()),
                ]
            )
        except ConditionFailedError:
            return False
        return True

    def go_on(self, task: Task, lease: Lease) -> Task | None:
        """Make ready for another attempt; None when the task is not ours any more."""
        change = Change(set={"due_ms": self.now()}, add={"round": 1})
        try:
            return read_task(self.table.update(task.head, change, when=_mine(lease)))
        except ConditionFailedError:
            return None

    def finish(
        self,
        task: Task,
        lease: Lease,
        status: Status,
        outcome: Mapping[str, Any],
        message: str | None,
    ) -> bool:
        """End the task with its result or its error; False when it is not ours any more."""
        try:
            self._end(task, _mine(lease), status, outcome, message, attempt=lease.fence)
        except ConditionFailedError:
            return False
        return True

    def now(self) -> int:
        """Return the moment, in milliseconds."""
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
    ) -> None:
        being_id, task_id = task.being_id, task.task_id
        change: Item = {"status": status, "updated_ms": self.now(), "message": message}
        writes: list[Update | Put | Delete] = []
        kept: Item = {}
        if outcome is not None:
            until = task.created_ms // 1000 + TASK_KEPT_SECONDS
            data = strict_json.encode(outcome)
            # Of its own for each attempt: one that lost its lease must not write over the other's.
            name = blob_name(being_id, task_id, f"result-{attempt}")
            kept = self.contents.keep(name, data, until=until)
            place = result_of(being_id, task_id)
            body: Item = {"pk": place.pk, "sk": place.sk, EXPIRES_AT: until, **kept}
            writes.append(Put(RESULT.stamp(body)))
        ended = Change(set=change, remove=frozenset({"asked", "due_ms"}))
        writes += [Update(task.head, ended, when), Delete(call_of(being_id, task_id))]
        try:
            self.table.transact(writes)
        except ConditionFailedError:
            self.contents.drop(kept)
            raise
        self.contents.drop({"blob": task.call_blob})

    def _still_asking(self, left: Mapping[str, Any]) -> Change:
        return Change(set={"asked": strict_json.encode(left), "updated_ms": self.now()})

    def _going_on(self) -> Change:
        now = self.now()
        said: Item = {"status": "working", "due_ms": now, "updated_ms": now}
        return Change(set=said, add={"round": 1}, remove=frozenset({"asked"}))


def _is(status: Status) -> Compare:
    return Compare("status", "=", status)


def _mine(lease: Lease) -> Every:
    return Every((_is("working"), Compare("fence", "=", lease.fence)))
