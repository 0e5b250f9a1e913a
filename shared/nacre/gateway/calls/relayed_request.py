"""One request to another server, and the questions that the server asks the client meanwhile.

A server of the older generation asks while its call runs. A server of the newer one ends the call
with its questions, and is called again with the answers. Clients do the same, and both kinds meet
here: a question goes to the client in the client's way, and the answer back in the server's way.
A task waits for the answer where its call runs. Without one, a call is parked for the client's next
message, which must find this process again.
"""

import time
from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from secrets import token_hex
from threading import Lock
from typing import Any, NamedTuple, Protocol

from nacre.core.errors import (
    BlockedError,
    ClientCapabilityError,
    NacreError,
    ToolError,
    UpstreamError,
)
from nacre.core.ids import short_id
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import PARKED_CALLS, PARKED_SECONDS, UPSTREAM_QUESTIONS
from nacre.core.traces import Value, passed_on, recorder, span
from nacre.ports.other_programs.upstream import (
    Asked,
    Done,
    Logged,
    Progressed,
    Upstream,
    UpstreamCall,
)
from nacre.protocol.context import Context, InputRequired, capability_of
from nacre.protocol.versions import MODERN


class ParkedCall(NamedTuple):
    """A running call, and the question that its server waits for an answer to."""

    call: UpstreamCall
    question: Asked
    until: float


class ParkedCalls:
    """The parked calls of this process, by tickets that only their clients get, sealed."""

    def __init__(self, rng: Random, tick: Callable[[], float] = time.monotonic) -> None:
        self._rng = rng
        self._tick = tick
        self._guard = Lock()
        self._parked: dict[str, ParkedCall] = {}

    def new_ticket(self) -> str:
        """Return a new ticket that nobody can guess."""
        return short_id(self._rng) + short_id(self._rng)

    def park(self, ticket: str, call: UpstreamCall, question: Asked) -> None:
        """Hold a call until its client comes back; the oldest calls are cancelled for it."""
        with self._guard:
            self._parked[ticket] = ParkedCall(call, question, self._tick() + PARKED_SECONDS)
            ended = [name for name, parked in self._parked.items() if parked.until <= self._tick()]
            ended += list(self._parked)[: max(0, len(self._parked) - len(ended) - PARKED_CALLS)]
            removed = [self._parked.pop(name) for name in dict.fromkeys(ended)]
        for parked in removed:
            parked.call.cancel()

    def take(self, ticket: str) -> ParkedCall | None:
        """Remove and return a call; None if it no longer waits."""
        with self._guard:
            parked = self._parked.pop(ticket, None)
        if parked is not None and parked.until <= self._tick():
            parked.call.cancel()
            return None
        return parked


_STATE = "upstream"  # the name of the request's state between two rounds
_ASKABLE = ("elicitation/create", "sampling/createMessage", "roots/list")


class Questions(Protocol):
    """Decides which questions of a server reach the client, and which answers it gets."""

    async def decide(
        self, server: str, method: str, params: Mapping[str, Any], context: Context, *, key: str
    ) -> Mapping[str, Any]:
        """Return the params that may be asked; raises BlockedError.

        The key names the question in all rounds of its call.
        """
        ...

    def answer(
        self, server: str, method: str, result: Mapping[str, Any], context: Context
    ) -> Mapping[str, Any]:
        """Return the answer that the server may get; raises BlockedError."""
        ...

    def passing(self, server: str, method: str, params: Any, context: Context) -> Any:
        """Return a server's log or progress that the client may get; raises BlockedError."""
        ...


class RequestRelay:
    """Relays requests to servers; without `parked`, no call outlives its client's message."""

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
        """Return the server's result; `session` is the one whose offer was compared.

        Raises InputRequired if the client must be asked first, RelayedError if the server
        answered with an error, UpstreamError if it cannot be used now.
        """
        start = partial(upstream.start, session=session)
        relayed = _RelayedRequest(self, server, start, method, params, context)
        if recorder() is None:
            return await relayed.run()
        attributes: dict[str, Value] = {"mcp.method.name": method, "nacre.server": server}
        name = method
        # A tool is listed by now; callers may write anything in place of a prompt's name.
        if method == "tools/call":
            attributes["gen_ai.operation.name"] = "execute_tool"
            attributes["gen_ai.tool.name"] = params["name"]
            name = f"{method} {params['name']}"
        with span(name, attributes, "client", context.trace) as recorded:
            result = await relayed.run()
            if result.get("isError") is True:
                recorded.fail("tool_error")
            return result


