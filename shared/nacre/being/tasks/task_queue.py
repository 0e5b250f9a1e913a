"""The job of a task, and the queue that carries it."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from nacre.being.tasks.task import Task
from nacre.core.errors import InvalidInputError
from nacre.core.limits import MAX_TASK_GROUP
from nacre.jobs.job import Job, encode_job
from nacre.ports.queue import Queue

KIND = "task"
_GROUP = re.compile(rf"[A-Za-z0-9#_-]{{1,{MAX_TASK_GROUP}}}")


def checked_group(group: str | None) -> str:
    """Return the group, "" for none; raises InvalidInputError for what cannot be one."""
    if group is None:
        return ""
    if _GROUP.fullmatch(group) is None:
        raise InvalidInputError(
            f"the group of a task is 1 to {MAX_TASK_GROUP} letters, digits, '#', '_' and '-'"
        )
    return group


@dataclass(frozen=True, slots=True)
class TaskSending:
    """Sends jobs; `queue` is called for the first."""

    queue: Callable[[], Queue]

    def send(self, task: Task, *, again: int | None = None) -> None:
        """Send the job of the round that the task is in; `again` tells a repetition apart."""
        refs = {"task": task.task_id, "round": str(task.round)}
        name = f"{task.task_id}-{task.round}"
        if again is not None:
            refs["again"], name = str(again), f"{name}-{again}"
        group = f"{task.being_id}#{task.group or f'task#{task.task_id}'}"
        self.queue().send(encode_job(Job(KIND, task.being_id, refs)), group=group, repeat=name)
