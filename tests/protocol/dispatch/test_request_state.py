"""The sealed state of calls that take several rounds."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.core.errors import InvalidParamsError
from nacre.core.limits import REQUEST_STATE_SECONDS
from nacre.protocol.dispatch.request_state import RequestStates, SigningKeys
from nacre.protocol.messages import Request
from nacre.protocol.principal import FULL, Principal
from tests.protocol.surface import NOW

ANN = Principal("ann", "being-1", FULL)
BEN = Principal("ben", "being-1", FULL)
ANN_ELSEWHERE = Principal("ann", "being-2", FULL)
ANN_AT_HOME = Principal("ann", "being-1", FULL, profile="home")
CALL = Request(1, "tools/call", {"name": "ask", "arguments": {"b": [1, {"y": 2, "x": 1}], "a": 1}})
FIRST, SECOND, THIRD = (SigningKeys(letter * 32) for letter in (b"1", b"2", b"3"))


def states(keys: SigningKeys = FIRST, *, later: int = 0) -> RequestStates:
    return RequestStates(lambda: keys, lambda: NOW + timedelta(seconds=later))


def sealed() -> str:
    return states().seal({"first": {"action": "accept"}}, ["first"], CALL, ANN)


def test_what_was_sealed_is_opened() -> None:
    opened = states().open(sealed(), CALL, ANN)

    assert (opened["answers"], opened["asked"]) == ({"first": {"action": "accept"}}, ["first"])


def test_the_retry_may_have_another_id_and_other_metadata() -> None:
    params = {**CALL.params, "_meta": {"x": 1}, "inputResponses": {}, "requestState": "s"}

    assert states().open(sealed(), Request(2, CALL.method, params), ANN)["asked"] == ["first"]


def test_the_order_of_keys_in_the_arguments_does_not_matter() -> None:
    params = {"arguments": {"a": 1, "b": [1, {"x": 1, "y": 2}]}, "name": "ask"}

    assert states().open(sealed(), Request(2, CALL.method, params), ANN)["asked"] == ["first"]


@pytest.mark.parametrize("caller", [BEN, ANN_ELSEWHERE, ANN_AT_HOME, None])
def test_another_caller_cannot_use_it(caller: Principal | None) -> None:
    with pytest.raises(InvalidParamsError, match="belongs to another call"):
        states().open(sealed(), CALL, caller)


@pytest.mark.parametrize(
    "request_",
    [
        Request(2, "tools/call", {**CALL.params, "arguments": {"a": 2}}),
        Request(2, "tools/call", {**CALL.params, "name": "write"}),
        Request(2, "prompts/get", CALL.params),
    ],
)
def test_another_request_cannot_use_it(request_: Request) -> None:
    with pytest.raises(InvalidParamsError, match="belongs to another call"):
        states().open(sealed(), request_, ANN)


def test_it_opens_until_it_expires() -> None:
    state = sealed()

    assert states(later=REQUEST_STATE_SECONDS - 1).open(state, CALL, ANN)["asked"] == ["first"]
    with pytest.raises(InvalidParamsError, match="has expired"):
        states(later=REQUEST_STATE_SECONDS).open(state, CALL, ANN)


def test_the_previous_key_still_opens_and_the_one_before_does_not() -> None:
    rotated = SigningKeys(SECOND.current, previous=FIRST.current)

    assert states(rotated).open(sealed(), CALL, ANN)["asked"] == ["first"]
    with pytest.raises(InvalidParamsError, match="not issued here"):
        states(SigningKeys(THIRD.current, previous=SECOND.current)).open(sealed(), CALL, ANN)


@pytest.mark.parametrize("forged", ["", ".", "a", "a.b", "é.é", 7, None, [], {}, "x" * 70_000])
def test_what_is_not_a_state_is_refused(forged: object) -> None:
    with pytest.raises(InvalidParamsError, match="not issued here or was changed"):
        states().open(forged, CALL, ANN)


@given(st.data())
def test_no_changed_character_goes_unnoticed(data: st.DataObject) -> None:
    state = sealed()
    place = data.draw(st.integers(0, len(state) - 1))
    other = data.draw(st.sampled_from("ABab01-_.=+/ ").filter(lambda c: c != state[place]))

    with pytest.raises(InvalidParamsError, match="not issued here or was changed"):
        states().open(state[:place] + other + state[place + 1 :], CALL, ANN)


def test_answers_that_grow_too_long_are_refused() -> None:
    with pytest.raises(InvalidParamsError, match="too long"):
        states().seal({"first": {"content": "x" * 60_000}}, [], CALL, ANN)
