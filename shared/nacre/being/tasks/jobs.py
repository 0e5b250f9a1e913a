"""The worker's side of tasks: the job runs a task's handler and stores the outcome."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NoReturn

from nacre.being.tasks.client_requests import KIND, NOBODY_WAITS, TaskQueue
from nacre.being.tasks.store import TaskStore
from nacre.being.tasks.task import Status, Task, TaskCall
from nacre.being.tasks.watch import AttemptStopped, AttemptWatch, TaskChannel
from nacre.core.errors import (
    BrokenSealError,
    ConditionFailedError,
    InvalidInputError,
    InvalidParamsError,
    LeaseLostError,
    NacreError,
    NotFoundError,
    TooLargeError,
    UnavailableError,
)
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import TASK_NOTE_BYTES, TASK_QUESTION_BYTES, TASK_SECONDS, TASK_WATCH_SECONDS
from nacre.core.origins import UNKNOWN, external, texts_of
from nacre.jobs.lease import Lease, Leases
from nacre.jobs.worker import Work, Worker
from nacre.ports.untrusted_results import UntrustedResults
from nacre.protocol import strict_json
from nacre.protocol.application_rules import Explainer
from nacre.protocol.context import Context, InputRequired
from nacre.protocol.dispatch.calls import concerns_message
from nacre.protocol.large_calls import in_full
from nacre.protocol.messages import Failure
from nacre.protocol.principal import Principal
from nacre.protocol.results import tool_error
from nacre.protocol.surface import ToolSource, WireTool

_INTERNAL = -32603


class AttemptDeferred(Exception):  # noqa: N818 - not an error: the handler asked for it
    """This attempt ends, and another one begins soon."""


@dataclass(frozen=True, slots=True)
class OpenQuestions:
    """The questions of one attempt at a task that goes on while they are open."""

    store: TaskStore
    task: Task
    lease: Lease
    every: float  # seconds between two looks

    def ask(self, questions: bytes) -> None:
        """Ask; raises LeaseLostError if the task has ended or another worker has it."""
        if not self.store.ask(self.task, self.lease, questions):
            raise LeaseLostError("the task has ended, or another worker has it")

    def answers(self) -> dict[str, Any] | None:
        """Return the client's answers, None while one is missing; raises LeaseLostError."""
        return self.store.awaited(self.task, self.lease)


