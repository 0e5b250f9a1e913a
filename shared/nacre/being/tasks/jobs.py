"""A task as the worker's job: its handler runs, and what came of it is kept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from nacre.being.tasks.runner import GivenUp, run_handler
from nacre.being.tasks.store import TaskStore
from nacre.being.tasks.task import Task, TaskCall
from nacre.being.tasks.task_queue import KIND, TaskSending
from nacre.being.tasks.watch import TaskChannel, Watch
from nacre.core.errors import (
    BrokenSealError,
    ConditionFailedError,
    InvalidInputError,
    InvalidParamsError,
    LeaseLostError,
    NotFoundError,
    TooLargeError,
)
from nacre.core.limits import TASK_NOTE_BYTES, TASK_QUESTION_BYTES, TASK_SECONDS, TASK_WATCH_SECONDS
from nacre.jobs.lease import Lease, Leases
from nacre.jobs.worker import Work, Worker
from nacre.protocol import strict_json
from nacre.protocol.application_rules import Explainer
from nacre.protocol.context import Context, InputRequired
from nacre.protocol.dispatch.calls import concerns_message
from nacre.protocol.principal import Principal
from nacre.protocol.replies import Failure
from nacre.protocol.results import tool_error
from nacre.protocol.surface import ToolSource, WireTool

_INTERNAL = -32603


class GoOnLater(Exception):  # noqa: N818 - no error: the handler wanted it so
    """The attempt ends, and another one begins soon."""


@dataclass(slots=True)
class Attempt:
    """The TaskRun of one attempt."""

    id: str
    attempt: int
    notes: Mapping[str, Any]
    _note: Callable[[bytes], None] = field(repr=False)
    tool: str
    arguments: dict[str, Any] = field(repr=False)

    def keep(self, notes: Mapping[str, Any]) -> None:
        """Keep these notes in place of the earlier ones, durably."""
        encoded = strict_json.encode(notes)
        if len(encoded) > TASK_NOTE_BYTES:
            raise InvalidInputError(f"the notes of a task take at most {TASK_NOTE_BYTES} bytes")
        try:
            self._note(encoded)
        except ConditionFailedError:
            raise LeaseLostError("the task has ended, or another worker has it") from None
        self.notes = dict(notes)

    def makes(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Whether this very call is the task's own: nobody else has this object."""
        return tool == self.tool and arguments is self.arguments

    def go_on_later(self) -> NoReturn:
        """End this attempt, so that other work gets its turn, and begin another soon."""
        raise GoOnLater