class _RelayedRequest:
    def __init__(
        self,
        relay: RequestRelay,
        server: str,
        start: Callable[..., UpstreamCall],
        method: str,
        params: Mapping[str, Any],
        context: Context,
    ) -> None:
        self._questions = relay.questions
        self._parked = relay.parked
        self._server = server
        self._start_call = start
        self._method = method
        self._params = params
        self._context = context
        self._rounds = 0

    async def run(self) -> Mapping[str, Any]:
        call, question = await self._start_or_continue()
        try:
            while True:
                if question is not None:
                    await self._answer(call, question)
                    question = None
                event = await call.next()
                match event:
                    case Asked():
                        question = event
                    case Progressed():
                        self._report_progress(event)
                    case Logged():
                        self._log(event)
                    case Done(result) if _has_questions(result):
                        call = await self._next_round(result)
                    case Done(result):
                        self._context.handler_state.pop(_STATE, None)
                        return result
        except InputRequired:
            raise
        except BaseException:
            call.cancel()
            raise

    async def _start_or_continue(self) -> tuple[UpstreamCall, Asked | None]:
        """Start the request, or continue it where an earlier round stopped."""
        state = self._context.handler_state.get(_STATE)
        if not isinstance(state, dict):
            return self._start({}), None
        if "ticket" in state:
            parked = self._parked.take(state["ticket"]) if self._parked else None
            if parked is None:
                raise UpstreamError(
                    self._server,
                    "no longer waits for this answer; make the call again",
                    is_fault=False,
                )
            return parked.call, parked.question
        self._rounds = int(state["round"])
        return await self._start_with_answers(state["requests"], state["state"]), None

    def _start(self, answers: Mapping[str, Any]) -> UpstreamCall:
        return self._start_call(
            self._method,
            {**self._params, **answers, **_meta(self._context)},
            wants_progress=self._context.progress_token is not None,
            log_level=self._context.log_level,
        )

    # Servers that ask while a call runs.

    async def _answer(self, call: UpstreamCall, question: Asked) -> None:
        context = self._context
        ticket = context.handler_state.get(_STATE, {}).get("ticket")
        ticket = ticket or (self._parked.new_ticket() if self._parked else token_hex(8))
        try:
            if context.task is not None:
                # The server waits in this process, and another one may take the task's next job.
                context = replace(context, waits_here=True)
            elif context.version == MODERN and not self._parked:
                raise ClientCapabilityError(capability_of(question.method))
            answer = await self._ask(question, f"{ticket}-{question.number}", context)
        except InputRequired:
            assert self._parked is not None
            context.handler_state[_STATE] = {"ticket": ticket}
            self._parked.park(ticket, call, question)
            raise
        except NacreError:
            call.answer(question, None)
            return
        call.answer(question, answer)

    async def _ask(self, question: Asked, key: str, context: Context) -> Mapping[str, Any]:
        """Return the client's answer to a question; raises an error if it may not be asked."""
        questions, method = self._questions(), question.method
        _require(context, method, question.params)
        allowed = await questions.decide(self._server, method, question.params, context, key=key)
        answers = await context.ask({key: {"method": method, "params": dict(allowed)}})
        return questions.answer(self._server, method, answers[key], context)

    # Servers that end a call with their questions.

    async def _next_round(self, result: Mapping[str, Any]) -> UpstreamCall:
        self._rounds += 1
        if self._rounds > UPSTREAM_QUESTIONS:
            raise UpstreamError(self._server, f"asked more than {UPSTREAM_QUESTIONS} times")
        requests = result.get("inputRequests") or {}
        state = result.get("requestState")
        self._context.handler_state[_STATE] = {
            "round": self._rounds,
            "requests": requests,
            "state": state,
        }
        return await self._start_with_answers(requests, state)

    async def _start_with_answers(self, requests: Mapping[str, Any], state: Any) -> UpstreamCall:
        try:
            responses = await self._ask_all(requests)
        except BlockedError as error:
            if self._method != "tools/call":
                raise
            raise ToolError(str(error)) from error
        answers: dict[str, Any] = {"inputResponses": responses} if responses else {}
        if state is not None:
            answers["requestState"] = state
        return self._start(answers)

    async def _ask_all(self, requests: Mapping[str, Any]) -> dict[str, Any]:
        """Return the client's answers to all questions, by the server's keys."""
        context, questions = self._context, self._questions()
        messages: dict[str, dict[str, Any]] = {}
        responses: dict[str, Any] = {}
        for key, request in requests.items():
            method, params = request.get("method"), request.get("params") or {}
            if method not in _ASKABLE:
                raise UpstreamError(self._server, "asks for something that no client supports")
            try:
                _require(context, method, params)
            except ClientCapabilityError:
                if method != "elicitation/create":
                    raise
                responses[key] = {"action": "decline"}
                continue
            # The round is in the name: a server may use one key for two questions.
            name = f"{self._rounds}-{key}"
            allowed = await questions.decide(self._server, method, params, context, key=name)
            messages[name] = {"method": method, "params": dict(allowed)}
        answers = await context.ask(messages) if messages else {}
        for name, answer in answers.items():
            method, key = messages[name]["method"], name.partition("-")[2]
            responses[key] = questions.answer(self._server, method, answer, context)
        return responses

    # Notifications.

    def _log(self, event: Logged) -> None:
        entry = {"data": event.data, "logger": event.logger or self._server}
        try:
            entry = self._screen("notifications/message", entry)
        except BlockedError:
            return
        self._context.log(event.level, entry["data"], entry["logger"])

    def _report_progress(self, event: Progressed) -> None:
        message = event.message
        if message is not None:
            try:
                message = self._screen("notifications/progress", message)
            except BlockedError:  # the numbers are harmless
                message = None
        self._context.progress(event.progress, event.total, message)

    def _screen(self, method: str, content: Any) -> Any:
        return self._questions().passing(self._server, method, content, self._context)


def _require(context: Context, method: str, params: Mapping[str, Any]) -> None:
    """Raise ClientCapabilityError unless the client supports the question and its mode."""
    capability = capability_of(method)
    context.require(capability)
    offered = context.capabilities[capability]
    if params.get("mode") == "url" and not (isinstance(offered, Mapping) and "url" in offered):
        raise ClientCapabilityError(capability)


def _meta(context: Context) -> Mapping[str, Any]:
    """Return the member `_meta` with the trace, if there is one.

    A caller chooses what is in it, so a text that looks like a secret does not leave in it.
    """
    trace = passed_on(context.trace)
    if not trace:
        return {}
    if trace.keys() != {"traceparent"}:
        from nacre.firewall.content.secrets import (  # noqa: PLC0415 - few clients send more
            BUILT_IN,
            redact_text,
        )

        trace = {name: text for name, text in trace.items() if not redact_text(text, BUILT_IN)[1]}
    return {"_meta": dict(trace)} if trace else {}


def _has_questions(result: Mapping[str, Any]) -> bool:
    return result.get("resultType") == "input_required" or "inputRequests" in result
