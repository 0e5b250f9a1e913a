"""Messages from the client to the server: the decision about each."""

import hashlib
from collections.abc import Mapping
from typing import Any

from nacre.firewall.content.digests import digest
from nacre.firewall.enforce import refusals
from nacre.firewall.enforce.announced_lists import ListRefresh
from nacre.firewall.enforce.conversation import Conversation, OpenRequest
from nacre.firewall.enforce.json_edits import numbers, rewritten
from nacre.firewall.enforce.judge import Allowed, Call, Denied, Pending, Ruling
from nacre.firewall.enforce.message import DECIDED_DOWN, DECIDED_UP, LISTS, OPENING, Wire, WireError
from nacre.firewall.enforce.mirrored_headers import checked_mirrors
from nacre.firewall.enforce.pending_approvals import HeldMessages
from nacre.firewall.enforce.pin_check import PinCheck
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Verdict
from nacre.firewall.pins import PinKind
from nacre.firewall.rules.rule import NO_PATHS, Subject
from nacre.protocol.large_calls import LargeArguments

# Members of one round or one message; rules do not see them.
_OPENING = "io.modelcontextprotocol/"
_PINNED: Mapping[str, tuple[PinKind, str]] = {
    "prompts/get": ("prompt", "name"),
    "resources/read": ("resource", "uri"),
}
_PASSING = ("_meta", "inputResponses", "requestState")


