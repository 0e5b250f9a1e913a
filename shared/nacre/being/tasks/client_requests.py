"""What callers do with tasks: make one, look at it, answer it, give it up."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from nacre.being.tasks.store import TaskStore
from nacre.being.tasks.task import Task, TaskCall
from nacre.being.tasks.task_queue import TaskSending, checked_group
from nacre.core.errors import NacreError, NotFoundError
from nacre.core.limits import MAX_RECEIVES, TASK_RESEND_SECONDS
from nacre.jobs.lease import Leases
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal

_STUCK = {
    "code": -32603,
    "message": f"The work was begun {MAX_RECEIVES} times and never came to its end",
}


@dataclass(frozen=True, slots=True)
class TaskDesk:
    """The Tasks of the wire."""

    store: TaskStore
    sending: TaskSending
    leases: Callable[[], Leases]

    def create(
        self, tool: str, arguments: Mapping[str, Any], context: Context, group: str | None
    ) -> dict[str, Any]:
        """Have a call made by the worker; return the result that names the task."""
        principal = context.principal
        assert principal is not None  # nobody else is offered a task
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
            kept=context.kept,
        )
        task = self.store.create(call, group=checked_group(group))
        try:
            self.sending.send(task)
        except NacreError:
            self.store.cancel(task)  # nobody hears of it, so what it was given goes at once
            raise
        return {"resultType": "task", **task.shown()}

    def get(self, task_id: str, principal: Principal) -> dict[str, Any]:
        """Return how the task stands, with its result, its error or its questions."""
        task = self._found(task_id, principal)
        if task.status == "working":
            task = self._looked_after(task)
        shown = task.shown()
        if task.status == "input_required":
            shown["inputRequests"] = task.questions
        elif task.status in ("completed", "failed"):
            shown |= self.store.outcome(task)
        return shown

    def update(self, task_id: str, principal: Principal, answers: Mapping[str, Any]) -> None:
        """Take answers to the task's questions; others are ignored."""
        going_on = self.store.answer(self._found(task_id, principal), answers)
        if going_on is not None:
            # Should this fail, looking at the task sends it again after a while.
            self.sending.send(going_on)

    def cancel(self, task_id: str, principal: Principal) -> None:
        """Give the task up; one that has ended stays as it is."""
        self.store.cancel(self._found(task_id, principal))

    def _found(self, task_id: str, principal: Principal) -> Task:
        task = self.store.find(principal.being_id, task_id) if _is_id(task_id) else None
        # Another's task is not told apart from none.
        if task is None or task.subject != principal.subject:
            raise NotFoundError("Task not found: it does not exist, or its time is over")
        return task

    def _looked_after(self, task: Task) -> Task:
        """Send a job again that may be lost, and end what no worker takes any more."""
        if task.due_ms is not None:
            if self.store.now() - task.due_ms > TASK_RESEND_SECONDS * 1000:
                with suppress(NacreError):
                    if self.store.sent_again(task):
                        self.sending.send(task, again=self.store.now())
            return task
        if task.tries < MAX_RECEIVES or self.leases().is_held(task.head):
            return task
        self.store.given_up(task, _STUCK)
        return self.store.find(task.being_id, task.task_id) or task


def _is_id(task_id: str) -> bool:
    return len(task_id) == 36 and task_id.isascii() and task_id.replace("-", "").isalnum()
