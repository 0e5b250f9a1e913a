"""Messages from the server to the client: the decision about each."""

from typing import Any

from nacre.core.errors import MalformedMessageError
from nacre.firewall.content.message_texts import opaque_members
from nacre.firewall.enforce import refusals
from nacre.firewall.enforce.announced_lists import ANNOUNCED, ListRefresh
from nacre.firewall.enforce.client_side import call_key, state_key
from nacre.firewall.enforce.conversation import Conversation, OpenRequest
from nacre.firewall.enforce.json_edits import numbers, rewritten
from nacre.firewall.enforce.judge import Allowed, Call, Denied, Pending, Ruling
from nacre.firewall.enforce.large_results import LargeFindings
from nacre.firewall.enforce.listed_tools import ListFilter, cursor_of
from nacre.firewall.enforce.message import (
    DECIDED_DOWN,
    DECIDED_UP,
    LISTS,
    OPENING,
    Id,
    Wire,
    WireError,
    message,
    parse,
)
from nacre.firewall.enforce.pending_approvals import HeldMessages
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Verdict
from nacre.firewall.rules.arguments.arguments import JsonNumber
from nacre.firewall.rules.rule import Subject

_PROGRESS = "notifications/progress"
_FAR = ("progress", "total")


class ServerSide:
    """Decides about messages from the server to the client."""

    def __init__(
        self,
        conversation: Conversation,
        held_messages: HeldMessages,
        list_filter: ListFilter,
        list_refresh: ListRefresh,
    ) -> None:
        self._conversation = conversation
        self._held_messages = held_messages
        self._list_filter = list_filter
        self._list_refresh = list_refresh

    def take(self, wire: Wire, *, alone: bool = True) -> Verdict:
        """Decide about one message; `alone` is False for a part of a batch."""
        if wire.method is None:
            return self._response(wire)
        if wire.id is None:
            return self._notification(wire)
        return self._request(wire, alone=alone)

    # Requests of the server, which only the older generation has.

    def _request(self, wire: Wire, *, alone: bool) -> Verdict:
        assert wire.id is not None
        method = str(wire.method)
        problem = self._conversation.down.problem(wire.id)
        if problem is not None:
            raise WireError(problem, id=wire.id)
        if method not in DECIDED_DOWN:
            return self._undecided(wire, method)
        params = wire.params if type(wire.params) is dict else {}
        ruling, call, value = self._asked(method, params, wire.id, can_elicit=alone)
        match ruling:
            case Allowed():
                raw = wire.raw
                try:
                    if value is not params and self._conversation.enforces():
                        raw = rewritten(raw, ("params",), value)
                except BaseException:
                    ruling.end()
                    raise
                request = OpenRequest(method, wire.id, is_modern=False, running=ruling.running)
                self._conversation.down.add(request)
                return Forward(raw)
            case Denied():
                return Answer(refusals.answer_denied(wire, ruling, is_modern=False))
            case Pending():
                if value is not params:
                    wire.raw = rewritten(wire.raw, ("params",), value)
                return self._held_messages.hold(wire, call, ruling)

    def _undecided(self, wire: Wire, method: str) -> Verdict:
        """Forward a request that no rule is about, unless its texts are blocked."""
        assert wire.id is not None
        screened = self._conversation.screen.message(
            "request", method, wire.params, self._conversation.judge.policy()
        )
        blocked = screened.objection or screened.doubt
        denies = blocked is not None and self._conversation.enforces()
        recorded = self._note(
            "deny" if denies else "pass", method, request=wire.id, note=screened.note
        )
        if denies or not recorded:
            return Answer(refusals.error(wire.id, refusals.BLOCKED, blocked or "Blocked by policy"))
        self._conversation.down.add(OpenRequest(method, wire.id, is_modern=False))
        if screened.value is wire.params or not self._conversation.enforces():
            return Forward(wire.raw)
        return Forward(rewritten(wire.raw, ("params",), screened.value))

    def _asked(
        self, method: str, params: Any, request: str, *, can_elicit: bool
    ) -> tuple[Ruling, Call, Any]:
        """Decide about one question of the server to the client."""
        conversation = self._conversation
        screened = conversation.screen.asked(method, params, conversation.judge.policy())
        subject = conversation.with_received(
            Subject("method", method, conversation.judge.server, params)
        )
        call = Call(
            subject=subject,
            principal=conversation.principal,
            being=conversation.being,
            request=str(request),
            sender="server",
            can_elicit=can_elicit and conversation.shows_forms(),
            objection=screened.objection,
            doubt=screened.doubt,
            note=screened.note,
        )
        try:
            return conversation.judge.rule(call), call, screened.value
        except BaseException:
            call.end()
            raise

    # Notifications.

    def _notification(self, wire: Wire) -> Verdict:
        method = str(wire.method)
        if method in DECIDED_UP | DECIDED_DOWN:
            self._note("drop", method, note="a request without an id")
            return Drop(f"{method} without an id")
        if method == "notifications/cancelled" and type(wire.params) is dict:
            cancelled = wire.params.get("requestId")
            self._conversation.down.give_up(cancelled)
            if self._held_messages.cancel(cancelled, "server"):
                self._note("drop", method, note="of a request that was held")
                return Drop("the request was held")
        if method in ANNOUNCED:
            verdict = self._told(wire, method)
            ask = self._list_refresh.announced(method)
            if ask is None:
                return verdict
            return verdict._replace(answer=ask) if isinstance(verdict, Forward) else Answer(ask)
        return self._told(wire, method)

    def _told(self, wire: Wire, method: str) -> Forward | Drop:
        # A notification reaches readers of the client's screen or log, and perhaps a model.
        screened = self._conversation.screen.message(
            "notification", method, wire.params, self._conversation.judge.policy()
        )
        if (unrecorded := self._recorded(wire, screened.note)) is not None:
            return unrecorded
        blocked = screened.objection or screened.doubt
        if not self._conversation.enforces() or (blocked is None and screened.value is wire.params):
            return Forward(wire.raw)
        if blocked is None:
            return Forward(rewritten(wire.raw, ("params",), screened.value))
        remaining = _wordless(method, wire.params)
        return (
            Drop(blocked)
            if remaining is None
            else Forward(rewritten(wire.raw, ("params",), remaining))
        )

    def _recorded(self, wire: Wire, note: str | None) -> Drop | None:
        """Record a notification; return Drop when that fails and nothing may pass."""
        recorded = self._note("pass", str(wire.method), note=note)
        return None if recorded else Drop("the audit cannot be written")

    # Responses.

    def _response(self, wire: Wire) -> Verdict:
        assert wire.id is not None
        request = self._conversation.up.take_running(wire.id)
        if request is None:
            self._note("drop", "response", request=wire.id, note="an answer to no request")
            return Drop("an answer to nothing that was asked")
        if request.own is not None:
            return self._relisted(request, wire)
        raw = b""
        if request.method in DECIDED_UP:
            self._conversation.hand_over()
        try:
            raw = self._answered(request, wire)
        except MalformedMessageError as error:
            self._note("drop", request.method, request=wire.id, note=str(error))
            raw = self._instead(request, wire, Denied(f"Blocked by policy ({error})"))
        finally:
            _end(request, raw)
        return Forward(raw)

    def _relisted(self, request: OpenRequest, wire: Wire) -> Verdict:
        """Take a list that the guard requested; the client never sees it."""
        if type(wire.result) is not dict:
            self._list_refresh.failed(request)
            return Drop("the server does not list its announced changes")
        try:
            self._list(request, wire)
        except MalformedMessageError as error:
            self._list_refresh.failed(request)
            self._note("drop", request.method, note=str(error))
            return Drop("the server's list cannot be read")
        following = self._list_refresh.next(request, wire.result)
        return Drop("a list that was asked for here") if following is None else Answer(following)

    def _list(self, request: OpenRequest, wire: Wire) -> bytes:
        raw = self._list_filter.filtered(request, wire)
        self._list_refresh.seen(request, wire.result, is_first=cursor_of(request) is None)
        return raw

    def _answered(self, request: OpenRequest, wire: Wire) -> bytes:
        if wire.result is None:
            return self._error(request, wire)
        if request.method in OPENING:
            self._opened(request, wire)
        if "inputRequests" in wire.result or wire.result.get("resultType") == "input_required":
            return self._questions(request, wire)
        if request.method in LISTS:
            return self._list(request, wire)
        if request.method in OPENING:
            return self._list_filter.opening(request, wire)
        return self._screened(request, wire)

    def _opened(self, request: OpenRequest, wire: Wire) -> None:
        version = wire.result.get("protocolVersion")
        if request.method == "initialize" and type(version) is str:
            self._conversation.version = version
        version = version if type(version) is str else None
        offered = wire.result.get("capabilities")
        names = sorted(offered)[:20] if type(offered) is dict else []
        self._note("note", request.method, fields={"version": version, "offers": names})

    def _screened(self, request: OpenRequest, wire: Wire) -> bytes:
        screened = self._conversation.screen.result(
            wire.result, self._conversation.judge.policy(), request.method
        )
        denies = screened.objection is not None
        is_changed = screened.value is not wire.result
        if not denies and is_changed and self._conversation.enforces():
            changed = rewritten(wire.raw, ("result",), screened.value)
        else:
            changed = wire.raw
        settled = self._settled(request, wire, screened.objection, screened.note, changed)
        return self._fitted(request, wire, settled)

    def looked_at(
        self, request: OpenRequest, id_: Id, raw: bytes, looked: LargeFindings
    ) -> Forward:
        """Decide about a large result by the findings of a helper process."""
        wire = Wire(raw, None, id_, None, {})
        if request.method in DECIDED_UP:
            self._conversation.hand_over()
        changed = looked.changed or raw
        fitted = b""
        try:
            settled = self._settled(request, wire, looked.objection, looked.note, changed)
            fitted = self._fitted(request, wire, settled)
        except MalformedMessageError as error:
            fitted = self._instead(request, wire, Denied(f"Blocked by policy ({error})"))
        finally:
            _end(request, fitted)
        return Forward(fitted)

    def _fitted(self, request: OpenRequest, wire: Wire, raw: bytes) -> bytes:
        """Return a message whose result is within the limits of its size."""
        judge = self._conversation.judge
        policy = judge.policy()
        if not policy.limits or request.call is None:
            return raw
        limit = judge.limits.result_limit(policy, request.call.subject, judge.where)
        if limit is None or len(raw) <= limit.amount:  # the JSON of the result is shorter still
            return raw
        # Few policies limit results.
        from nacre.firewall.limits.result_cut import (  # noqa: PLC0415
            Whole,
            cut,
            is_cuttable,
            size_of,
        )

        result = numbers(parse(raw).get("result"))
        if type(result) is not dict or not is_cuttable(request.method, result):
            return raw
        size = size_of(result)
        if size <= limit.amount:
            return raw
        enforces = self._conversation.enforces()
        note = f"a result of {size:,} bytes {'was' if enforces else 'would be'} cut"
        recorded = self._note(
            "note", request.method, request=wire.id, note=f"{note} ({limit.matching.origin})"
        )
        if not enforces:
            return raw
        if not recorded:
            return self._instead(request, wire, refusals.UNAUDITED)
        whole = Whole(None, "The rest is not stored.")
        return rewritten(raw, ("result",), cut(request.method, result, limit, size, whole))

    def _settled(
        self,
        request: OpenRequest,
        wire: Wire,
        objection: str | None,
        note: str | None,
        changed: bytes,
    ) -> bytes:
        """Return the result as it is, changed, or replaced, and record why."""
        if note is None and objection is None:
            return wire.raw
        enforces = self._conversation.enforces()
        denies = objection is not None
        self._note(
            "deny" if denies else "note", request.method, request=wire.id, note=note or objection
        )
        if not enforces:
            return wire.raw
        return self._instead(request, wire, Denied(str(objection))) if denies else changed

    def _error(self, request: OpenRequest, wire: Wire) -> bytes:
        screened = self._conversation.screen.message(
            "error", request.method, wire.error, self._conversation.judge.policy()
        )
        blocked = screened.objection or screened.doubt
        if screened.note is None and blocked is None:
            return wire.raw
        self._note("note", request.method, request=wire.id, note=screened.note)
        if not self._conversation.enforces():
            return wire.raw
        if blocked is not None:
            return self._instead(request, wire, Denied(blocked))
        return rewritten(wire.raw, ("error",), screened.value)

    def _questions(self, request: OpenRequest, wire: Wire) -> bytes:
        """Decide about each question that the server asks within a result."""
        questions = wire.result.get("inputRequests", {})
        if type(questions) is not dict:
            raise MalformedMessageError("'inputRequests' must be an object")
        changed: dict[str, Any] = {}
        for key, question in questions.items():
            method = question.get("method") if type(question) is dict else None
            if type(method) is not str or method not in DECIDED_DOWN:
                raise MalformedMessageError(f"the server asks for something unknown: '{key[:40]}'")
            params = question.get("params", {})
            ruling, _, value = self._asked(method, params, str(wire.id), can_elicit=False)
            if not isinstance(ruling, Allowed):
                return self._instead(request, wire, _denied(ruling))
            ruling.end()  # the answer comes with another round of the call
            if value is not params:
                changed[key] = {**question, "params": value}
        self._continue(request, wire)
        raw = wire.raw
        if changed and self._conversation.enforces():
            raw = rewritten(raw, ("result", "inputRequests"), {**questions, **changed})
            wire = message(raw, parse(raw))
        return self._screened(request, wire)  # a result may say more besides its questions

    def _continue(self, request: OpenRequest, wire: Wire) -> None:
        """Remember an approved call, so that its next round needs no new approval."""
        state = wire.result.get("requestState")
        if request.granted and request.call is not None and type(state) is str:
            continued = self._conversation.continued
            policy = self._conversation.judge.policy().digest
            continued[state_key(state)] = call_key(request.call.subject, policy)

    def _instead(self, request: OpenRequest, wire: Wire, denied: Denied) -> bytes:
        """Return the answer that replaces a blocked result."""
        assert wire.id is not None
        if request.method == "tools/call":
            blocked = refusals.blocked_result(denied, is_modern=request.is_modern)
            return refusals.result(request.id, blocked)
        return refusals.error(request.id, refusals.BLOCKED, denied.text)

    def _note(self, outcome: Any, method: str, **more: Any) -> bool:
        return self._conversation.note(outcome, method, sender="server", **more)