class ClientSide:
    """Decides about messages from the client to the server."""

    def __init__(
        self,
        conversation: Conversation,
        held_messages: HeldMessages,
        pin_check: PinCheck,
        list_refresh: ListRefresh,
    ) -> None:
        self._conversation = conversation
        self._held_messages = held_messages
        self._pin_check = pin_check
        self._list_refresh = list_refresh

    def take(
        self, wire: Wire, *, headers: Mapping[str, str] | None = None, alone: bool = True
    ) -> Verdict:
        """Decide about one message; `alone` is False for a part of a batch."""
        if wire.method is None:
            return self._response(wire)
        if wire.id is None:
            return self._notification(wire)
        return self._request(wire, headers, alone=alone)

    def _request(self, wire: Wire, headers: Mapping[str, str] | None, *, alone: bool) -> Verdict:
        assert wire.id is not None
        assert wire.method is not None
        problem = self._conversation.up.problem(wire.id)
        if problem is not None:
            raise WireError(problem, id=wire.id)
        self._learn_opening(wire)
        mirrors = (
            None
            if headers is None
            else checked_mirrors(wire.raw, headers, self._conversation.schemas)
        )
        decides = self._decided if wire.method in DECIDED_UP else self._passed
        verdict = decides(wire, alone=alone)
        if mirrors is not None and isinstance(verdict, Forward):
            return Forward(verdict.raw, verdict.answer, mirrors)
        return verdict

    def first(self, wire: Wire) -> bytes | None:
        """Return the list request that must be answered before this message is decided."""
        self._learn_opening(wire)
        return self._list_refresh.first(str(wire.method))

    def denial_in_new_session(self, wire: Wire) -> bytes | None:
        """Return the denial of a request that a new session does not allow; else None."""
        if wire.id is None or wire.method not in DECIDED_UP:
            return None
        problem = self._objection(self._subject(wire))
        if problem is None or not self._conversation.enforces():
            return None
        self._note("deny", wire, note=problem)
        self._conversation.up.take(wire.id)
        return refusals.answer_denied(wire, Denied(problem))

    def _learn_opening(self, wire: Wire) -> None:
        if wire.is_modern:
            self._conversation.opening = {
                name: numbers(value)
                for name, value in wire.meta.items()
                if name.startswith(_OPENING)
            }

    def _passed(self, wire: Wire, *, alone: bool) -> Verdict:
        del alone
        assert wire.id is not None
        method = str(wire.method)
        if not self._note("pass", wire):
            return Answer(refusals.answer_denied(wire, refusals.UNAUDITED))
        if method in OPENING:
            self._list_refresh.opened()
        if method == "initialize" and type(wire.params) is dict:
            capabilities = wire.params.get("capabilities")
            self._conversation.capabilities = capabilities if type(capabilities) is dict else {}
        raw = wire.raw
        if type(wire.params) is dict and "inputResponses" in wire.params:
            verdict = self._answers(wire)  # answers to a task, which has its own method for them
            if isinstance(verdict, Answer):
                return verdict
            raw = verdict.raw
        request = OpenRequest(method, wire.id, wire.is_modern, self._is_first_page(wire))
        self._conversation.up.add(self._list_refresh.asked(request))
        return Forward(raw)

    def _is_first_page(self, wire: Wire) -> Call | None:
        """Return a call that carries the cursor of a list request; None for other requests."""
        if wire.method not in LISTS:
            return None
        cursor = wire.params.get("cursor") if type(wire.params) is dict else None
        subject = Subject(
            "method", str(wire.method), self._conversation.judge.server, {"cursor": cursor}
        )
        return Call(subject=subject)

    def _decided(self, wire: Wire, *, alone: bool) -> Verdict:
        subject = self._conversation.with_received(self._subject(wire))
        call = Call(
            subject=subject,
            principal=self._conversation.principal,
            being=self._conversation.being,
            request=str(wire.id),
            can_elicit=alone and self._conversation.can_elicit(wire),
            objection=self._objection(subject),
            granted=self._continues(wire, subject),
        )
        try:
            return self._verdict(wire, call, alone=alone)
        except BaseException:  # a place that a call has got belongs to a call that is made
            call.end()
            raise

    def _verdict(self, wire: Wire, call: Call, *, alone: bool) -> Verdict:
        ticket = self._held_messages.ticket(wire)
        raw = wire.raw
        if ticket is None:
            ruling = self._conversation.judge.rule(call)
        else:
            raw = self._held_messages.without_answer(wire)
            ruling = self._conversation.judge.resume(
                call, ticket, self._held_messages.answer_in(wire)
            )
        if isinstance(ruling, Pending) and not alone:
            ruling = Denied(_later(ruling), ruling.request.decision.rule)
        if isinstance(ruling, Allowed) and ticket is None and "inputResponses" in wire.params:
            verdict = self._answers(wire)
            if isinstance(verdict, Answer):
                ruling.end()
                return verdict
            raw = verdict.raw
        return self._ruled(wire, call, ruling, raw)

    def _objection(self, subject: Subject) -> str | None:
        """Return the reason why the target of a call may not be used even if a rule allows it."""
        method = "tools/call" if subject.kind == "tool" else subject.name
        if (problem := self._list_refresh.problem(method)) is not None:
            return problem
        if subject.kind == "tool":
            return self._pin_check.objection("tool", subject.name)
        kind, key = _PINNED[subject.name]
        name = subject.arguments.get(key)
        return self._pin_check.objection(kind, name) if type(name) is str else None

    def _ruled(self, wire: Wire, call: Call, ruling: Ruling, raw: bytes) -> Verdict:
        assert wire.id is not None
        method = str(wire.method)
        if isinstance(ruling, Allowed):
            granted = ruling.approval is not None
            request = OpenRequest(method, wire.id, wire.is_modern, call, granted=granted)
            request.running = ruling.running
            self._conversation.up.add(request)
            return Forward(raw)
        match ruling:
            case Denied():
                return Answer(refusals.answer_denied(wire, ruling))
            case Pending():
                return self._held_messages.hold(wire, call, ruling)

    def _subject(self, wire: Wire) -> Subject:
        method, server = str(wire.method), self._conversation.judge.server
        if type(wire.params) is not dict:
            raise WireError(f"{method}: 'params' must be an object", code=-32602, id=wire.id)
        if method != "tools/call":
            params = {key: value for key, value in wire.params.items() if key not in _PASSING}
            return Subject("method", method, server, params)
        name, arguments = wire.params.get("name"), wire.params.get("arguments")
        if type(name) is not str or not name:
            raise WireError("tools/call: 'name' must be a string", code=-32602, id=wire.id)
        if arguments is not None and type(arguments) not in (dict, LargeArguments):
            raise WireError("tools/call: 'arguments' must be an object", code=-32602, id=wire.id)
        paths = self._conversation.paths.get(name, NO_PATHS)
        return Subject("tool", name, server, {} if arguments is None else arguments, paths)

    def _continues(self, wire: Wire, subject: Subject) -> bool:
        """Tell whether this is the next round of a call that was approved."""
        state = wire.params.get("requestState")
        if type(state) is not str or not self._conversation.continued:
            return False
        approved = self._conversation.continued.pop(state_key(state), None)
        return approved is not None and approved == call_key(
            subject, self._conversation.judge.policy().digest
        )

    def _answers(self, wire: Wire) -> Forward | Answer:
        """Check the client's answers to the server's questions."""
        self._conversation.learn_roots(wire.params["inputResponses"])
        policy = self._conversation.judge.policy()
        answers = wire.params["inputResponses"]
        screened = self._conversation.screen.answer(answers, policy)
        names = sorted(answers)[:10] if type(answers) is dict else []
        note = f"answers to {', '.join(name[:40] for name in names)}"
        if screened.note is not None:
            note = f"{note}; {screened.note}"
        denies = screened.objection is not None and self._conversation.enforces()
        recorded = self._note("deny" if denies else "pass", wire, note=note)
        if denies or not recorded:
            denied = Denied(screened.objection or "Blocked by policy")
            return Answer(refusals.answer_denied(wire, denied))
        if screened.value is answers or not self._conversation.enforces():
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
            self._conversation.up.give_up(cancelled)
            if self._held_messages.cancel(cancelled):
                self._note("drop", wire, note="of a call that was held")
                return Drop("the call was held")
        if not self._note("pass", wire):
            return Drop("the audit cannot be written")
        return Forward(wire.raw)

    def _response(self, wire: Wire) -> Verdict:
        assert wire.id is not None
        ours = self._held_messages.answered(wire)
        if ours is not None:
            return ours
        request = self._conversation.down.take(wire.id)
        if request is None:
            self._note("drop", wire, note="an answer to nothing that was asked")
            return Drop("an answer to nothing that was asked")
        if wire.result is None:
            recorded = self._note("pass", wire, note=f"refusal of {request.method}")
            return Forward(wire.raw if recorded else _denial(request, refusals.UNAUDITED))
        if request.method == "roots/list":
            self._conversation.learn_roots(wire.result)
        screened = self._conversation.screen.answer(wire.result, self._conversation.judge.policy())
        enforces = self._conversation.enforces()
        if screened.objection is not None and enforces:
            self._note("deny", wire, note=f"answer to {request.method}: {screened.note}")
            return Forward(_denial(request, Denied(screened.objection)))
        if not self._note("pass", wire, note=_joined(f"answer to {request.method}", screened.note)):
            return Forward(_denial(request, refusals.UNAUDITED))
        if screened.value is wire.result or not enforces:
            return Forward(wire.raw)
        return Forward(rewritten(wire.raw, ("result",), screened.value))

    def _note(self, outcome: Any, wire: Wire, note: str | None = None) -> bool:
        method = wire.method or "response"
        return self._conversation.note(outcome, method, sender="client", request=wire.id, note=note)


def state_key(state: str) -> str:
    """Return a short key for a server's state, which may be long."""
    return hashlib.sha256(state.encode("utf-8", "surrogatepass")).hexdigest()


def call_key(subject: Subject, policy: str) -> str:
    """Return a key for a call under a policy; it is the same in each round of the call."""
    return digest([policy, subject.kind, subject.name, dict(subject.arguments)])


def _denial(request: OpenRequest, denied: Denied) -> bytes:
    """Return the answer to a server's request whose answer by the client is blocked."""
    return refusals.denial(request.method, request.id, denied, is_modern=False)


def _later(pending: Pending) -> str:
    text = pending.request.decision.text
    return f"{text}: it needs an approval, which a batch cannot wait for; send it alone"


def _joined(*notes: str | None) -> str:
    return "; ".join(note for note in notes if note)
