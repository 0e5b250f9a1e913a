"""Calls that wait for an approval: the question, its answer, and the time in between."""

import secrets
from collections.abc import Callable
from typing import Any, Literal

from nacre.core.errors import InvalidParamsError
from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.approvals.approver import Question
from nacre.firewall.audit.entry import Direction
from nacre.firewall.enforce import refusals
from nacre.firewall.enforce.conversation import Conversation, OpenRequest
from nacre.firewall.enforce.json_edits import without_members
from nacre.firewall.enforce.judge import Allowed, Call, Denied, Pending, Ruling
from nacre.firewall.enforce.message import Wire, parse
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Hold, Release, Verdict
from nacre.protocol.messages import Request

QUESTION = "nacre_approval"
_STATE = "nacre1."
_OWN = ("requestState", "inputResponses")


@dataclass(slots=True)
class _HeldMessage:
    wire: Wire
    call: Call
    pending: Pending
    until: float
    to: Literal["client", "server"]


class HeldMessages:
    """The messages of one conversation that are held."""

    def __init__(self, conversation: Conversation, tick: Callable[[], float]) -> None:
        self._conversation = conversation
        self._tick = tick
        self._held: dict[str, _HeldMessage] = {}

    def __bool__(self) -> bool:
        return bool(self._held)

    def hold(self, wire: Wire, call: Call, pending: Pending) -> Verdict:
        """Ask for an approval in the way that this client supports."""
        by = pending.by
        assert wire.id is not None
        from_client = call.sender == "client"
        if isinstance(by, Question) and from_client and wire.is_modern:
            return Answer(self._input_required(wire, by))
        seconds = self._conversation.judge.policy().settings.approval_seconds
        until = self._tick() + (seconds if isinstance(by, Question) else by.seconds)
        message = _HeldMessage(wire, call, pending, until, "server" if from_client else "client")
        side = self._conversation.up if from_client else self._conversation.down
        side.add(OpenRequest(str(wire.method), wire.id, wire.is_modern, call))
        # Not the ticket: equal calls share one, and each of them is held.
        name = f"nacre-{secrets.token_hex(8)}"
        self._held[name] = message
        if isinstance(by, Question):
            return Hold(refusals.request(name, "elicitation/create", by.params))
        return Hold()

    def answered(self, wire: Wire) -> Verdict | None:
        """Take the client's answer to the guard's question; None for other messages."""
        message = self._held.get(str(wire.id))
        if message is None or not isinstance(message.pending.by, Question):
            return None
        del self._held[str(wire.id)]
        judge, pending = self._conversation.judge, message.pending
        answer = wire.result if wire.result is not None else {"action": "cancel"}
        ruling = judge.answered(message.call, pending.request, pending.by.ticket, answer)
        release = self._released(message, ruling)
        if release is None:
            return Drop("the approval was answered, and is still awaited")
        # This message came from the client, so a release to the client is its answer.
        return Forward(release.raw) if release.to == "server" else Answer(release.raw)

    def cancel(self, id_: object, sender: Direction = "client") -> bool:
        """Forget a held request that its sender cancels; it was never forwarded."""
        for name, message in list(self._held.items()):
            request_id = message.wire.id
            # A number and the text of its digits are different ids.
            if (
                message.call.sender == sender
                and type(request_id) is type(id_)
                and request_id == id_
            ):
                del self._held[name]
                return True
        return False

    def cancel_all(self) -> None:
        """Forget all held requests."""
        self._held.clear()

    def poll(self) -> list[Release]:
        """Return the messages that somebody decided elsewhere, or nobody decided in time."""
        now, releases = self._tick(), []
        for name, message in list(self._held.items()):
            judge, pending = self._conversation.judge, message.pending
            ruling = judge.look(message.call, pending)
            if isinstance(ruling, Pending) and now >= message.until:
                text = pending.request.decision.text
                refusal = f"{text}: nobody approved it in time"
                if not isinstance(pending.by, Question):
                    refusal = pending.by.text
                ruling = judge.refuse(message.call, pending.request, refusal)
            release = self._released(message, ruling)
            if release is not None:
                self._held.pop(name, None)
                releases.append(release)
        return releases

    def _released(self, message: _HeldMessage, ruling: Ruling) -> Release | None:
        wire = message.wire
        side = self._conversation.up if message.to == "server" else self._conversation.down
        assert wire.id is not None
        match ruling:
            case Pending():
                return None
            case Allowed():
                if side.take(wire.id) is None:
                    ruling.end()
                    return None
                granted = OpenRequest(
                    str(wire.method), wire.id, wire.is_modern, message.call, granted=True
                )
                granted.running = ruling.running
                side.add(granted)
                return Release(message.to, wire.raw)
            case Denied():
                side.take(wire.id)
                raw = refusals.answer_denied(wire, ruling)
                return Release("client" if message.to == "server" else "server", raw)

    # Stateless clients carry the question and make the call again.

    def _input_required(self, wire: Wire, question: Question) -> bytes:
        states = self._conversation.states
        assert states is not None
        assert wire.id is not None
        sealed = states.seal({"ticket": question.ticket}, [QUESTION], _as_request(wire), None)
        questions = {QUESTION: {"method": "elicitation/create", "params": dict(question.params)}}
        id_ = refusals.spelled(wire.id, wire.raw)
        assert id_ is not None
        return refusals.result(
            id_,
            {
                "resultType": "input_required",
                "inputRequests": questions,
                "requestState": _STATE + sealed,
            },
        )

    def ticket(self, wire: Wire) -> str | None:
        """Return the ticket of the question that a call answers, None if it answers none.

        Raises InvalidParamsError for a state that was not issued for this call.
        """
        state = wire.params.get("requestState")
        if type(state) is not str or not state.startswith(_STATE):
            return None
        if self._conversation.states is None:
            raise InvalidParamsError("'requestState' was not issued here or was changed")
        opened = self._conversation.states.open(state.removeprefix(_STATE), _as_request(wire), None)
        return str(opened["answers"]["ticket"])

    def answer_in(self, wire: Wire) -> dict[str, Any]:
        """Return the answer to the guard's question; a missing one cancels."""
        answers = wire.params.get("inputResponses")
        answer = answers.get(QUESTION) if type(answers) is dict else None
        return answer if type(answer) is dict else {"action": "cancel"}

    def without_answer(self, wire: Wire) -> bytes:
        """Return the call without the question's answer, checked again."""
        raw = without_members(wire.raw, ("params",), _OWN)
        params = {name: value for name, value in wire.params.items() if name not in _OWN}
        if parse(raw)["params"] != params:
            raise InvalidParamsError("the call cannot be told apart from its approval")
        return raw


def _as_request(wire: Wire) -> Request:
    assert wire.id is not None
    return Request(wire.id, str(wire.method), wire.params)
