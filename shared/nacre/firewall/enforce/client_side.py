"""What a guard does with messages of the client."""

import hashlib
from collections.abc import Mapping
from typing import Any

from nacre.firewall.content.digests import digest
from nacre.firewall.enforce import refusals
from nacre.firewall.enforce.announced_lists import Relisting
from nacre.firewall.enforce.conversation import Asked, Conversation
from nacre.firewall.enforce.judge import Allowed, Call, Denied, Pending, Ruling
from nacre.firewall.enforce.message import DECIDED_DOWN, DECIDED_UP, LISTS, OPENING, Wire, WireError
from nacre.firewall.enforce.mirrored_headers import mirrored
from nacre.firewall.enforce.pending_approvals import Holding
from nacre.firewall.enforce.pin_check import Trust
from nacre.firewall.enforce.rewrite import numbers, rewritten
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Verdict
from nacre.firewall.pins import PinKind
from nacre.firewall.rules.rule import NO_PATHS, Subject

# Of one round or one message, and so no part of what is decided about.
_OPENING = "io.modelcontextprotocol/"
_PINNED: Mapping[str, tuple[PinKind, str]] = {
    "prompts/get": ("prompt", "name"),
    "resources/read": ("resource", "uri"),
}
_PASSING = ("_meta", "inputResponses", "requestState")


