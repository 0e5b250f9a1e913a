"""From a request to its answer: the methods of both eras over one surface."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from nacre.core.bounded_cache import BoundedCache
from nacre.core.errors import UnknownMethodError, UnknownResourceError
from nacre.protocol.application_rules import Rulebook
from nacre.protocol.caller import Caller
from nacre.protocol.context import Channel, log_level
from nacre.protocol.dispatch.calls import Call, Calls
from nacre.protocol.dispatch.lists import Catalogue
from nacre.protocol.dispatch.request_state import RequestStates
from nacre.protocol.messages import Answer, Request, answer, refusal
from nacre.protocol.results import Results, cacheable
from nacre.protocol.surface import (
    GatheringSource,
    RedirectingSource,
    Surface,
    ViewingSource,
    WireTool,
    part_of,
)
from nacre.protocol.versions import MODERN, SUPPORTED_VERSIONS, TASKS, negotiate

if TYPE_CHECKING:
    from nacre.protocol.changes import Changes
    from nacre.protocol.dispatch.tasks import TaskMethods, Tasks

_MAX_PARTS = 64  # of the server, that callers in profiles see


class Introduction:
    """Answers `initialize` and `server/discover`."""

    def __init__(
        self,
        surface: Surface,
        results: Results,
        *,
        logging: bool,
        changes: bool,
        tasks: bool,
    ) -> None:
        self._surface = surface
        self._results = results
        self._logging = logging
        self._changes = changes
        self._tasks = tasks

    def initialize(self, request: Request, caller: Caller) -> bytes:
        """Answer a legacy client, and record what it says about itself."""
        caller.peer.capabilities = request.mapping("capabilities")
        caller.peer.client_info = request.mapping("clientInfo")
        result = {
            "protocolVersion": negotiate(request.params.get("protocolVersion")),
            "capabilities": self._capabilities(modern=False),
            "serverInfo": self._results.server_info,
        }
        return self._results.encode(self._with_instructions(result), modern=False)

    def discover(self, _request: Request, _caller: Caller) -> bytes:
        """Answer a modern client."""
        result = {
            "supportedVersions": list(SUPPORTED_VERSIONS),
            "capabilities": self._capabilities(modern=True),
        }
        page = cacheable(self._with_instructions(result), modern=True)
        return self._results.encode(page, modern=True)

    def _with_instructions(self, result: dict[str, Any]) -> dict[str, Any]:
        if self._surface.instructions is not None:
            result["instructions"] = self._surface.instructions
        return result

    def _capabilities(self, *, modern: bool) -> dict[str, Any]:
        list_changes = {"listChanged": True} if self._changes else {}
        capabilities: dict[str, Any] = {"tools": dict(list_changes)}
        if self._surface.resources() or self._surface.resource_templates():
            followed = {"subscribe": True} if self._changes else {}
            capabilities["resources"] = {**followed, **list_changes}
        if self._surface.prompts():
            capabilities["prompts"] = dict(list_changes)
            capabilities["completions"] = {}
        if self._logging or modern:  # a modern request names the level itself
            capabilities["logging"] = {}
        if self._tasks and modern:
            capabilities["extensions"] = {TASKS: {}}
        return capabilities


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
        self._parts: BoundedCache[int, tuple[Surface, Dispatcher]] = BoundedCache(_MAX_PARTS)
        self._of_part = partial(
            Dispatcher, rules=rules, states=states, logging=logging, changes=changes, tasks=tasks
        )
        self._gathering = surface if isinstance(surface, GatheringSource) else None
        self._view_names = (
            surface.view_names() if isinstance(surface, ViewingSource) else frozenset()
        )
        self._redirecting = surface if isinstance(surface, RedirectingSource) else None
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
        self._calls = calls = Calls(
            surface, results, rules=rules, states=states, logging=logging, tasks=tasks
        )
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
        self._legacy_calls: dict[str, Callable[[Request, Caller], Call]] = {
            "resources/read": calls.read_resource,
            "prompts/get": calls.get_prompt,
            "completion/complete": calls.complete,
        }
        self._modern_calls = dict(self._legacy_calls)
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
        modern = caller.version == MODERN
        try:
            part = part_of(self._surface, caller.principal)
            if part is not self._surface:
                return self._narrowed(part).begin(request, caller)
            request = self._redirected(request)
            tool = self._called_tool(request, caller)
            self._permit(request, caller, tool)
            immediate = (self._modern if modern else self._legacy).get(request.method)
            if immediate is not None and self._must_gather(request):
                return Call(True, partial(self._listed, immediate, request, caller))
            if immediate is not None:
                return answer(request.id, immediate(request, caller))
            if request.method == "tools/call":
                return self._calls.call_tool(request, caller, tool)
            calls = self._modern_calls if modern else self._legacy_calls
            return calls.get(request.method, _unknown)(request, caller)
        except Exception as error:  # noqa: BLE001 - the edge: every request gets an answer
            return refusal(request.id, self._rules.explain(error, modern=modern), error)

    def redirects(self, tool: str) -> bool:
        """Tell whether a call of this tool may stand for a call of another one."""
        return self._redirecting is not None and self._redirecting.redirects(tool)

    def _narrowed(self, part: Surface) -> "Dispatcher":
        """Return the dispatcher of the part that a caller sees."""
        entry = self._parts.get(id(part))
        if entry is None or entry[0] is not part:
            entry = self._parts[id(part)] = (part, self._of_part(part))
        return entry[1]

    def _must_gather(self, request: Request) -> bool:
        gathering = self._gathering
        return (
            gathering is not None and request.method in self._lists and not gathering.is_gathered()
        )

    async def _listed(
        self, immediate: Immediate, request: Request, caller: Caller, _channel: Channel
    ) -> Answer:
        """Gather the items of a list, and answer."""
        assert self._gathering is not None
        try:
            self._gathering.gather(caller.principal)
            return answer(request.id, immediate(request, caller))
        except Exception as error:  # noqa: BLE001 - the edge: every request gets an answer
            modern = caller.version == MODERN
            return refusal(request.id, self._rules.explain(error, modern=modern), error)

    def _redirected(self, request: Request) -> Request:
        """Return the call that a call through another tool stands for, else the request itself."""
        if self._redirecting is None or request.method != "tools/call":
            return request
        via = request.params.get("name")
        if not isinstance(via, str):
            return request
        target = self._redirecting.redirected(via, request.mapping("arguments"))
        if target is None:
            return request
        name, arguments = target
        params = {**request.params, "name": name, "arguments": arguments}
        return Request(request.id, request.method, params, via)

    def _called_tool(self, request: Request, caller: Caller) -> WireTool | None:
        """Return the tool that a request calls; None for an unknown one, or no call."""
        name = request.params.get("name") if request.method == "tools/call" else None
        if name in self._view_names and not caller.shows_views:
            return None
        return self._surface.get_tool(name) if isinstance(name, str) else None

    def _permit(self, request: Request, caller: Caller, tool: WireTool | None) -> None:
        if caller.principal is None:
            return
        self._rules.permit(
            caller.principal,
            request.method,
            tool=None if tool is None else request.params["name"],
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
