"""From a request to its answer: the methods of both eras over one surface."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from nacre.errors import (
    ClientCapabilityError,
    ForbiddenError,
    InvalidParamsError,
    UnknownMethodError,
)
from nacre.limits import CATALOGUE_TTL_MS, LIST_PAGE
from nacre.protocol import strict_json
from nacre.protocol.answers import Answer, Failure, answer, refusal
from nacre.protocol.context import LOG_LEVELS, Channel, Context, InputRequired
from nacre.protocol.messages import Request
from nacre.protocol.principal import Principal
from nacre.protocol.request_state import RequestStates
from nacre.protocol.surface import Definitions, Surface, WireTool
from nacre.protocol.versions import (
    META_LOG_LEVEL,
    META_SERVER,
    SUPPORTED_VERSIONS,
    is_modern,
    negotiate,
)


@dataclass(slots=True)
class Peer:
    """What a client has said about itself."""

    capabilities: Mapping[str, Any] = field(default_factory=dict)
    client_info: Mapping[str, Any] = field(default_factory=dict)
    log_level: str | None = None


@dataclass(slots=True)  # not frozen: see HttpRequest
class Caller:
    """Who sends a request, and under which version."""

    version: str
    principal: Principal | None = None
    peer: Peer = field(default_factory=Peer)
    llm_api_key: str | None = field(default=None, repr=False)


@dataclass(slots=True)
class Call:
    """A request whose handler has yet to run; `blocking` ones never await an event loop."""

    blocking: bool
    run: Callable[[Channel], Coroutine[Any, Any, Answer]]


class Rulebook(Protocol):
    """What the application decides for the dispatcher."""

    def explain(self, error: Exception, *, modern: bool) -> Failure:
        """Return the JSON-RPC error for an exception, as the era's clients know it."""
        ...

    def tool_error(self, tool: str, error: Exception) -> str:
        """Return the text a model sees when a tool fails."""
        ...

    def permit(
        self,
        principal: Principal,
        method: str,
        *,
        tool: str | None = None,
        tool_is_read_only: bool = False,
    ) -> None:
        """Raise InsufficientScopeError unless the caller may make the request."""
        ...


