"""Calls that take several rounds: the answers so far, and the next question."""

from dataclasses import dataclass
from typing import Any

from nacre.errors import InvalidParamsError
from nacre.protocol.caller import Caller
from nacre.protocol.context import InputRequired
from nacre.protocol.messages import Request
from nacre.protocol.request_state import RequestStates
from nacre.protocol.versions import is_modern


@dataclass(slots=True)
class Round:
    """What the client has been asked and has answered before this round."""

    answers: dict[str, dict[str, Any]]
    asked: list[str]


def read_round(request: Request, caller: Caller, states: RequestStates) -> Round:
    """Return the round that a request continues; raises for a state that is not ours."""
    state = request.params.get("requestState")
    if state is None and "inputResponses" not in request.params:
        return Round({}, [])
    if not is_modern(caller.version):
        return Round({}, [])
    given = request.mapping("inputResponses")
    if state is None:
        return Round({key: _answer(key, value) for key, value in given.items()}, [])
    opened = states.open(state, request, caller.principal)
    fresh = {key: _answer(key, given[key]) for key in opened["asked"] if key in given}
    return Round({**opened["answers"], **fresh}, opened["asked"])


def next_question(
    question: InputRequired, so_far: Round, request: Request, caller: Caller, states: RequestStates
) -> dict[str, Any]:
    """Return the result that asks the client and carries the sealed state."""
    asked = sorted({*so_far.asked, *question.requests})
    return {
        "resultType": "input_required",
        "inputRequests": question.requests,
        "requestState": states.seal(so_far.answers, asked, request, caller.principal),
    }


def _answer(key: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidParamsError(f"'inputResponses.{key[:60]}' must be an object")
    return value
