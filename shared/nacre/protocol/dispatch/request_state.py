"""The state of a multi-round-trip call, kept by the client and sealed by us.

The client gets an opaque text back with each question and returns it with its
answers. The text is bound to the caller, to the request and to an expiry, so it
is of no use to anyone else, for anything else, or later.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import Any

from nacre.core.clock import Clock
from nacre.core.errors import InvalidParamsError, NacreError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import MAX_REQUEST_STATE_BYTES, REQUEST_STATE_SECONDS
from nacre.protocol import strict_json
from nacre.protocol.caller import Caller
from nacre.protocol.context import InputRequired
from nacre.protocol.large_calls import LargeArguments
from nacre.protocol.messages import Request
from nacre.protocol.principal import Principal

_OWN_PARAMS = ("_meta", "inputResponses", "requestState")


@dataclass(frozen=True, slots=True)
class SigningKeys:
    """The key that seals, and its predecessor, which may still open."""

    current: bytes = field(repr=False)
    previous: bytes | None = field(default=None, repr=False)


class RequestStates:
    """Seals and opens the state of multi-round-trip calls.

    `use` uses up a state by its id, and says whether it was the first to do so.
    """

    def __init__(
        self,
        keys: Callable[[], SigningKeys],
        clock: Clock,
        *,
        use: Callable[[str], bool] = lambda _state_id: True,
    ) -> None:
        self._keys = keys
        self._clock = clock
        self._use = use

    def seal(
        self,
        answers: dict[str, Any],
        question_names: list[str],
        request: Request,
        caller: Principal | None,
    ) -> str:
        """Return the state of a call that waits for the client's answers."""
        payload = strict_json.encode(
            {
                "answers": answers,
                "asked": question_names,
                "caller": _caller(caller),
                "id": secrets.token_hex(16),
                "expires": int(self._clock().timestamp()) + REQUEST_STATE_SECONDS,
                "request": _digest(request),
            }
        )
        mac = _mac(self._keys().current, payload)
        sealed = f"{_text(payload)}.{_text(mac)}"
        if len(sealed) > MAX_REQUEST_STATE_BYTES:
            raise InvalidParamsError(
                "the answers given so far are too long to carry on; answer in fewer words"
            )
        return sealed

    def open(self, state: object, request: Request, caller: Principal | None) -> dict[str, Any]:
        """Return the sealed values of a state; each state can be opened once.

        Raises InvalidParamsError for a state that is not ours or was opened before.
        """
        payload = self._verified(state)
        if payload["caller"] != _caller(caller) or payload["request"] != _digest(request):
            raise InvalidParamsError("'requestState' belongs to another call; start it again")
        if payload["expires"] <= self._clock().timestamp():
            raise InvalidParamsError("'requestState' has expired; start the call again")
        # States that were sealed before an upgrade have no id, and end within minutes.
        if "id" in payload and not self._use(payload["id"]):
            raise InvalidParamsError("'requestState' was used already; start the call again")
        return payload

    def _verified(self, state: object) -> dict[str, Any]:
        forged = InvalidParamsError("'requestState' was not issued here or was changed")
        if not isinstance(state, str) or len(state) > MAX_REQUEST_STATE_BYTES:
            raise forged
        body, dot, seal = state.partition(".")
        try:
            payload, mac = _bytes(body), _bytes(seal)
        except (binascii.Error, ValueError):
            raise forged from None
        keys = self._keys()
        accepted = [key for key in (keys.current, keys.previous) if key is not None]
        if not dot or not any(hmac.compare_digest(_mac(key, payload), mac) for key in accepted):
            raise forged
        try:
            value = strict_json.parse(payload)
        except NacreError:
            raise forged from None
        return dict(value)


def _caller(caller: Principal | None) -> list[str]:
    """Return the caller that a state is for; a token in two profiles is two callers."""
    if caller is None:
        return []
    inside = [caller.profile] if caller.profile else []
    return [caller.subject, caller.being_id, *inside]


def _digest(request: Request) -> str:
    salient = {key: value for key, value in request.params.items() if key not in _OWN_PARAMS}
    return hashlib.sha256(strict_json.encode([request.method, _sorted(salient)])).hexdigest()


def _sorted(value: Any) -> Any:
    if isinstance(value, dict | LargeArguments):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(entry) for entry in value]
    return value


def _mac(key: bytes, payload: bytes) -> bytes:
    return hmac.new(key, payload, hashlib.sha256).digest()


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def _bytes(text: str) -> bytes:
    if _text(raw := base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)) != text:
        raise ValueError
    return raw


_KEPT = "nacre/kept"  # among the answers of a sealed state


@dataclass(slots=True)
class Round:
    """The questions and answers before this round, and the values that the server keeps."""

    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    handler_state: dict[str, Any] = field(default_factory=dict)


def read_round(request: Request, caller: Caller, states: RequestStates) -> Round:
    """Return the round that a modern request continues; raises for a state that is not ours."""
    state = request.params.get("requestState")
    responses = request.mapping("inputResponses")
    if state is None:
        answers = {key: _answer(key, value) for key, value in responses.items()}
        answers.pop(_KEPT, None)  # only what was sealed can be trusted
        return Round(answers)
    opened = states.open(state, request, caller.principal)
    fresh = {key: _answer(key, responses[key]) for key in opened["asked"] if key in responses}
    answers = {**opened["answers"], **fresh}
    handler_state = answers.pop(_KEPT, {})
    return Round(answers, opened["asked"], handler_state)


def next_question(
    question: InputRequired, so_far: Round, request: Request, caller: Caller, states: RequestStates
) -> dict[str, Any]:
    """Return the result that asks the client and carries the sealed state."""
    question_names = sorted({*so_far.asked, *question.requests} - {_KEPT})
    answers = (
        {**so_far.answers, _KEPT: so_far.handler_state} if so_far.handler_state else so_far.answers
    )
    return {
        "resultType": "input_required",
        "inputRequests": question.requests,
        "requestState": states.seal(answers, question_names, request, caller.principal),
    }


def _answer(key: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidParamsError(f"'inputResponses.{key[:60]}' must be an object")
    return value
