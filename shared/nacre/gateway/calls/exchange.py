"""One request to another server, and what the server asks of the client meanwhile.

A server of the older generation asks while its call runs; one of the newer ends the call with
its questions and is called again with the answers. So do clients. Each pair of the two meets
here: a question goes to the client in the client's way, and its answer back in the server's.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from nacre.core.errors import (
    BlockedError,
    ClientCapabilityError,
    NacreError,
    ToolError,
    UpstreamError,
)
from nacre.core.limits import UPSTREAM_QUESTIONS
from nacre.gateway.calls.parked_calls import ParkedCalls
from nacre.ports.upstream import Asked, Done, Logged, Progressed, Upstream, UpstreamCall
from nacre.protocol.context import Context, InputRequired, capability_of
from nacre.protocol.versions import is_modern

_KEPT = "upstream"
_ASKABLE = ("elicitation/create", "sampling/createMessage", "roots/list")


class Questions(Protocol):
    """Decides what a server may ask of the client, and what it gets as an answer."""

    async def decide(
        self, server: str, method: str, params: Mapping[str, Any], context: Context
    ) -> Mapping[str, Any]:
        """Return the params as they may be asked; raises BlockedError."""
        ...

    def answer(
        self, server: str, method: str, result: Mapping[str, Any], context: Context
    ) -> Mapping[str, Any]:
        """Return the answer as the server may have it; raises BlockedError."""
        ...

    def passing(self, server: str, method: str, said: Any, context: Context) -> Any:
        """Return what a server says by the way as the client may have it; raises BlockedError."""
        ...


class Exchanges:
    """Carries requests to servers; without `parked`, no call outlives the message it came by."""

    def __init__(self, questions: Callable[[], Questions], parked: ParkedCalls | None) -> None:
        self.questions = questions
        self.parked = parked

    async def run(
        self,
        server: str,
        upstream: Upstream,
        method: str,
        params: Mapping[str, Any],
        context: Context,
        *,
        session: int,
    ) -> Mapping[str, Any]:
        """Return the server's result; `session` is the one whose offers were compared.

        InputRequired when the client has to be asked first, RelayedError when the server
        answered with an error, UpstreamError when it cannot be used now.
        """
        start = partial(upstream.start, session=session)
        return await _Exchange(self, server, start, method, params, context).run()


class _Exchange:
    def __init__(
        self,
        exchanges: Exchanges,
        server: str,
        start: Callable[..., UpstreamCall],
        method: str,
        params: Mapping[str, Any],
        context: Context,
    ) -> None:
        self._questions = exchanges.questions
        self._parked = exchanges.parked
        self._server = server
        self._begin = start
        self._method = method
        self._params = params
        self._context = context
        self._rounds = 0

    async def run(self) -> Mapping[str, Any]:
        call, asked = await self._begun()
        try:
            while True:
                if asked is not None:
                    await self._answer(call, asked)
                    asked = None
                event = await call.next()
                match event:
                    case Asked():
                        asked = event
                    case Progressed():
                        self._tell(event)
                    case Logged():
                        self._log(event)
                    case Done(result) if _asks(result):
                        call = await self._continued(result)
                    case Done(result):
                        self._context.kept.pop(_KEPT, None)
                        return result
        except InputRequired:
            raise
        except BaseException:
            call.cancel()
            raise

    async def _begun(self) -> tuple[UpstreamCall, Asked | None]:
        """Start the request, or go on where an earlier round of it stopped."""
        kept = self._context.kept.get(_KEPT)
        if not isinstance(kept, dict):
            return self._start({}), None
        if "ticket" in kept:
            found = self._parked.take(kept["ticket"]) if self._parked else None
            if found is None:
                raise UpstreamError(
                    self._server,
                    "no longer waits for this answer; make the call again",
                    is_fault=False,
                )
            return found.call, found.asked
        self._rounds = int(kept["round"])
        return await self._again(kept["requests"], kept["state"]), None

    def _start(self, more: Mapping[str, Any]) -> UpstreamCall:
        return self._begin(
            self._method,
            {**self._params, **more},
            wants_progress=self._context.progress_token is not None,
            log_level=self._context.log_level,
        )

    # Servers that ask while a call runs.

    async def _answer(self, call: UpstreamCall, asked: Asked) -> None:
        context = self._context
        known = context.kept.get(_KEPT, {}).get("ticket")
        ticket = known or (self._parked.new_ticket() if self._parked else "")
        try:
            if is_modern(context.version) and not self._parked:
                raise ClientCapabilityError(capability_of(asked.method))
            given = await self._given(asked.method, asked.params, f"{ticket}-{asked.number}")
        except InputRequired:
            assert self._parked is not None
            context.kept[_KEPT] = {"ticket": ticket}
            self._parked.park(ticket, call, asked)
            raise
        except NacreError:
            call.answer(asked, None)
            return
        call.answer(asked, given)

    async def _given(self, method: str, params: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        """Return the client's answer to one question, if it may be asked."""
        context, questions = self._context, self._questions()
        _require(context, method, params)
        allowed = await questions.decide(self._server, method, params, context)
        given = (await context.ask({key: {"method": method, "params": dict(allowed)}}))[key]
        return questions.answer(self._server, method, given, context)

    # Servers that end a call with their questions.

    async def _continued(self, result: Mapping[str, Any]) -> UpstreamCall:
        self._rounds += 1
        if self._rounds > UPSTREAM_QUESTIONS:
            raise UpstreamError(self._server, f"asked more than {UPSTREAM_QUESTIONS} times")
        requests = result.get("inputRequests") or {}
        state = result.get("requestState")
        self._context.kept[_KEPT] = {"round": self._rounds, "requests": requests, "state": state}
        return await self._again(requests, state)

    async def _again(self, requests: Mapping[str, Any], state: Any) -> UpstreamCall:
        try:
            given = await self._answers(requests)
        except BlockedError as error:
            if self._method != "tools/call":
                raise
            raise ToolError(str(error)) from error
        more: dict[str, Any] = {"inputResponses": given} if given else {}
        if state is not None:
            more["requestState"] = state
        return self._start(more)

    async def _answers(self, requests: Mapping[str, Any]) -> dict[str, Any]:
        context, questions = self._context, self._questions()
        wanted: dict[str, dict[str, Any]] = {}
        given: dict[str, Any] = {}
        for key, request in requests.items():
            method, params = request.get("method"), request.get("params") or {}
            if method not in _ASKABLE:
                raise UpstreamError(self._server, "asks for what no client has")
            try:
                _require(context, method, params)
            except ClientCapabilityError:
                if method != "elicitation/create":
                    raise
                given[key] = {"action": "decline"}
                continue
            allowed = await questions.decide(self._server, method, params, context)
            # The round is in the name: a server may use one key for two questions.
            wanted[f"{self._rounds}-{key}"] = {"method": method, "params": dict(allowed)}
        answers = await context.ask(wanted) if wanted else {}
        for name, answer in answers.items():
            key = name.partition("-")[2]
            given[key] = questions.answer(self._server, wanted[name]["method"], answer, context)
        return given

    def _log(self, event: Logged) -> None:
        said = {"data": event.data, "logger": event.logger or self._server}
        try:
            said = self._passing("notifications/message", said)
        except BlockedError:
            return
        self._context.log(event.level, said["data"], said["logger"])

    def _tell(self, event: Progressed) -> None:
        message = event.message
        if message is not None:
            try:
                message = self._passing("notifications/progress", message)
            except BlockedError:  # how far the call is says nothing else
                message = None
        self._context.progress(event.progress, event.total, message)

    def _passing(self, method: str, said: Any) -> Any:
        return self._questions().passing(self._server, method, said, self._context)


def _require(context: Context, method: str, params: Mapping[str, Any]) -> None:
    """Raise ClientCapabilityError unless the client can be asked this, in this mode too."""
    capability = capability_of(method)
    context.require(capability)
    offered = context.capabilities[capability]
    if params.get("mode") == "url" and not (isinstance(offered, Mapping) and "url" in offered):
        raise ClientCapabilityError(capability)


def _asks(result: Mapping[str, Any]) -> bool:
    return result.get("resultType") == "input_required" or "inputRequests" in result
