"""The calls that run somebody's code: tools, resources, prompts and completion."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nacre.core.errors import (
    BlockedError,
    ClientCapabilityError,
    ForbiddenError,
    InvalidParamsError,
    RelayedError,
)
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import CATALOGUE_TTL_MS
from nacre.protocol.application_rules import Rulebook
from nacre.protocol.caller import Caller
from nacre.protocol.context import Channel, Context, InputRequired, TaskWanted, log_level
from nacre.protocol.dispatch.request_state import RequestStates, Round, next_question, read_round
from nacre.protocol.large_calls import in_full
from nacre.protocol.messages import Answer, Request, answer, refusal
from nacre.protocol.results import Results, cacheable, tool_error
from nacre.protocol.surface import Surface, WireTool
from nacre.protocol.versions import META_LOG_LEVEL, MODERN

if TYPE_CHECKING:
    from nacre.protocol.dispatch.tasks import Tasks


_LOG_LEVEL = "info"  # for a client of an older revision that has chosen none


@dataclass(slots=True)
class Call:
    """A request whose handler has yet to run; `blocking` ones never await an event loop."""

    blocking: bool
    run: Callable[[Channel], Coroutine[Any, Any, Answer]]


class Calls:
    """Prepares the calls of one server."""

    def __init__(
        self,
        surface: Surface,
        results: Results,
        *,
        rules: Rulebook,
        states: RequestStates,
        logging: bool,
        tasks: "Callable[[], Tasks] | None" = None,
    ) -> None:
        self._surface = surface
        self._results = results
        self._rules = rules
        self._states = states
        self._logging = logging
        self._tasks = tasks

    def call_tool(self, request: Request, caller: Caller, tool: WireTool | None) -> Call:
        """Prepare `tools/call` of a tool of the surface; None raises InvalidParamsError."""
        name, arguments = request.text("name"), request.mapping("arguments")
        if tool is None:
            raise InvalidParamsError(f"Unknown tool: {name[:200]}")

        return self._prepare(request, caller, partial(tool.call, arguments), tool)

    def read_resource(self, request: Request, caller: Caller) -> Call:
        """Prepare `resources/read`."""
        uri = request.text("uri")

        async def call(context: Context) -> Mapping[str, Any]:
            contents = await self._surface.read_resource(uri, context)
            modern = caller.version == MODERN
            return cacheable(contents, modern=modern, ttl_ms=_stated_ttl_ms(contents))

        return self._prepare(request, caller, call)

    def get_prompt(self, request: Request, caller: Caller) -> Call:
        """Prepare `prompts/get`."""
        name, arguments = request.text("name"), _strings(request, "arguments")
        return self._prepare(
            request, caller, lambda context: self._surface.get_prompt(name, arguments, context)
        )

    def complete(self, request: Request, caller: Caller) -> Call:
        """Prepare `completion/complete`."""
        ref, argument = request.mapping("ref"), request.mapping("argument")
        for key in ("name", "value"):
            if not isinstance(argument.get(key), str):
                raise InvalidParamsError(f"completion/complete: 'argument.{key}' must be a string")
        given_arguments = request.mapping("context").get("arguments") or {}
        if not isinstance(given_arguments, dict):
            raise InvalidParamsError("completion/complete: 'context.arguments' must be an object")

        async def call(_context: Context) -> dict[str, Any]:
            return {"completion": await self._surface.complete(ref, argument, given_arguments)}

        return self._prepare(request, caller, call)

    def _prepare(
        self,
        request: Request,
        caller: Caller,
        work: Callable[[Context], Awaitable[Any]],
        tool: WireTool | None = None,
    ) -> Call:
        modern = caller.version == MODERN
        params = request.params
        continues = modern and ("requestState" in params or "inputResponses" in params)
        so_far = read_round(request, caller, self._states) if continues else Round()
        context = self._context(request, caller, so_far)

        async def run(channel: Channel) -> Answer:
            context.channel = channel
            cause: Exception | None = None
            try:
                try:
                    output = await work(context)
                    result: Mapping[str, Any] = output if tool is None else output.to_dict()
                except InputRequired as question:
                    result = next_question(question, so_far, request, caller, self._states)
                except TaskWanted as wanted:
                    result = await self._task(request, context, wanted.group, tool)
                except SystemExit as error:
                    raise RuntimeError("a handler may not end the server") from error
            except Exception as error:  # noqa: BLE001 - the edge: every request gets an answer
                if tool is None or concerns_message(error, modern=modern):
                    return self._refuse(request, error, modern=modern)
                cause = error
                result = tool_error(self._rules.tool_error(request.text("name"), error))
            try:
                return answer(request.id, self._results.encode(result, modern=modern), cause)
            except (TypeError, ValueError, RecursionError) as error:
                if tool is None:
                    return self._refuse(request, error, modern=modern)
                text = self._rules.tool_error(request.text("name"), error)
                encoded = self._results.encode(tool_error(text), modern=modern)
                return answer(request.id, encoded, error)

        return Call(tool is not None and tool.blocking, run)

    async def _task(
        self, request: Request, context: Context, group: str | None, tool: WireTool | None
    ) -> dict[str, Any]:
        """Return the result that stands for a task, which is durable from then on."""
        assert self._tasks is not None  # else the context takes none
        name, arguments = request.text("name"), in_full(request.mapping("arguments"))
        if tool is None or tool.blocking:
            return self._tasks().create(name, arguments, context, group)
        import asyncio  # noqa: PLC0415 - a handler that does not block has loaded it

        return await asyncio.to_thread(self._tasks().create, name, arguments, context, group)

    def _refuse(self, request: Request, error: Exception, *, modern: bool) -> Answer:
        return refusal(request.id, self._rules.explain(error, modern=modern), error)

    def _context(self, request: Request, caller: Caller, so_far: Round) -> Context:
        meta = request.meta
        token = meta.get("progressToken")
        return Context(
            request_id=request.id,
            version=caller.version,
            principal=caller.principal,
            client_info=caller.peer.client_info,
            capabilities=caller.peer.capabilities,
            llm_api_key=caller.llm_api_key,
            wanted_level=self._wanted_level(meta, caller),
            progress_token=token if isinstance(token, (str, int)) else None,
            answers=so_far.answers,
            handler_state=so_far.handler_state,
            takes_task=self._tasks is not None and caller.version == MODERN and caller.takes_tasks,
            via=request.via,
            trace=_trace(meta),
        )

    def _wanted_level(self, meta: Mapping[str, Any], caller: Caller) -> Callable[[], str | None]:
        if caller.version == MODERN:
            level = meta.get(META_LOG_LEVEL)
            chosen = None if level is None else log_level(level)
            return lambda: chosen
        if not self._logging:
            return lambda: None
        return lambda: caller.peer.log_level() or _LOG_LEVEL


def _trace(meta: Mapping[str, Any]) -> Mapping[str, str]:
    if "traceparent" not in meta and "baggage" not in meta:
        return {}
    from nacre.protocol.trace_context import trace_of  # noqa: PLC0415 - few clients send one

    return trace_of(meta)


def concerns_message(error: Exception, *, modern: bool) -> bool:
    """Tell whether an error is about the message, not the tool's work: no `isError` result."""
    if isinstance(error, ClientCapabilityError):
        return modern  # legacy clients have no such code; their model reads it
    return isinstance(error, (BlockedError, InvalidParamsError, ForbiddenError, RelayedError))


def _stated_ttl_ms(contents: Mapping[str, Any]) -> int:
    """Return for how long contents may be kept; not at all if their own server does not say so."""
    ttl_ms = contents.get("ttlMs")
    return min(max(ttl_ms, 0), CATALOGUE_TTL_MS) if type(ttl_ms) is int else 0


def _strings(request: Request, name: str) -> dict[str, str]:
    values = request.mapping(name)
    for key, value in values.items():
        if not isinstance(value, str):
            raise InvalidParamsError(f"{request.method}: '{name}.{key[:60]}' must be a string")
    return values
