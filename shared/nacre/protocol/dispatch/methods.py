"""From a request to its answer: the methods of both eras over one surface."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from nacre.core.errors import UnknownMethodError, UnknownResourceError
from nacre.protocol.application_rules import Rulebook
from nacre.protocol.caller import Caller
from nacre.protocol.context import Channel, log_level
from nacre.protocol.dispatch.calls import Call, Calls
from nacre.protocol.dispatch.introduction import Introduction
from nacre.protocol.dispatch.lists import Catalogue
from nacre.protocol.dispatch.request_state import RequestStates
from nacre.protocol.messages import Request
from nacre.protocol.replies import Answer, answer, refusal
from nacre.protocol.results import Results
from nacre.protocol.surface import GatheringSource, Surface
from nacre.protocol.versions import is_modern

if TYPE_CHECKING:
    from nacre.protocol.changes import Changes
    from nacre.protocol.dispatch.tasks import TaskMethods, Tasks

Immediate = Callable[[Request, Caller], bytes]


class Dispatcher:
    """Answers the requests of one server."""

    def __init__(
        self,
        surface: Surface,
        *,
        rules: Rulebook,
        states: RequestStates,
        logging: bool = False,
        changes: "Changes | None" = None,
        tasks: "Callable[[], Tasks] | None" = None,
    ) -> None:
        self._surface = surface
        self._gathering = surface if isinstance(surface, GatheringSource) else None
        self._rules = rules
        results = Results(surface)
        says = Introduction(
            surface,
            results,
            logging=logging,
            changes=changes is not None,
            tasks=tasks is not None,
        )
        lists = Catalogue(surface, results)
        calls = Calls(surface, results, rules=rules, states=states, logging=logging, tasks=tasks)
        shared: dict[str, Immediate] = {
            "tools/list": lists.tools,
            "prompts/list": lists.prompts,
            "resources/list": lists.resources,
            "resources/templates/list": lists.templates,
        }
        self._lists = frozenset(shared)
        self._modern: dict[str, Immediate] = {**shared, "server/discover": says.discover}
        self._legacy: dict[str, Immediate] = {
            **shared,
            "initialize": says.initialize,
            "ping": _pong,
        }
        if logging:
            self._legacy["logging/setLevel"] = _set_level
        self._calls: dict[str, Callable[[Request, Caller], Call]] = {
            "tools/call": calls.call_tool,
            "resources/read": calls.read_resource,
            "prompts/get": calls.get_prompt,
            "completion/complete": calls.complete,
        }
        self._modern_calls = dict(self._calls)
        if changes is not None:
            self._legacy |= {
                "resources/subscribe": partial(_subscribe, changes),
                "resources/unsubscribe": _unsubscribe,
            }

            def subscribed(request: Request, caller: Caller) -> Call:
                # It waits on an event loop, which is not loaded to start.
                from nacre.protocol.dispatch.subscriptions import listen  # noqa: PLC0415

                return listen(request, caller, changes, results, rules)

            self._modern_calls["subscriptions/listen"] = subscribed
        if tasks is not None:

            def methods() -> "TaskMethods":
                # Few clients send these, and none at the start.
                from nacre.protocol.dispatch.tasks import TaskMethods  # noqa: PLC0415

                return TaskMethods(tasks, results, rules)

            self._modern_calls |= {
                "tasks/get": lambda request, caller: methods().get(request, caller),
                "tasks/update": lambda request, caller: methods().update(request, caller),
                "tasks/cancel": lambda request, caller: methods().cancel(request, caller),
            }

    def begin(self, request: Request, caller: Caller) -> Answer | Call:
        """Check the request; return its answer, or the call that will give it."""
        modern = is_modern(caller.version)
        try:
            self._permit(request, caller)
            immediate = (self._modern if modern else self._legacy).get(request.method)
            if immediate is not None and self._must_gather(request):
                return Call(True, partial(self._listed, immediate, request, caller))
            if immediate is not None:
                return answer(request.id, immediate(request, caller))
            calls = self._modern_calls if modern else self._calls
            return calls.get(request.method, _unknown)(request, caller)
        except Exception as error:  # noqa: BLE001 - the edge: every request gets an answer
            return refusal(request.id, self._rules.explain(error, modern=modern), error)

    def _must_gather(self, request: Request) -> bool:
        gathering = self._gathering
        return (
            gathering is not None and request.method in self._lists and not gathering.is_gathered()
        )

    async def _listed(
        self, immediate: Immediate, request: Request, caller: Caller, _channel: Channel
    ) -> Answer:
        """Gather what a list needs, and answer."""
        assert self._gathering is not None
        try:
            self._gathering.gather()
            return answer(request.id, immediate(request, caller))
        except Exception as error:  # noqa: BLE001 - the edge: every request gets an answer
            modern = is_modern(caller.version)
            return refusal(request.id, self._rules.explain(error, modern=modern), error)

    def _permit(self, request: Request, caller: Caller) -> None:
        if caller.principal is None:
            return
        name = request.params.get("name") if request.method == "tools/call" else None
        tool = self._surface.get_tool(name) if isinstance(name, str) else None
        self._rules.permit(
            caller.principal,
            request.method,
            tool=name if tool else None,
            tool_is_read_only=tool is not None and tool.read_only,
        )


def _unknown(request: Request, _caller: Caller) -> Call:
    raise UnknownMethodError(request.method)


# Small legacy methods that a server without state accepts.


def _pong(_request: Request, _caller: Caller) -> bytes:
    return b"{}"


def _set_level(request: Request, caller: Caller) -> bytes:
    caller.peer.choose_log_level(log_level(request.text("level")))
    return b"{}"


def _subscribe(changes: "Changes", request: Request, caller: Caller) -> bytes:
    uri, seen = request.text("uri"), caller.peer.seen
    if seen is None:
        raise UnknownMethodError(request.method)
    if not changes.follow(caller.principal, seen, uri):
        raise UnknownResourceError(uri)
    return b"{}"


def _unsubscribe(request: Request, caller: Caller) -> bytes:
    uri = request.text("uri")
    if caller.peer.seen is not None:
        caller.peer.seen.versions.pop(uri, None)
    return b"{}"
