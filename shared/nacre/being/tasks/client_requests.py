"""The requests of clients about tasks, and the queue through which a task reaches its worker."""

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

from nacre.being.tasks.store import TaskStore
from nacre.being.tasks.task import Task, TaskCall
from nacre.core.errors import InvalidInputError, NacreError, NotFoundError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import MAX_RECEIVES, MAX_TASK_GROUP, TASK_RESEND_SECONDS
from nacre.core.origins import origins_in
from nacre.jobs.job import Job, encode_job
from nacre.jobs.lease import Leases
from nacre.ports.queue import Queue
from nacre.ports.untrusted_results import UntrustedResults
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal

KIND = "task"
_GROUP = re.compile(rf"[A-Za-z0-9#_-]{{1,{MAX_TASK_GROUP}}}")
NOBODY_WAITS = {
    "code": -32603,
    "message": "The work stopped while it waited for the answer; it may have been carried out",
}
_NEVER_ENDS = {
    "code": -32603,
    "message": f"The work was begun {MAX_RECEIVES} times and never came to its end",
}


def checked_group(group: str | None) -> str:
    """Return the group, or "" for none; raises InvalidInputError if it is malformed."""
    if group is None:
        return ""
    if _GROUP.fullmatch(group) is None:
        raise InvalidInputError(
            f"the group of a task is 1 to {MAX_TASK_GROUP} letters, digits, '#', '_' and '-'"
        )
    return group


@dataclass(frozen=True, slots=True)
class TaskQueue:
    """The jobs of tasks; `queue` is called for the first one."""

    queue: Callable[[], Queue]

    def send(self, task: Task, *, again: int | None = None) -> None:
        """Send the job of the task's current round; `again` makes a repeated job a new one."""
        refs = {"task": task.task_id, "round": str(task.round)}
        name = f"{task.task_id}-{task.round}"
        if again is not None:
            refs["again"], name = str(again), f"{name}-{again}"
        group = f"{task.being_id}#{task.group or f'task#{task.task_id}'}"
        self.queue().send(encode_job(Job(KIND, task.being_id, refs)), group=group, dedupe_key=name)


@dataclass(frozen=True, slots=True)
class TaskRequests:
    """The task methods of the wire: create, get, update and cancel."""

    store: TaskStore
    queue: TaskQueue
    leases: Callable[[], Leases]
    received: Callable[[], UntrustedResults]

    def create(
        self, tool: str, arguments: Mapping[str, Any], context: Context, group: str | None
    ) -> dict[str, Any]:
        """Create a task for a call; return the result that names the task."""
        principal = context.principal
        assert principal is not None  # tasks are offered to authenticated callers only
        call = TaskCall(
            tool=tool,
            arguments=arguments,
            subject=principal.subject,
            being_id=principal.being_id,
            scopes=principal.scopes,
            client=principal.client,
            version=context.version,
            client_info=context.client_info,
            capabilities=context.capabilities,
            answers=context.answers,
            llm_api_key=context.llm_api_key,
            trace=context.trace,
            handler_state=context.handler_state,
            profile=principal.profile,
        )
        task = self.store.create(call, group=checked_group(group))
        try:
            self.queue.send(task)
        except NacreError:
            self.store.cancel(task)  # the client never learns its id, so the call goes at once
            raise
        return {"resultType": "task", **task.to_wire()}

    def get(self, task_id: str, principal: Principal) -> dict[str, Any]:
        """Return the state of a task, with its result, its error or its questions."""
        task = self._own_task(task_id, principal)
        if task.status == "working" or task.waiting is not None:
            task = self._repaired(task)
        wire = task.to_wire()
        if task.status == "input_required":
            wire["inputRequests"] = task.questions
        elif task.status in ("completed", "failed"):
            outcome, origins = self.store.outcome(task)
            self._note(origins, task)
            wire |= outcome
        return wire

    def update(self, task_id: str, principal: Principal, answers: Mapping[str, Any]) -> None:
        """Store answers to the task's questions; other answers are ignored."""
        ready = self.store.answer(self._own_task(task_id, principal), answers)
        if ready is not None:
            # If this fails, `get` sends the job again after a while.
            self.queue.send(ready)

    def cancel(self, task_id: str, principal: Principal) -> None:
        """Cancel the task; a task that has ended stays as it is."""
        self.store.cancel(self._own_task(task_id, principal))

    def _note(self, origins: Collection[str], task: Task) -> None:
        """Note that the client receives content of these origins now; raises UnavailableError.

        It was noted when the work received it, but a client may come for it much later.
        """
        if origins:
            ledger, now = self.received(), self.store.clock()
            for origin in origins_in(origins):
                ledger.note(task.holder, origin, now)

    def _own_task(self, task_id: str, principal: Principal) -> Task:
        task = self.store.find(principal.being_id, task_id) if _is_id(task_id) else None
        # The error is the same for other callers' tasks and for unknown ones.
        owner = None if task is None else (task.subject, task.profile)
        if task is None or owner != (principal.subject, principal.profile):
            raise NotFoundError("Task not found: it does not exist, or its time is over")
        return task

    def _repaired(self, task: Task) -> Task:
        """Send a job again that may be lost, and end a task that no worker will take again."""
        if task.due_ms is not None:
            if self.store.now() - task.due_ms > TASK_RESEND_SECONDS * 1000:
                with suppress(NacreError):
                    if self.store.mark_sent(task):
                        self.queue.send(task, again=self.store.now())
            return task
        is_over = task.tries >= MAX_RECEIVES or task.waiting is not None
        if not is_over or self.leases().is_held(task.head):
            return task
        self.store.fail_stuck(task, _NEVER_ENDS if task.waiting is None else NOBODY_WAITS)
        return self.store.find(task.being_id, task.task_id) or task


def _is_id(task_id: str) -> bool:
    return len(task_id) == 36 and task_id.isascii() and task_id.replace("-", "").isalnum()
