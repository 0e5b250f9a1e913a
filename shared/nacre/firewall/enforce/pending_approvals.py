"""Calls that wait for somebody's word: the question, the answer, and the time in between."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from nacre.core.errors import InvalidParamsError
from nacre.firewall.approvals.approver import Question
from nacre.firewall.audit.entry import Direction
from nacre.firewall.enforce import refusals
from nacre.firewall.enforce.conversation import Asked, Conversation
from nacre.firewall.enforce.json_spans import without_members
from nacre.firewall.enforce.judge import Allowed, Call, Denied, Pending, Ruling
from nacre.firewall.enforce.message import Wire, parse
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Hold, Release, Verdict
from nacre.protocol.messages import Request

QUESTION = "nacre_approval"
_STATE = "nacre1."
_OWN = ("requestState", "inputResponses")


@dataclass(slots=True)
class _Held:
    wire: Wire
    call: Call
    pending: Pending
    until: float
    to: Literal["client", "server"]


class Holding:
    """The messages of one conversation that are held."""

    def __init__(self, talk: Conversation, tick: Callable[[], float]) -> None:
        self._talk = talk
        self._tick = tick
        self._held: dict[str, _Held] = {}

    def __bool__(self) -> bool:
        return bool(self._held)

    def hold(self, wire: Wire, call: Call, pending: Pending) -> Verdict:
        """Ask, by the way that this client knows."""
        by = pending.by
        assert wire.id is not None
        from_client = call.sender == "client"
        if isinstance(by, Question) and from_client and wire.is_modern:
            return Answer(self._input_required(wire, by))
        seconds = self._talk.judge.policy().settings.approval_seconds
        until = self._tick() + (seconds if isinstance(by, Question) else by.seconds)
        held = _Held(wire, call, pending, until, "server" if from_client else "client")
        side = self._talk.up if from_client else self._talk.down
        side.add(Asked(str(wire.method), wire.id, wire.is_modern, call))
        # Not the ticket: calls that are alike have one, and each of them is held.
        own = f"nacre-{secrets.token_hex(8)}"
        self._held[own] = held
        if isinstance(by, Question):
            return Hold(refusals.request(own, "elicitation/create", by.params))
        return Hold()

    def answered(self, wire: Wire) -> Verdict | None:
        """Take the client's answer to a question of ours; None when it answers another."""
        held = self._held.get(str(wire.id))
        if held is None or not isinstance(held.pending.by, Question):
            return None
        del self._held[str(wire.id)]
        judge, pending = self._talk.judge, held.pending
        given = wire.result if wire.result is not None else {"action": "cancel"}
        ruling = judge.answered(held.call, pending.request, pending.by.ticket, given)
        release = self._released(held, ruling)
        if release is None:
            return Drop("the approval was answered, and is still awaited")
        # This message came from the client, so what is for the client goes back.
        return Forward(release.raw) if release.to == "server" else Answer(release.raw)

    def given_up(self, id_: object, sender: Direction = "client") -> bool:
        """Forget a held request that its sender cancels; nobody was told of it."""
        for name, held in list(self._held.items()):
            known = held.wire.id
            # A number is another id than the text of its digits.
            if held.call.sender == sender and type(known) is type(id_) and known == id_:
                del self._held[name]
                return True
        return False

    def poll(self) -> list[Release]:
        """Return what was decided elsewhere, and what nobody decided in time."""
        now, found = self._tick(), []
        for name, held in list(self._held.items()):
            judge, pending = self._talk.judge, held.pending
            ruling = judge.look(held.call, pending)
            if isinstance(ruling, Pending) and now >= held.until:
                text = pending.request.decision.text
                late = f"{text}: nobody approved it in time"
                if not isinstance(pending.by, Question):
                    late = pending.by.text
                ruling = judge.refuse(held.call, pending.request, late)
            release = self._released(held, ruling)
            if release is not None:
                self._held.pop(name, None)
                found.append(release)
        return found

    def _released(self, held: _Held, ruling: Ruling) -> Release | None:
        wire, side = held.wire, (self._talk.up if held.to == "server" else self._talk.down)
        assert wire.id is not None
        match ruling:
            case Pending():
                return None
            case Allowed():
                if side.take(wire.id) is None:
                    return None
                granted = Asked(str(wire.method), wire.id, wire.is_modern, held.call, granted=True)
                side.add(granted)
                return Release(held.to, wire.raw)
            case Denied():
                side.take(wire.id)
                id_ = refusals.spelled(wire.id, wire.raw)
                assert id_ is not None
                raw = refusals.denial(str(wire.method), id_, ruling, is_modern=wire.is_modern)
                return Release("client" if held.to == "server" else "server", raw)

    # The stateless era: the client keeps the question and makes the call again.

    def _input_required(self, wire: Wire, question: Question) -> bytes:
        states = self._talk.states
        assert states is not None
        assert wire.id is not None
        sealed = states.seal({"ticket": question.ticket}, [QUESTION], _as_request(wire), None)
        asked = {QUESTION: {"method": "elicitation/create", "params": dict(question.params)}}
        id_ = refusals.spelled(wire.id, wire.raw)
        assert id_ is not None
        return refusals.result(
            id_,
            {
                "resultType": "input_required",
                "inputRequests": asked,
                "requestState": _STATE + sealed,
            },
        )

    def ticket(self, wire: Wire) -> str | None:
        """Return the question that a call answers, None for a call that answers none of ours.

        Raises InvalidParamsError for a state that we did not give for this call.
        """
        state = wire.params.get("requestState")
        if type(state) is not str or not state.startswith(_STATE):
            return None
        if self._talk.states is None:
            raise InvalidParamsError("'requestState' was not issued here or was changed")
        opened = self._talk.states.open(state.removeprefix(_STATE), _as_request(wire), None)
        return str(opened["answers"]["ticket"])

    def answer_in(self, wire: Wire) -> dict[str, Any]:
        """Return the answer to our question; one that is not there says no."""
        given = wire.params.get("inputResponses")
        found = given.get(QUESTION) if type(given) is dict else None
        return found if type(found) is dict else {"action": "cancel"}

    def without_ours(self, wire: Wire) -> bytes:
        """Return the call as it was before we asked, checked again."""
        raw = without_members(wire.raw, ("params",), _OWN)
        left = {name: value for name, value in wire.params.items() if name not in _OWN}
        if parse(raw)["params"] != left:
            raise InvalidParamsError("the call cannot be told apart from its approval")
        return raw


def _as_request(wire: Wire) -> Request:
    assert wire.id is not None
    return Request(wire.id, str(wire.method), wire.params)