@dataclass(slots=True)
class TaskAttempt:
    """One attempt at a task, as its handler sees it: a TaskRun."""

    id: str
    attempt: int
    notes: Mapping[str, Any]
    _store_notes: Callable[[bytes], None] = field(repr=False)
    _questions: OpenQuestions = field(repr=False)
    tool: str
    arguments: dict[str, Any] = field(repr=False)

    def keep(self, notes: Mapping[str, Any]) -> None:
        """Store these notes in place of the earlier ones, durably."""
        encoded = strict_json.encode(notes)
        if len(encoded) > TASK_NOTE_BYTES:
            raise InvalidInputError(f"the notes of a task take at most {TASK_NOTE_BYTES} bytes")
        try:
            self._store_notes(encoded)
        except ConditionFailedError:
            raise LeaseLostError("the task has ended, or another worker has it") from None
        self.notes = dict(notes)

    def makes(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Return whether this call is the task's own, by the identity of its arguments."""
        return tool == self.tool and in_full(arguments) is self.arguments

    def go_on_later(self) -> NoReturn:
        """End this attempt, so that other jobs can run, and begin another one soon."""
        raise AttemptDeferred

    async def wait_for(
        self, requests: Mapping[str, Mapping[str, Any]]
    ) -> Mapping[str, dict[str, Any]]:
        """Return the client's answers to these requests, while this attempt goes on.

        Raises AttemptStopped if the task has ended meanwhile, or another worker has it.
        """
        import asyncio  # noqa: PLC0415 - a handler that awaits has loaded it

        encoded = strict_json.encode(requests)
        if len(encoded) > TASK_QUESTION_BYTES:
            raise InvalidInputError(f"a task asks at most {TASK_QUESTION_BYTES} bytes at once")
        questions = self._questions
        try:
            await asyncio.to_thread(questions.ask, encoded)
            while True:
                # A store that fails now may answer the next time.
                with suppress(UnavailableError):
                    answers = await asyncio.to_thread(questions.answers)
                    if answers is not None:
                        return answers
                await asyncio.sleep(questions.every)
        except LeaseLostError:  # not an answer, which the handler would act on
            raise AttemptStopped from None


@dataclass(frozen=True, slots=True)
class TaskJobs:
    """The jobs of tasks; `surface` is the one that clients reach too, behind its policy."""

    store: TaskStore
    queue: TaskQueue
    leases: Leases
    surface: Callable[[], ToolSource]
    rules: Explainer
    received: Callable[[], UntrustedResults]
    seconds: float = TASK_SECONDS
    every: float = TASK_WATCH_SECONDS

    def register(self, worker: Worker) -> None:
        """Register the job of tasks with a worker."""
        worker.register(KIND, self.do)

    def do(self, work: Work) -> None:
        """Make one attempt at a task, unless it has ended or waits for answers.

        Raises LeaseHeldError if another worker runs it.
        """
        being_id, task_id = work.job.being_id, work.job.refs.get("task", "")
        task = None if being_id is None else self.store.find(being_id, task_id)
        if task is None or not (task.status == "working" or task.waiting is not None):
            return
        lease = self.leases.take(task.head)
        try:
            if task.waiting is not None:  # its attempt is gone, and what it had begun with it
                self.store.fail_stuck(task, NOBODY_WAITS)
                # It may have been answered in this moment; its handler says what is lost then.
                task = self.store.find(task.being_id, task.task_id)
                if task is None or task.status != "working":
                    return
            try:
                call = self.store.begin(task, lease, work.attempt)
            except (BrokenSealError, NotFoundError) as error:  # another attempt would fail as well
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

        watch = AttemptWatch(
            channel,
            lambda message: self.store.store_progress(task, lease, message),
            renew,
            seconds=self.seconds,
            every=self.every,
        )
        run = TaskAttempt(
            task.task_id,
            lease.fence,
            call.notes,
            lambda notes: self.store.note(task, lease, notes),
            OpenQuestions(self.store, task, lease, self.every),
            task.tool,
            dict(call.arguments),
        )
        context = _context(call, channel, run)
        try:
            with watch:
                result = self._result(task, run, context, watch)
        except InputRequired as question:
            self._ask(task, lease, question, context)
        except AttemptDeferred:
            again = self.store.go_on(task, lease)
            if again is not None:
                self.queue.send(again)
        except AttemptStopped:
            if watch.is_too_long:
                self._fail(
                    task, lease, f"The work took longer than {self.seconds / 60:.0f} minutes"
                )
        except SystemExit:
            self._complete(task, lease, self._error_result(task, RuntimeError()))
        except Exception as error:  # noqa: BLE001 - every task must end
            self._complete_with_error(task, lease, error)
        else:
            self._complete(task, lease, result)

    def _result(
        self, task: Task, run: TaskAttempt, context: Context, watch: AttemptWatch
    ) -> Mapping[str, Any]:
        tool = self.surface().get_tool(task.tool)
        if tool is None:
            raise InvalidParamsError(f"Unknown tool: {task.tool[:200]}")
        return watch.run(lambda: _call(tool, run.arguments, context), blocking=tool.blocking)

    def _ask(self, task: Task, lease: Lease, question: InputRequired, context: Context) -> None:
        questions = strict_json.encode(question.requests)
        handler_state = strict_json.encode(context.handler_state)
        if len(questions) + len(handler_state) > TASK_QUESTION_BYTES:
            self._fail(task, lease, f"The tool asks more than {TASK_QUESTION_BYTES} bytes at once")
            return
        self.store.park(task, lease, questions, handler_state)

    def _complete(self, task: Task, lease: Lease, result: Mapping[str, Any]) -> None:
        outcome = {"result": {"resultType": "complete", **result}}
        try:
            self._finish(task, lease, "completed", outcome, None)
        except (TypeError, ValueError, RecursionError, TooLargeError) as error:
            self._refuse(task, lease, self.rules.explain(error, modern=True))

    def _complete_with_error(self, task: Task, lease: Lease, error: Exception) -> None:
        if concerns_message(error, modern=True):
            self._refuse(task, lease, self.rules.explain(error, modern=True))
        else:
            self._complete(task, lease, self._error_result(task, error))

    def _error_result(self, task: Task, error: Exception) -> dict[str, Any]:
        return tool_error(self.rules.tool_error(task.tool, error))

    def _fail(self, task: Task, lease: Lease, message: str) -> None:
        self._refuse(task, lease, Failure(_INTERNAL, message))

    def _refuse(self, task: Task, lease: Lease, failure: Failure) -> None:
        error: dict[str, Any] = {"code": failure.code, "message": failure.message}
        if failure.data is not None:
            error["data"] = failure.data
        self._finish(task, lease, "failed", {"error": error}, failure.message)

    def _finish(
        self,
        task: Task,
        lease: Lease,
        status: Status,
        outcome: Mapping[str, Any],
        message: str | None,
    ) -> None:
        """End the task; what its caller has received until now may be in its outcome."""
        try:
            received = self.received().origins(task.holder, self.store.clock())
        except NacreError:  # the outcome of work that cannot be repeated must not be lost for it
            received = frozenset({external(UNKNOWN)})
        self.store.finish(task, lease, status, outcome, message, texts_of(received))


async def _call(tool: WireTool, arguments: dict[str, Any], context: Context) -> Mapping[str, Any]:
    return dict((await tool.call(arguments, context)).to_dict())


def _context(call: TaskCall, channel: TaskChannel, run: TaskAttempt) -> Context:
    """Return the context of the original call, without a client to ask."""
    return Context(
        request_id=run.id,
        version=call.version,
        principal=Principal(call.subject, call.being_id, call.scopes, call.client, call.profile),
        client_info=call.client_info,
        capabilities=call.capabilities,
        llm_api_key=call.llm_api_key,
        progress_token=run.id,
        answers=call.answers,
        handler_state=dict(call.handler_state),
        channel=channel,
        task=run,
        trace=call.trace,
    )