class Dispatcher:
    """Answers the requests of one server."""

    def __init__(
        self,
        surface: Surface,
        *,
        rules: Rulebook,
        states: RequestStates,
        logging: bool = False,
        subscriptions: bool = False,
    ) -> None:
        self._surface = surface
        self._rules = rules
        self._states = states
        self._logging = logging
        self._subscriptions = subscriptions
        # What ends every modern result, encoded once.
        stamp = strict_json.encode({"_meta": {META_SERVER: self._server_info()}})
        self._signature = b"," + stamp[1:]
        self._known_tools: tuple[Definitions, Definitions] | None = None
        self._encoded: dict[tuple[str, bool], tuple[Definitions, bytes]] = {}
        self._immediate: dict[str, Callable[[Request, Caller], bytes]] = {
            "tools/list": self._list_tools,
            "prompts/list": lambda r, c: self._listing(r, c, "prompts", surface.prompts()),
            "resources/list": lambda r, c: self._listing(r, c, "resources", surface.resources()),
            "resources/templates/list": lambda r, c: self._listing(
                r, c, "resourceTemplates", surface.resource_templates()
            ),
        }
        self._legacy_only: dict[str, Callable[[Request, Caller], bytes]] = {
            "initialize": self._initialize,
            "ping": lambda _request, _caller: b"{}",
            "logging/setLevel": self._set_level,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._subscribe,
        }
        self._modern_only = {"server/discover": self._discover}
        self._calls: dict[str, Callable[[Request, Caller], Call]] = {
            "tools/call": self._call_tool,
            "resources/read": self._read_resource,
            "prompts/get": self._get_prompt,
            "completion/complete": self._complete,
        }

    def begin(self, request: Request, caller: Caller) -> Answer | Call:
        """Check the request; return its answer, or the call that will give it."""
        try:
            self._permit(request, caller)
            own_era = self._modern_only if is_modern(caller.version) else self._legacy_only
            immediate = self._immediate.get(request.method) or own_era.get(request.method)
            if immediate is not None:
                return answer(request.id, immediate(request, caller))
            return self._calls.get(request.method, _unknown)(request, caller)
        except Exception as error:  # noqa: BLE001 - the edge: every request gets an answer
            return self._refuse(request, caller, error)

    def _refuse(self, request: Request, caller: Caller, error: Exception) -> Answer:
        modern = is_modern(caller.version)
        return refusal(request.id, self._rules.explain(error, modern=modern), error)

    # What a server says about itself.

    def _initialize(self, request: Request, caller: Caller) -> bytes:
        caller.peer.capabilities = request.mapping("capabilities")
        caller.peer.client_info = request.mapping("clientInfo")
        result = {
            "protocolVersion": negotiate(request.params.get("protocolVersion")),
            "capabilities": self._capabilities(modern=False),
            "serverInfo": self._server_info(),
        }
        return strict_json.encode(self._with_instructions(result))

    def _discover(self, _request: Request, caller: Caller) -> bytes:
        result = {
            "supportedVersions": list(SUPPORTED_VERSIONS),
            "capabilities": self._capabilities(modern=True),
        }
        return self._encode(_cacheable(self._with_instructions(result), caller), caller)

    def _with_instructions(self, result: dict[str, Any]) -> dict[str, Any]:
        if self._surface.instructions is not None:
            result["instructions"] = self._surface.instructions
        return result

    def _server_info(self) -> dict[str, str]:
        info = {"name": self._surface.name, "version": self._surface.version}
        if self._surface.title is not None:
            info["title"] = self._surface.title
        return info

    def _capabilities(self, *, modern: bool) -> dict[str, Any]:
        capabilities: dict[str, Any] = {"tools": {}}
        if self._surface.resources() or self._surface.resource_templates():
            subscribable = self._subscriptions and not modern
            capabilities["resources"] = {"subscribe": True} if subscribable else {}
        if self._surface.prompts():
            capabilities["prompts"] = {}
            capabilities["completions"] = {}
        if self._logging:
            capabilities["logging"] = {}
        return capabilities

    # Lists.

    def _list_tools(self, request: Request, caller: Caller) -> bytes:
        definitions = self._surface.tools()
        if not is_modern(caller.version):
            definitions = self._legacy_tools(definitions)
        return self._listing(request, caller, "tools", definitions)

    def _legacy_tools(self, definitions: Definitions) -> Definitions:
        """Return the definitions as legacy revisions know them; the same object meanwhile."""
        if self._known_tools is None or self._known_tools[0] is not definitions:
            self._known_tools = (definitions, tuple(_legacy_tool(each) for each in definitions))
        return self._known_tools[1]

    def _listing(
        self, request: Request, caller: Caller, kind: str, definitions: Definitions
    ) -> bytes:
        if len(definitions) > LIST_PAGE or request.params.get("cursor") is not None:
            return self._encode(_cacheable(_page(request, kind, definitions), caller), caller)
        place = (kind, is_modern(caller.version))
        known = self._encoded.get(place)
        if known is None or known[0] is not definitions:
            page = _cacheable(_page(request, kind, definitions), caller)
            known = (definitions, self._encode(page, caller))
            self._encoded[place] = known
        return known[1]

    # Small legacy methods that a stateless server accepts.

    def _set_level(self, request: Request, caller: Caller) -> bytes:
        caller.peer.log_level = _log_level(request.text("level"))
        return b"{}"

    def _subscribe(self, request: Request, _caller: Caller) -> bytes:
        request.text("uri")
        return b"{}"

    # Calls.

    def _call_tool(self, request: Request, caller: Caller) -> Call:
        name, arguments = request.text("name"), request.mapping("arguments")
        tool = self._surface.get_tool(name)
        if tool is None:
            raise InvalidParamsError(f"Unknown tool: {name[:200]}")

        return self._make_call(request, caller, partial(tool.call, arguments), tool)

    def _read_resource(self, request: Request, caller: Caller) -> Call:
        uri = request.text("uri")

        async def call(context: Context) -> Mapping[str, Any]:
            return _cacheable(await self._surface.read_resource(uri, context), caller)

        return self._make_call(request, caller, call)

    def _get_prompt(self, request: Request, caller: Caller) -> Call:
        name, arguments = request.text("name"), _strings(request, "arguments")
        return self._make_call(
            request, caller, lambda context: self._surface.get_prompt(name, arguments, context)
        )

    def _complete(self, request: Request, caller: Caller) -> Call:
        ref, argument = request.mapping("ref"), request.mapping("argument")
        for key in ("name", "value"):
            if not isinstance(argument.get(key), str):
                raise InvalidParamsError(f"completion/complete: 'argument.{key}' must be a string")
        known = request.mapping("context").get("arguments") or {}
        if not isinstance(known, dict):
            raise InvalidParamsError("completion/complete: 'context.arguments' must be an object")

        async def call(_context: Context) -> dict[str, Any]:
            return {"completion": await self._surface.complete(ref, argument, known)}

        return self._make_call(request, caller, call)

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

    def _make_call(
        self,
        request: Request,
        caller: Caller,
        work: Callable[[Context], Awaitable[Any]],
        tool: WireTool | None = None,
    ) -> Call:
        answers, asked = self._answers(request, caller)
        context = self._context(request, caller, answers)

        async def run(channel: Channel) -> Answer:
            context.channel = channel
            cause: Exception | None = None
            try:
                done = await work(context)
                result: Mapping[str, Any] = done if tool is None else done.to_dict()
            except InputRequired as question:
                result = self._question(question, answers, asked, request, caller)
            except Exception as error:  # noqa: BLE001 - the edge: every request gets an answer
                if tool is None or _concerns_message(error, caller):
                    return self._refuse(request, caller, error)
                result, cause = (
                    _tool_error(self._rules.tool_error(request.text("name"), error)),
                    error,
                )
            try:
                return answer(request.id, self._encode(result, caller), cause)
            except (TypeError, ValueError, RecursionError) as error:
                return self._refuse(request, caller, error)

        return Call(tool is not None and tool.blocking, run)

    def _context(
        self, request: Request, caller: Caller, answers: dict[str, dict[str, Any]]
    ) -> Context:
        meta = request.meta
        token = meta.get("progressToken")
        return Context(
            request_id=request.id,
            version=caller.version,
            principal=caller.principal,
            client_info=caller.peer.client_info,
            capabilities=caller.peer.capabilities,
            llm_api_key=caller.llm_api_key,
            log_level=self._wanted_level(meta, caller),
            progress_token=token if isinstance(token, (str, int)) else None,
            answers=answers,
        )

    def _wanted_level(self, meta: Mapping[str, Any], caller: Caller) -> str | None:
        if is_modern(caller.version):
            level = meta.get(META_LOG_LEVEL)
            return None if level is None else _log_level(level)
        return (caller.peer.log_level or "info") if self._logging else None

    # Multi-round-trip calls.

    def _answers(
        self, request: Request, caller: Caller
    ) -> tuple[dict[str, dict[str, Any]], list[str]]:
        state = request.params.get("requestState")
        if state is None and "inputResponses" not in request.params:
            return {}, []
        if not is_modern(caller.version):
            return {}, []
        given = request.mapping("inputResponses")
        if state is None:
            return {key: _result(key, value) for key, value in given.items()}, []
        opened = self._states.open(state, request, caller.principal)
        fresh = {key: _result(key, given[key]) for key in opened["asked"] if key in given}
        return {**opened["answers"], **fresh}, opened["asked"]

    def _question(
        self,
        question: InputRequired,
        answers: dict[str, dict[str, Any]],
        asked: list[str],
        request: Request,
        caller: Caller,
    ) -> dict[str, Any]:
        asked = sorted({*asked, *question.requests})
        return {
            "resultType": "input_required",
            "inputRequests": question.requests,
            "requestState": self._states.seal(answers, asked, request, caller.principal),
        }

    def _encode(self, result: Mapping[str, Any], caller: Caller) -> bytes:
        if not is_modern(caller.version):
            return strict_json.encode(_without_loose_structure(result))
        if "_meta" in result:
            meta = {META_SERVER: self._server_info(), **result["_meta"]}
            return strict_json.encode({"resultType": "complete", **result, "_meta": meta})
        whole = strict_json.encode({"resultType": "complete", **result})
        return whole[:-1] + self._signature