class ClientSide:
    """Decides what goes from the client to the server."""

    def __init__(
        self, talk: Conversation, holding: Holding, trust: Trust, relisting: Relisting
    ) -> None:
        self._talk = talk
        self._holding = holding
        self._trust = trust
        self._relisting = relisting

    def take(
        self, wire: Wire, *, headers: Mapping[str, str] | None = None, alone: bool = True
    ) -> Verdict:
        """Decide about one message; `alone`: it is no part of a batch."""
        if wire.method is None:
            return self._response(wire)
        if wire.id is None:
            return self._notification(wire)
        return self._request(wire, headers, alone=alone)

    def _request(self, wire: Wire, headers: Mapping[str, str] | None, *, alone: bool) -> Verdict:
        assert wire.id is not None
        assert wire.method is not None
        problem = self._talk.up.problem(wire.id)
        if problem is not None:
            raise WireError(problem, id=wire.id)
        self._learn_opening(wire)
        mirrors = None if headers is None else mirrored(wire.raw, headers, self._talk.schemas)
        decides = self._decided if wire.method in DECIDED_UP else self._passed
        verdict = decides(wire, alone=alone)
        if mirrors is not None and isinstance(verdict, Forward):
            return Forward(verdict.raw, verdict.answer, mirrors)
        return verdict

    def first(self, wire: Wire) -> bytes | None:
        """Return the request for a list that has to come before this one's decision."""
        self._learn_opening(wire)
        return self._relisting.first(str(wire.method))

    def withdrawn(self, wire: Wire) -> bytes | None:
        """Return what the client gets if a request may not be made in a new session; else None."""
        if wire.id is None or wire.method not in DECIDED_UP:
            return None
        problem = self._objection(self._subject(wire))
        if problem is None or not self._talk.enforces():
            return None
        self._note("deny", wire, note=problem)
        self._talk.up.take(wire.id)
        denied = Denied(problem, None, "")
        return refusals.denial(str(wire.method), wire.id, denied, is_modern=wire.is_modern)

    def _learn_opening(self, wire: Wire) -> None:
        if wire.is_modern:
            self._talk.opening = {
                name: numbers(each) for name, each in wire.meta.items() if name.startswith(_OPENING)
            }

    def _passed(self, wire: Wire, *, alone: bool) -> Verdict:
        del alone
        assert wire.id is not None
        method = str(wire.method)
        if not self._note("pass", wire):
            denied = Denied("Blocked by policy (the audit cannot be written)", None, "")
            return Answer(refusals.denial(method, wire.id, denied, is_modern=wire.is_modern))
        if method in OPENING:
            self._relisting.opened()
        if method == "initialize" and type(wire.params) is dict:
            capabilities = wire.params.get("capabilities")
            self._talk.capabilities = capabilities if type(capabilities) is dict else {}
        raw = wire.raw
        if type(wire.params) is dict and "inputResponses" in wire.params:
            verdict = self._answers(wire)  # of a task, which goes on by a method of its own
            if isinstance(verdict, Answer):
                return verdict
            raw = verdict.raw
        asked = Asked(method, wire.id, wire.is_modern, self._is_first_page(wire))
        self._talk.up.add(self._relisting.asked(asked))
        return Forward(raw)

    def _is_first_page(self, wire: Wire) -> Call | None:
        """Carry with a list request whether it goes on with an earlier page."""
        if wire.method not in LISTS:
            return None
        cursor = wire.params.get("cursor") if type(wire.params) is dict else None
        subject = Subject("method", str(wire.method), self._talk.judge.server, {"cursor": cursor})
        return Call(subject=subject)

    def _decided(self, wire: Wire, *, alone: bool) -> Verdict:
        subject = self._subject(wire)
        call = Call(
            subject=subject,
            principal=self._talk.principal,
            being=self._talk.being,
            request=str(wire.id),
            can_elicit=alone and self._talk.can_elicit(wire),
            objection=self._objection(subject),
            granted=self._continues(wire, subject),
        )
        ticket = self._holding.ticket(wire)
        raw = wire.raw
        if ticket is None:
            ruling = self._talk.judge.rule(call)
        else:
            raw = self._holding.without_ours(wire)
            ruling = self._talk.judge.resume(call, ticket, self._holding.answer_in(wire))
        if isinstance(ruling, Pending) and not alone:
            ruling = Denied(_later(ruling), ruling.request.decision.rule, "")
        if isinstance(ruling, Allowed) and ticket is None and "inputResponses" in wire.params:
            verdict = self._answers(wire)
            if isinstance(verdict, Answer):
                return verdict
            raw = verdict.raw
        return self._ruled(wire, call, ruling, raw)

    def _objection(self, subject: Subject) -> str | None:
        """Return why what the call is about may not be used, whatever the rules say."""
        method = "tools/call" if subject.kind == "tool" else subject.name
        if (problem := self._relisting.problem(method)) is not None:
            return problem
        if subject.kind == "tool":
            return self._trust.objection("tool", subject.name)
        kind, key = _PINNED[subject.name]
        name = subject.arguments.get(key)
        return self._trust.objection(kind, name) if type(name) is str else None

    def _ruled(self, wire: Wire, call: Call, ruling: Ruling, raw: bytes) -> Verdict:
        assert wire.id is not None
        method = str(wire.method)
        if isinstance(ruling, Allowed):
            granted = ruling.approval is not None
            self._talk.up.add(Asked(method, wire.id, wire.is_modern, call, granted=granted))
            return Forward(raw)
        match ruling:
            case Denied():
                id_ = refusals.spelled(wire.id, wire.raw)
                assert id_ is not None
                return Answer(refusals.denial(method, id_, ruling, is_modern=wire.is_modern))
            case Pending():
                return self._holding.hold(wire, call, ruling)

    def _subject(self, wire: Wire) -> Subject:
        method, server = str(wire.method), self._talk.judge.server
        if type(wire.params) is not dict:
            raise WireError(f"{method}: 'params' must be an object", code=-32602, id=wire.id)
        if method != "tools/call":
            params = {key: value for key, value in wire.params.items() if key not in _PASSING}
            return Subject("method", method, server, params)
        name, arguments = wire.params.get("name"), wire.params.get("arguments")
        if type(name) is not str or not name:
            raise WireError("tools/call: 'name' must be a text", code=-32602, id=wire.id)
        if arguments is not None and type(arguments) is not dict:
            raise WireError("tools/call: 'arguments' must be an object", code=-32602, id=wire.id)
        paths = self._talk.paths.get(name, NO_PATHS)
        return Subject("tool", name, server, arguments or {}, paths)

    def _continues(self, wire: Wire, subject: Subject) -> bool:
        """Tell whether this is the next round of a call that was approved."""
        state = wire.params.get("requestState")
        if type(state) is not str or not self._talk.continued:
            return False
        known = self._talk.continued.pop(state_key(state), None)
        return known is not None and known == call_key(subject, self._talk.judge.policy().digest)

    def _answers(self, wire: Wire) -> Forward | Answer:
        """Look at what the client gives the server for its questions."""
        self._talk.learn_roots(wire.params["inputResponses"])
        policy = self._talk.judge.policy()
        given = wire.params["inputResponses"]
        screened = self._talk.screen.answer(given, policy)
        names = sorted(given)[:10] if type(given) is dict else []
        note = f"answers to {', '.join(name[:40] for name in names)}"
        if screened.note is not None:
            note = f"{note}; {screened.note}"
        denies = screened.objection is not None and self._talk.enforces()
        kept = self._note("deny" if denies else "pass", wire, note=note)
        if denies or not kept:
            assert wire.id is not None
            denied = Denied(screened.objection or "Blocked by policy", None, "")
            return Answer(
                refusals.denial(str(wire.method), wire.id, denied, is_modern=wire.is_modern)
            )
        if screened.value is given or not self._talk.enforces():
            return Forward(wire.raw)
        return Forward(rewritten(wire.raw, ("params", "inputResponses"), screened.value))

    def _notification(self, wire: Wire) -> Verdict:
        method = str(wire.method)
        if method in DECIDED_UP | DECIDED_DOWN:
            self._note("drop", wire, note="a request without an id")
            return Drop(f"{method} without an id")
        params = wire.params if type(wire.params) is dict else {}
        if method == "notifications/cancelled":
            cancelled = params.get("requestId")
            self._talk.up.give_up(cancelled)
            if self._holding.given_up(cancelled):
                self._note("drop", wire, note="of a call that was held")
                return Drop("the call was held")
        if not self._note("pass", wire):
            return Drop("the audit cannot be written")
        return Forward(wire.raw)

    def _response(self, wire: Wire) -> Verdict:
        assert wire.id is not None
        ours = self._holding.answered(wire)
        if ours is not None:
            return ours
        asked = self._talk.down.take(wire.id)
        if asked is None:
            self._note("drop", wire, note="an answer to nothing that was asked")
            return Drop("an answer to nothing that was asked")
        if wire.result is None:
            kept = self._note("pass", wire, note=f"refusal of {asked.method}")
            return Forward(wire.raw if kept else _unaudited(asked))
        if asked.method == "roots/list":
            self._talk.learn_roots(wire.result)
        screened = self._talk.screen.answer(wire.result, self._talk.judge.policy())
        enforces = self._talk.enforces()
        if screened.objection is not None and enforces:
            self._note("deny", wire, note=f"answer to {asked.method}: {screened.note}")
            denied = Denied(screened.objection, None, "")
            return Forward(refusals.denial(asked.method, asked.id, denied, is_modern=False))
        if not self._note("pass", wire, note=_joined(f"answer to {asked.method}", screened.note)):
            return Forward(_unaudited(asked))
        if screened.value is wire.result or not enforces:
            return Forward(wire.raw)
        return Forward(rewritten(wire.raw, ("result",), screened.value))

    def _note(self, outcome: Any, wire: Wire, note: str | None = None) -> bool:
        call = Call(
            subject=Subject("method", str(wire.method), "", {}),
            principal=self._talk.principal,
            being=self._talk.being,
        )
        return self._talk.judge.note(
            outcome,
            wire.method or "response",
            sender="client",
            call=call,
            request=wire.id and str(wire.id),
            note=note,
        )


def state_key(state: str) -> str:
    """Return what stands for a server's state, which may be long."""
    return hashlib.sha256(state.encode("utf-8", "surrogatepass")).hexdigest()


def call_key(subject: Subject, policy: str) -> str:
    """Return what stands for a call under a policy, the same in each of its rounds."""
    return digest([policy, subject.kind, subject.name, dict(subject.arguments)])


def _unaudited(asked: Asked) -> bytes:
    """Return what a server gets in place of an answer that could not be recorded."""
    denied = Denied("Blocked by policy (the audit cannot be written)", None, "")
    return refusals.denial(asked.method, asked.id, denied, is_modern=False)


def _later(pending: Pending) -> str:
    text = pending.request.decision.text
    return f"{text}: it needs an approval, which a batch cannot wait for; send it alone"


def _joined(*notes: str | None) -> str:
    return "; ".join(note for note in notes if note)
