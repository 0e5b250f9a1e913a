"""Tasks on the wire: calls whose results the client fetches later (an extension, SEP-2663)."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from nacre.core.errors import ClientExtensionError, InvalidParamsError
from nacre.protocol.application_rules import Rulebook
from nacre.protocol.caller import Caller
from nacre.protocol.context import Channel, Context
from nacre.protocol.dispatch.calls import Call
from nacre.protocol.messages import Answer, Request, answer, refusal
from nacre.protocol.principal import Principal
from nacre.protocol.results import Results
from nacre.protocol.versions import TASKS


class Tasks(Protocol):
    """Keeps tasks; each belongs to the principal that made it, and is unknown to others.

    An id that is not known raises NotFoundError.
    """

    def create(
        self, tool: str, arguments: Mapping[str, Any], context: Context, group: str | None
    ) -> dict[str, Any]:
        """Let the worker make a call; return the result that names the task."""
        ...

    def get(self, task_id: str, principal: Principal) -> dict[str, Any]:
        """Return the state of the task, with its result, its error or its questions."""
        ...

    def update(self, task_id: str, principal: Principal, answers: Mapping[str, Any]) -> None:
        """Take answers to the task's questions; ignore all others."""
        ...

    def cancel(self, task_id: str, principal: Principal) -> None:
        """Cancel the task; one that has ended stays as it is."""
        ...


class TaskMethods:
    """Prepares `tasks/get`, `tasks/update` and `tasks/cancel`."""

    def __init__(self, tasks: Callable[[], Tasks], results: Results, rules: Rulebook) -> None:
        self._tasks = tasks
        self._results = results
        self._rules = rules

    def get(self, request: Request, caller: Caller) -> Call:
        """Prepare `tasks/get`."""
        return self._prepare(request, caller, lambda task_id, by: self._tasks().get(task_id, by))

    def update(self, request: Request, caller: Caller) -> Call:
        """Prepare `tasks/update`."""
        answers = request.mapping("inputResponses")
        for key, value in answers.items():
            if not isinstance(value, dict):
                raise InvalidParamsError(f"'inputResponses.{key[:60]}' must be an object")

        def update(task_id: str, by: Principal) -> dict[str, Any]:
            self._tasks().update(task_id, by, answers)
            return {}

        return self._prepare(request, caller, update)

    def cancel(self, request: Request, caller: Caller) -> Call:
        """Prepare `tasks/cancel`."""

        def cancel(task_id: str, by: Principal) -> dict[str, Any]:
            self._tasks().cancel(task_id, by)
            return {}

        return self._prepare(request, caller, cancel)

    def _prepare(
        self, request: Request, caller: Caller, work: Callable[[str, Principal], dict[str, Any]]
    ) -> Call:
        principal = caller.principal
        if not caller.takes_tasks or principal is None:
            raise ClientExtensionError(TASKS)
        task_id = request.text("taskId")

        async def run(_channel: Channel) -> Answer:
            try:
                return answer(
                    request.id, self._results.encode(work(task_id, principal), modern=True)
                )
            except Exception as error:  # noqa: BLE001 - the edge: every request gets an answer
                return refusal(request.id, self._rules.explain(error, modern=True), error)

        return Call(blocking=True, run=run)
