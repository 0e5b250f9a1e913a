"""Calls that take several rounds: the answers so far, and the next question."""

from dataclasses import dataclass, field
from typing import Any

from nacre.core.errors import InvalidParamsError
from nacre.protocol.caller import Caller
from nacre.protocol.context import InputRequired
from nacre.protocol.dispatch.request_state import RequestStates
from nacre.protocol.messages import Request
from nacre.protocol.versions import is_modern

_KEPT = "nacre/kept"  # among the answers of a sealed state


@dataclass(slots=True)
class Round:
    """What the client has been asked and has answered before this round, and what we keep."""

    answers: dict[str, dict[str, Any]]
    asked: list[str]
    kept: dict[str, Any] = field(default_factory=dict)


def read_round(request: Request, caller: Caller, states: RequestStates) -> Round:
    """Return the round that a request continues; raises for a state that is not ours."""
    state = request.params.get("requestState")
    if state is None and "inputResponses" not in request.params:
        return Round({}, [])
    if not is_modern(caller.version):
        return Round({}, [])
    given = request.mapping("inputResponses")
    if state is None:
        answers = {key: _answer(key, value) for key, value in given.items()}
        answers.pop(_KEPT, None)  # only what was sealed is ours
        return Round(answers, [])
    opened = states.open(state, request, caller.principal)
    fresh = {key: _answer(key, given[key]) for key in opened["asked"] if key in given}
    answers = {**opened["answers"], **fresh}
    kept = answers.pop(_KEPT, {})
    return Round(answers, opened["asked"], kept)


def next_question(
    question: InputRequired, so_far: Round, request: Request, caller: Caller, states: RequestStates
) -> dict[str, Any]:
    """Return the result that asks the client and carries the sealed state."""
    asked = sorted({*so_far.asked, *question.requests} - {_KEPT})
    answers = {**so_far.answers, _KEPT: so_far.kept} if so_far.kept else so_far.answers
    return {
        "resultType": "input_required",
        "inputRequests": question.requests,
        "requestState": states.seal(answers, asked, request, caller.principal),
    }


def _answer(key: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidParamsError(f"'inputResponses.{key[:60]}' must be an object")
    return value
