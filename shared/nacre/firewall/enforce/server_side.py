"""What a guard does with messages of the server."""

from typing import Any

from nacre.core.errors import MalformedMessageError
from nacre.firewall.content.message_texts import opaque_members
from nacre.firewall.enforce import refusals
from nacre.firewall.enforce.announced_lists import ANNOUNCED, Relisting
from nacre.firewall.enforce.client_side import call_key, state_key
from nacre.firewall.enforce.conversation import Asked, Conversation
from nacre.firewall.enforce.judge import Allowed, Call, Denied, Pending, Ruling
from nacre.firewall.enforce.large_results import Looked
from nacre.firewall.enforce.listed_tools import Listing, cursor_of
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
from nacre.firewall.enforce.pending_approvals import Holding
from nacre.firewall.enforce.rewrite import rewritten
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Verdict
from nacre.firewall.rules.arguments.arguments import JsonNumber
from nacre.firewall.rules.rule import Subject

_MOST_STATES = 1000
_PROGRESS = "notifications/progress"
_FAR = ("progress", "total")


class ServerSide:
    """Decides what goes from the server to the client."""

    def __init__(
        self, talk: Conversation, holding: Holding, listing: Listing, relisting: Relisting
    ) -> None:
        self._talk = talk
        self._holding = holding
        self._listing = listing
        self._relisting = relisting

    def take(self, wire: Wire, *, alone: bool = True) -> Verdict:
        """Decide about one message; `alone`: it is no part of a batch."""
        if wire.method is None:
            return self._response(wire)
        if wire.id is None:
            return self._notification(wire)
        return self._request(wire, alone=alone)

    # Requests of the server, which only the older generation has.

    def _request(self, wire: Wire, *, alone: bool) -> Verdict:
        assert wire.id is not None
        method = str(wire.method)
        problem = self._talk.down.problem(wire.id)
        if problem is not None:
            raise WireError(problem, id=wire.id)
        if method not in DECIDED_DOWN:
            return self._undecided(wire, method)
        params = wire.params if type(wire.params) is dict else {}
        ruling, call, value = self._asked(method, params, wire.id, can_elicit=alone)
        match ruling:
            case Allowed():
                raw = wire.raw
                if value is not params and self._talk.enforces():
                    raw = rewritten(raw, ("params",), value)
                self._talk.down.add(Asked(method, wire.id, is_modern=False))
                return Forward(raw)
            case Denied():
                id_ = refusals.spelled(wire.id, wire.raw)
                assert id_ is not None
                return Answer(refusals.denial(method, id_, ruling, is_modern=False))
            case Pending():
                if value is not params:
                    wire.raw = rewritten(wire.raw, ("params",), value)
                return self._holding.hold(wire, call, ruling)

    def _undecided(self, wire: Wire, method: str) -> Verdict:
        """Let a request pass that no rule is about, as far as its texts may."""
        assert wire.id is not None
        screened = self._talk.screen.message(
            "request", method, wire.params, self._talk.judge.policy()
        )
        blocked = screened.objection or screened.doubt
        denies = blocked is not None and self._talk.enforces()
        kept = self._note("deny" if denies else "pass", method, request=wire.id, note=screened.note)
        if denies or not kept:
            return Answer(refusals.error(wire.id, refusals.BLOCKED, blocked or "Blocked by policy"))
        self._talk.down.add(Asked(method, wire.id, is_modern=False))
        if screened.value is wire.params or not self._talk.enforces():
            return Forward(wire.raw)
        return Forward(rewritten(wire.raw, ("params",), screened.value))

    def _asked(
        self, method: str, params: Any, request: str, *, can_elicit: bool
    ) -> tuple[Ruling, Call, Any]:
        """Decide about one thing that the server asks of the client."""
        talk = self._talk
        screened = talk.screen.asked(method, params, talk.judge.policy())
        subject = Subject("method", method, talk.judge.server, params)
        call = Call(
            subject=subject,
            principal=talk.principal,
            being=talk.being,
            request=str(request),
            sender="server",
            can_elicit=can_elicit and _can_show(talk),
            objection=screened.objection,
            doubt=screened.doubt,
            note=screened.note,
        )
        return talk.judge.rule(call), call, screened.value

    # Notifications.

    def _notification(self, wire: Wire) -> Verdict:
        method = str(wire.method)
        if method in DECIDED_UP | DECIDED_DOWN:
            self._note("drop", method, note="a request without an id")
            return Drop(f"{method} without an id")
        if method == "notifications/cancelled" and type(wire.params) is dict:
            cancelled = wire.params.get("requestId")
            self._talk.down.give_up(cancelled)
            if self._holding.given_up(cancelled, "server"):
                self._note("drop", method, note="of a request that was held")
                return Drop("the request was held")
        if method in ANNOUNCED:
            verdict = self._told(wire, method)
            ask = self._relisting.announced(method)
            if ask is None:
                return verdict
            return verdict._replace(answer=ask) if isinstance(verdict, Forward) else Answer(ask)
        return self._told(wire, method)

    def _told(self, wire: Wire, method: str) -> Forward | Drop:
        # What a server says on the way reaches whoever reads the client's screen or log, a
        # model among them.
        screened = self._talk.screen.message(
            "notification", method, wire.params, self._talk.judge.policy()
        )
        if (unrecorded := self._recorded(wire, screened.note)) is not None:
            return unrecorded
        blocked = screened.objection or screened.doubt
        if not self._talk.enforces() or (blocked is None and screened.value is wire.params):
            return Forward(wire.raw)
        if blocked is None:
            return Forward(rewritten(wire.raw, ("params",), screened.value))
        left = _wordless(method, wire.params)
        return Drop(blocked) if left is None else Forward(rewritten(wire.raw, ("params",), left))

    def _recorded(self, wire: Wire, note: str | None) -> Drop | None:
        """Record a notification; return its end where that fails and nothing may pass."""
        kept = self._note("pass", str(wire.method), note=note)
        return None if kept else Drop("the audit cannot be written")

    # Responses.

    def _response(self, wire: Wire) -> Verdict:
        assert wire.id is not None
        asked = self._talk.up.take(wire.id)
        if asked is None:
            self._note("drop", "response", request=wire.id, note="an answer to no request")
            return Drop("an answer to nothing that was asked")
        if asked.own is not None:
            return self._relisted(asked, wire)
        try:
            return Forward(self._answered(asked, wire))
        except MalformedMessageError as error:
            self._note("drop", asked.method, request=wire.id, note=str(error))
            return Forward(
                self._instead(asked, wire, Denied(f"Blocked by policy ({error})", None, ""))
            )

    def _relisted(self, asked: Asked, wire: Wire) -> Verdict:
        """Take a list that we asked for ourselves; its client never hears of it."""
        if type(wire.result) is not dict:
            self._relisting.failed(asked)
            return Drop("the server does not list what it has announced")
        try:
            self._list(asked, wire)
        except MalformedMessageError as error:
            self._relisting.failed(asked)
            self._note("drop", asked.method, note=str(error))
            return Drop("the server's list cannot be read")
        following = self._relisting.next(asked, wire.result)
        return Drop("a list that was asked for here") if following is None else Answer(following)

    def _list(self, asked: Asked, wire: Wire) -> bytes:
        raw = self._listing.filtered(asked, wire)
        self._relisting.seen(asked, wire.result, is_first=cursor_of(asked) is None)
        return raw

    def _answered(self, asked: Asked, wire: Wire) -> bytes:
        if wire.result is None:
            return self._error(asked, wire)
        if asked.method in OPENING:
            self._opened(asked, wire)
        if "inputRequests" in wire.result or wire.result.get("resultType") == "input_required":
            return self._questions(asked, wire)
        if asked.method in LISTS:
            return self._list(asked, wire)
        if asked.method in OPENING:
            return self._listing.opening(asked, wire)
        return self._screened(asked, wire)

    def _opened(self, asked: Asked, wire: Wire) -> None:
        version = wire.result.get("protocolVersion")
        if asked.method == "initialize" and type(version) is str:
            self._talk.version = version
        version = version if type(version) is str else None
        offered = wire.result.get("capabilities")
        names = sorted(offered)[:20] if type(offered) is dict else []
        self._note("note", asked.method, fields={"version": version, "offers": names})

    def _screened(self, asked: Asked, wire: Wire) -> bytes:
        screened = self._talk.screen.result(wire.result, self._talk.judge.policy(), asked.method)
        denies = screened.objection is not None
        is_changed = screened.value is not wire.result
        if not denies and is_changed and self._talk.enforces():
            changed = rewritten(wire.raw, ("result",), screened.value)
        else:
            changed = wire.raw
        return self._settled(asked, wire, screened.objection, screened.note, changed)

    def looked_at(self, asked: Asked, id_: Id, raw: bytes, looked: Looked) -> Forward:
        """Take what was found in a large result elsewhere."""
        wire = Wire(raw, None, id_, None, {})
        changed = looked.changed or raw
        return Forward(self._settled(asked, wire, looked.objection, looked.note, changed))

    def _settled(
        self, asked: Asked, wire: Wire, objection: str | None, note: str | None, changed: bytes
    ) -> bytes:
        """Return the result as it is, changed, or replaced, and record why."""
        if note is None and objection is None:
            return wire.raw
        enforces = self._talk.enforces()
        denies = objection is not None
        self._note(
            "deny" if denies else "note", asked.method, request=wire.id, note=note or objection
        )
        if not enforces:
            return wire.raw
        return self._instead(asked, wire, Denied(str(objection), None, "")) if denies else changed

    def _error(self, asked: Asked, wire: Wire) -> bytes:
        screened = self._talk.screen.message(
            "error", asked.method, wire.error, self._talk.judge.policy()
        )
        blocked = screened.objection or screened.doubt
        if screened.note is None and blocked is None:
            return wire.raw
        self._note("note", asked.method, request=wire.id, note=screened.note)
        if not self._talk.enforces():
            return wire.raw
        if blocked is not None:
            return self._instead(asked, wire, Denied(blocked, None, ""))
        return rewritten(wire.raw, ("error",), screened.value)

    def _questions(self, asked: Asked, wire: Wire) -> bytes:
        """Decide about each thing that the server asks within a result."""
        wanted = wire.result.get("inputRequests", {})
        if type(wanted) is not dict:
            raise MalformedMessageError("'inputRequests' must be an object")
        changed: dict[str, Any] = {}
        for key, question in wanted.items():
            method = question.get("method") if type(question) is dict else None
            if type(method) is not str or method not in DECIDED_DOWN:
                raise MalformedMessageError(f"the server asks for what is unknown: '{key[:40]}'")
            params = question.get("params", {})
            ruling, _, value = self._asked(method, params, str(wire.id), can_elicit=False)
            if not isinstance(ruling, Allowed):
                return self._instead(asked, wire, _denied(ruling))
            if value is not params:
                changed[key] = {**question, "params": value}
        self._continue(asked, wire)
        raw = wire.raw
        if changed and self._talk.enforces():
            raw = rewritten(raw, ("result", "inputRequests"), {**wanted, **changed})
            wire = message(raw, parse(raw))
        return self._screened(asked, wire)  # a result may say more besides its questions

    def _continue(self, asked: Asked, wire: Wire) -> None:
        """Let the next round of an approved call need no approval of its own."""
        state = wire.result.get("requestState")
        if asked.granted and asked.call is not None and type(state) is str:
            known = self._talk.continued
            policy = self._talk.judge.policy().digest
            known[state_key(state)] = call_key(asked.call.subject, policy)
            if len(known) > _MOST_STATES:
                del known[next(iter(known))]

    def _instead(self, asked: Asked, wire: Wire, denied: Denied) -> bytes:
        """Return what the client gets in place of a result."""
        assert wire.id is not None
        if asked.method == "tools/call":
            blocked = refusals.blocked_result(denied, is_modern=asked.is_modern)
            return refusals.result(asked.id, blocked)
        return refusals.error(asked.id, refusals.BLOCKED, denied.text)

    def _note(self, outcome: Any, method: str, **more: Any) -> bool:
        call = Call(
            subject=Subject("method", method, "", {}),
            principal=self._talk.principal,
            being=self._talk.being,
        )
        request = more.pop("request", None)
        shown = None if request is None else str(request)
        return self._talk.judge.note(
            outcome, method, sender="server", call=call, request=shown, **more
        )


def _wordless(method: str, params: Any) -> dict[str, Any] | None:
    """Return what a notification tells besides its words; None where that is nothing.

    Without word of how far a call is, clients give up waiting; without word of a change, they
    go on with an old list.
    """
    if method.endswith("/list_changed"):
        return {}
    kept = opaque_members("notification", method)
    if not kept or type(params) is not dict:
        return None
    left = {name: each for name, each in params.items() if name in kept}
    if not all(_is_token(each) for each in left.values()):
        return None
    if method == _PROGRESS:
        far = {name: params[name] for name in _FAR if name in params}
        if not all(type(each) is JsonNumber for each in far.values()):
            return None
        left |= far
    return left


def _is_token(value: Any) -> bool:
    return type(value) is JsonNumber or type(value) is str


def _denied(ruling: Denied | Pending) -> Denied:
    if isinstance(ruling, Denied):
        return ruling
    by, decision = ruling.by, ruling.request.decision
    return Denied(getattr(by, "text", decision.text), decision.rule, "")


def _can_show(talk: Conversation) -> bool:
    offered = talk.capabilities.get("elicitation")
    return isinstance(offered, dict) and (not offered or "form" in offered)