def _end(request: OpenRequest, raw: bytes) -> None:
    """End a request for its limits; `raw` is the message that its sender gets."""
    if not raw or request.running is None or not request.running.counts_bytes:
        request.end()
        return
    # Few policies limit bytes.
    from nacre.firewall.limits.result_cut import size_of  # noqa: PLC0415

    try:
        result = parse(raw).get("result")
        request.end(0 if result is None else size_of(numbers(result)))
    except MalformedMessageError:  # it has a number that cannot be written again
        request.end(len(raw))
    finally:
        request.end()


def _wordless(method: str, params: Any) -> dict[str, Any] | None:
    """Return the parts of a notification that are not words; None when there are none.

    Without progress, clients give up waiting; without a change notice, they keep an old list.
    """
    if method.endswith("/list_changed"):
        return {}
    opaque = opaque_members("notification", method)
    if not opaque or type(params) is not dict:
        return None
    remaining = {name: value for name, value in params.items() if name in opaque}
    if not all(map(_is_token, remaining.values())):
        return None
    if method == _PROGRESS:
        far = {name: params[name] for name in _FAR if name in params}
        if not all(type(value) is JsonNumber for value in far.values()):
            return None
        remaining |= far
    return remaining


def _is_token(value: Any) -> bool:
    return type(value) is JsonNumber or type(value) is str


def _denied(ruling: Denied | Pending) -> Denied:
    if isinstance(ruling, Denied):
        return ruling
    by, decision = ruling.by, ruling.request.decision
    return Denied(getattr(by, "text", decision.text), decision.rule)