def _page(request: Request, kind: str, definitions: Definitions) -> dict[str, Any]:
    cursor = request.params.get("cursor")
    start = 0
    if cursor is not None:
        places = [str(place) for place in range(LIST_PAGE, len(definitions), LIST_PAGE)]
        if cursor not in places:
            raise InvalidParamsError(f"{request.method}: 'cursor' was not issued here")
        start = int(cursor)
    page: dict[str, Any] = {kind: list(definitions[start : start + LIST_PAGE])}
    if start + LIST_PAGE < len(definitions):
        page["nextCursor"] = str(start + LIST_PAGE)
    return page


def _cacheable(result: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
    if not is_modern(caller.version):
        return result
    # Private: what a caller sees depends on its token and the policy.
    return {**result, "ttlMs": CATALOGUE_TTL_MS, "cacheScope": "private"}


def _concerns_message(error: Exception, caller: Caller) -> bool:
    """Whether an error is about the message, not the tool's work: never an `isError` result."""
    if isinstance(error, ClientCapabilityError):
        return is_modern(caller.version)  # legacy clients have no such code; their model reads it
    return isinstance(error, (InvalidParamsError, ForbiddenError))


def _unknown(request: Request, _caller: Caller) -> Call:
    raise UnknownMethodError(request.method)


def _legacy_tool(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    schema = definition.get("outputSchema")
    if schema is None or schema.get("type") == "object":
        return definition
    return {name: value for name, value in definition.items() if name != "outputSchema"}


def _without_loose_structure(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Drop structured content that is no object: only the modern revision has it."""
    if isinstance(result.get("structuredContent", {}), dict):
        return result
    return {name: value for name, value in result.items() if name != "structuredContent"}


def _tool_error(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _log_level(level: object) -> str:
    if not isinstance(level, str) or level not in LOG_LEVELS:
        raise InvalidParamsError(f"the log level must be one of {', '.join(LOG_LEVELS)}")
    return level


def _strings(request: Request, name: str) -> dict[str, str]:
    values = request.mapping(name)
    for key, value in values.items():
        if not isinstance(value, str):
            raise InvalidParamsError(f"{request.method}: '{name}.{key[:60]}' must be a string")
    return values


def _result(key: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidParamsError(f"'inputResponses.{key[:60]}' must be an object")
    return value