@dataclass(frozen=True, slots=True)
class TaskJobs:
    """The worker's side; `surface` is the one that callers reach too, and is behind its policy."""

    store: TaskStore
    sending: TaskSending
    leases: Leases
    surface: Callable[[], ToolSource]
    rules: Explainer
    seconds: float = TASK_SECONDS
    every: float = TASK_WATCH_SECONDS

    def register(self, worker: Worker) -> None:
        """Let a worker know the jobs of tasks."""
        worker.register(KIND, self.do)

    def do(self, work: Work) -> None:
        """Make one attempt at a task; a task that is over, or waits for answers, needs none.

        Raises LeaseHeldError when another worker is at it.
        """
        being_id, task_id = work.job.being_id, work.job.refs.get("task", "")
        task = None if being_id is None else self.store.find(being_id, task_id)
        if task is None or task.status != "working":
            return
        lease = self.leases.take(task.head)
        try:
            try:
                call = self.store.begin(task, lease, work.attempt)
            except (BrokenSealError, NotFoundError) as error:  # another attempt would meet it too
                self._refuse(task, lease, self.rules.explain(error, modern=True))
                return
            if call is not None:
                self._attempt(task, call, lease, work)
        finally:
            self.leases.give_back(lease)

    def _attempt(self, task: Task, call: TaskCall, lease: Lease, work: Work) -> None:
        channel = TaskChannel()

        def renew() -> None:
            self.leases.renew(lease)
            work.keep()

        watch = Watch(
            channel,
            lambda message: self.store.told(task, lease, message),
            renew,
            seconds=self.seconds,
            every=self.every,
        )
        run = Attempt(
            task.task_id,
            lease.fence,
            call.notes,
            lambda notes: self.store.note(task, lease, notes),
            task.tool,
            dict(call.arguments),
        )
        context = _context(call, channel, run)
        try:
            with watch:
                result = self._result(task, run, context, watch)
        except InputRequired as question:
            self._ask(task, lease, question, context)
        except GoOnLater:
            again = self.store.go_on(task, lease)
            if again is not None:
                self.sending.send(again)
        except GivenUp:
            if watch.is_too_long:
                self._fail(
                    task, lease, f"The work took longer than {self.seconds / 60:.0f} minutes"
                )
        except SystemExit:
            self._complete(task, lease, self._unsaid(task, RuntimeError()))
        except Exception as error:  # noqa: BLE001 - the edge: every task comes to an end
            self._complete_badly(task, lease, error)
        else:
            self._complete(task, lease, result)

    def _result(
        self, task: Task, run: Attempt, context: Context, watch: Watch
    ) -> Mapping[str, Any]:
        tool = self._tool(task)
        return run_handler(
            lambda: _called(tool, run.arguments, context), blocking=tool.blocking, watch=watch
        )

    def _tool(self, task: Task) -> WireTool:
        tool = self.surface().get_tool(task.tool)
        if tool is None:
            raise InvalidParamsError(f"Unknown tool: {task.tool[:200]}")
        return tool

    def _ask(self, task: Task, lease: Lease, question: InputRequired, context: Context) -> None:
        asked, kept = strict_json.encode(question.requests), strict_json.encode(context.kept)
        if len(asked) + len(kept) > TASK_QUESTION_BYTES:
            self._fail(task, lease, f"The tool asks more than {TASK_QUESTION_BYTES} bytes at once")
            return
        self.store.park(task, lease, asked, kept)

    def _complete(self, task: Task, lease: Lease, result: Mapping[str, Any]) -> None:
        whole = {"result": {"resultType": "complete", **result}}
        try:
            self.store.finish(task, lease, "completed", whole, None)
        except (TypeError, ValueError, RecursionError, TooLargeError) as error:
            self._refuse(task, lease, self.rules.explain(error, modern=True))

    def _complete_badly(self, task: Task, lease: Lease, error: Exception) -> None:
        if concerns_message(error, modern=True):
            self._refuse(task, lease, self.rules.explain(error, modern=True))
        else:
            self._complete(task, lease, self._unsaid(task, error))

    def _unsaid(self, task: Task, error: Exception) -> dict[str, Any]:
        return tool_error(self.rules.tool_error(task.tool, error))

    def _fail(self, task: Task, lease: Lease, message: str) -> None:
        self._refuse(task, lease, Failure(_INTERNAL, message))

    def _refuse(self, task: Task, lease: Lease, failure: Failure) -> None:
        error: dict[str, Any] = {"code": failure.code, "message": failure.message}
        if failure.data is not None:
            error["data"] = failure.data
        self.store.finish(task, lease, "failed", {"error": error}, failure.message)


async def _called(tool: WireTool, arguments: dict[str, Any], context: Context) -> Mapping[str, Any]:
    return dict((await tool.call(arguments, context)).to_dict())  # whole, to be stored


def _context(call: TaskCall, channel: TaskChannel, run: Attempt) -> Context:
    """Return the context of the call as it was made, without a client at the other end."""
    return Context(
        request_id=run.id,
        version=call.version,
        principal=Principal(call.subject, call.being_id, call.scopes, call.client),
        client_info=call.client_info,
        capabilities=call.capabilities,
        llm_api_key=call.llm_api_key,
        progress_token=run.id,
        answers=call.answers,
        kept=dict(call.kept),
        channel=channel,
        task=run,
    )
