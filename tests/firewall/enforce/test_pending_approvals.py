"""Calls that need somebody's word, over the wire of both generations."""

import json
from dataclasses import replace
from typing import Any

import pytest

from nacre.firewall.approvals.approver import Granted, Refused, Waiting
from nacre.firewall.enforce.verdicts import Forward, Hold, Release
from nacre.firewall.rules.policy import Policy
from tests.firewall.deciding import policy
from tests.firewall.guarding import (
    FORM,
    Person,
    Scene,
    encoded,
    error_code,
    is_dropped,
    modern,
    notification,
    passed,
    request,
    response,
    told,
)

ASK = '[[rule]]\naction = "prompt"\ntool = "**"\ndescription = "Ask first"\n'
YES = {"action": "accept", "content": {"decision": "allow once"}}
NO = {"action": "decline"}


def held(scene: Scene, message: dict[str, Any]) -> dict[str, Any]:
    """Send a message that is held, and return what the client is asked meanwhile."""
    verdict = scene.up(message)
    assert isinstance(verdict, Hold), verdict
    assert verdict.ask is not None
    assert scene.guard.holds
    return dict(passed(Forward(verdict.ask)))


def asking(**others: Any) -> Scene:
    return Scene(ASK, approver=Person(FORM, **others)).opened("2025-11-25", {"elicitation": {}})


def test_in_the_older_generation_the_client_is_asked_and_the_call_goes_on_as_it_came() -> None:
    scene = asking()
    call = request(7, "tools/call", {"name": "rm", "arguments": {"n": 1}})

    question = held(scene, call)

    assert (question["method"], question["params"]["message"]) == ("elicitation/create", "May it?")
    assert scene.up(response(question["id"], YES)) == Forward(encoded(call))
    assert isinstance(scene.down(response(7, {"content": []})), Forward)
    assert [entry.outcome for entry in scene.audit.entries[-2:]] == ["prompt", "allow"]
    assert scene.audit.entries[-1].fields == {"approval": "g1"}
    assert is_dropped(scene.up(response(question["id"], YES)))


def test_the_command_answers_while_the_form_is_open() -> None:
    scene = asking(says=Granted("t1 once ann"))
    call = request(7, "tools/call", {"name": "rm", "arguments": {"n": 1}})
    question = held(scene, call)

    assert scene.guard.poll() == [Release("server", encoded(call))]
    assert is_dropped(scene.up(response(question["id"], YES)))


@pytest.mark.parametrize(
    "answer",
    [
        {"result": NO},
        {"result": {"action": "cancel"}},
        {"result": {}},
        {"error": {"code": -32601, "message": "no"}},
    ],
)
def test_whatever_is_no_yes_denies(answer: dict[str, Any]) -> None:
    scene = asking()
    question = held(scene, request(7, "tools/call", {"name": "rm"}))

    denied = told(scene.up({"jsonrpc": "2.0", "id": question["id"], **answer}))

    assert (denied["id"], denied["result"]["isError"]) == (7, True)
    assert not scene.guard.holds
    assert is_dropped(scene.down(response(7, {})))


def test_a_question_that_nobody_answers_in_time_denies() -> None:
    scene = asking(says=Waiting("t1", "nobody", 25))
    question = held(scene, request(7, "tools/call", {"name": "rm"}))

    assert scene.guard.poll() == []
    scene.ticks.now += 601
    (release,) = scene.guard.poll()

    assert release.to == "client"
    assert b"nobody approved it in time" in release.raw
    assert is_dropped(scene.up(response(question["id"], YES)))


def test_a_held_call_is_in_flight_and_can_be_cancelled() -> None:
    scene = asking()
    question = held(scene, request(7, "tools/call", {"name": "rm"}))

    assert error_code(scene.up(request(7, "ping"))) == -32600
    assert is_dropped(scene.up(notification("notifications/cancelled", {"requestId": 7})))
    assert not scene.guard.holds
    assert is_dropped(scene.up(response(question["id"], YES)))


def test_somebody_else_decides_meanwhile() -> None:
    person = Person(Waiting("t9", "Ask first: run 'nacre approvals'", 60), Waiting("t9", "x", 60))
    scene = Scene(ASK, approver=person)
    call = request(7, "tools/call", {"name": "rm"})

    assert scene.up(call) == Hold()
    assert scene.guard.poll() == []
    person.says = Granted("operator")
    assert scene.guard.poll() == [Release("server", encoded(call))]
    assert isinstance(scene.down(response(7, {})), Forward)
    assert not scene.guard.holds


def test_calls_that_are_alike_are_each_held_and_one_yes_lets_one_go() -> None:
    person = Person(Waiting("t9", "wait", 60), Waiting("t9", "wait", 60))
    scene = Scene(ASK, approver=person)
    scene.up(request(7, "tools/call", {"name": "rm"}))
    scene.up(request(8, "tools/call", {"name": "rm"}))
    answers: list[Any] = [Granted("operator"), Refused("used before")]

    def look(request: Any, ticket: str) -> Any:
        del request, ticket
        return answers.pop(0)

    person.look = look  # type: ignore[method-assign]

    assert [release.to for release in scene.guard.poll()] == ["server", "client"]
    assert not scene.guard.holds


def test_a_client_answers_no_question_that_it_was_not_asked() -> None:
    scene = Scene(ASK, approver=Person(Waiting("t1", "wait", 60), Waiting("t1", "wait", 60)))
    scene.up(request(7, "tools/call", {"name": "rm"}))

    assert is_dropped(scene.up(response("t1", YES)))
    assert scene.guard.holds


def test_only_who_asked_gives_a_held_request_up() -> None:
    scene = Scene(ASK, approver=Person(Waiting("t1", "wait", 60), Waiting("t1", "wait", 60)))
    scene.up(request(7, "tools/call", {"name": "rm"}))
    scene.down(request(7, "sampling/createMessage", {"messages": []}))
    cancelled = "notifications/cancelled"

    scene.up(notification(cancelled, {"requestId": "7"}))
    assert [release.to for release in said_yes(scene)] == ["server", "client"]

    scene.up(request(8, "tools/call", {"name": "rm"}))
    scene.down(request(8, "sampling/createMessage", {"messages": []}))
    assert is_dropped(scene.down(notification(cancelled, {"requestId": 8})))
    assert [release.to for release in said_yes(scene)] == ["server"]


def said_yes(scene: Scene) -> list[Release]:
    person = scene.judge.approver
    assert isinstance(person, Person)
    waiting, person.says = person.says, Granted("operator")
    released = scene.guard.poll()
    person.says = waiting
    return released


@pytest.mark.parametrize("by", [FORM, Waiting("t1", "wait", 60)])
def test_a_yes_does_not_outlive_the_policy_that_asked(by: Any) -> None:
    scene = Scene(ASK, approver=Person(by, Granted("operator")))
    source = Changing(policy(ASK))
    scene.judge = replace(scene.judge, source=source)
    scene.guard = scene.new_guard()
    scene.opened("2025-11-25", {"elicitation": {}})
    verdict = scene.up(request(7, "tools/call", {"name": "rm"}))
    assert isinstance(verdict, Hold)

    source.policy = policy('[[rule]]\naction = "deny"\ntool = "**"\n')
    if verdict.ask is None:
        (release,) = scene.guard.poll()
        answer = json.loads(release.raw)
    else:
        answer = told(scene.up(response(json.loads(verdict.ask)["id"], YES)))

    assert answer["result"]["isError"] is True
    assert "the policy has changed" in answer["result"]["content"][0]["text"]


class Changing:
    def __init__(self, first: Policy) -> None:
        self.policy = first

    def current(self) -> Policy:
        return self.policy


def test_nobody_else_decides() -> None:
    person = Person(Waiting("t9", "Ask first: run 'nacre approvals'", 60), Waiting("t9", "x", 60))
    scene = Scene(ASK, approver=person)
    scene.up(request(7, "tools/call", {"name": "rm"}))
    scene.ticks.now += 61

    (release,) = scene.guard.poll()

    assert release.to == "client"
    assert b"run 'nacre approvals'" in release.raw


def test_without_anybody_a_call_is_denied() -> None:
    text = told(Scene(ASK).up(request(1, "tools/call", {"name": "rm"})))["result"]["content"][0]

    assert text["text"].startswith("Ask first: it needs an approval, and nobody can be asked here")


def test_an_approver_that_fails_denies() -> None:
    class Broken(Person):
        def ask(self, request: Any, *, can_elicit: bool) -> Any:
            raise OSError

    scene = Scene(ASK, approver=Broken())

    assert told(scene.up(request(1, "tools/call", {"name": "rm"})))["result"]["isError"] is True
    assert scene.told == ["an approval failed: OSError"]


def test_a_client_that_shows_no_forms_is_not_asked() -> None:
    offers: list[dict[str, Any]] = [{}, {"elicitation": {"url": {}}}, {"elicitation": True}]
    for capabilities in offers:
        scene = Scene(ASK, approver=Person(FORM)).opened("2025-11-25", capabilities)
        assert told(scene.up(request(7, "tools/call", {"name": "rm"})))["result"]["isError"] is True


def test_what_a_server_asks_can_be_held_too() -> None:
    scene = asking()
    raw = encoded(request("s1", "sampling/createMessage", {"messages": []}))
    verdict = scene.guard.from_server(raw)
    assert isinstance(verdict, Hold)
    assert verdict.ask is not None
    question = passed(Forward(verdict.ask))

    assert told(scene.up(response(question["id"], YES))) == passed(Forward(raw))
    answer = encoded(response("s1", {"role": "assistant"}))
    assert scene.guard.from_client(answer) == Forward(answer)


# The stateless generation.

CALL = {"name": "rm", "arguments": {"n": 1.50}}


def first_round(scene: Scene, params: dict[str, Any] | None = None) -> dict[str, Any]:
    call = request(1, "tools/call", modern(params or CALL, elicitation={}))
    return dict(told(scene.up(call))["result"])


def second_round(result: dict[str, Any], answer: Any, **changed: Any) -> dict[str, Any]:
    params = {
        **modern({**CALL, **changed}, elicitation={}),
        "requestState": result["requestState"],
        "inputResponses": {"nacre_approval": answer},
    }
    return request(2, "tools/call", params)


def test_the_stateless_client_keeps_the_question_and_calls_again() -> None:
    scene = Scene(ASK, approver=Person(FORM))
    result = first_round(scene)

    assert result["resultType"] == "input_required"
    assert result["inputRequests"]["nacre_approval"]["method"] == "elicitation/create"
    assert not scene.guard.holds
    forwarded = passed(scene.up(second_round(result, YES)))
    assert forwarded == request(2, "tools/call", modern(CALL, elicitation={}))


def test_a_question_may_be_answered_to_another_process() -> None:
    scene = Scene(ASK, approver=Person(FORM))
    result = first_round(scene)

    verdict = scene.new_guard().from_client(encoded(second_round(result, YES)))

    assert passed(verdict)["params"] == modern(CALL, elicitation={})


@pytest.mark.parametrize("answer", [NO, {"action": "cancel"}, {}, "yes", None])
def test_without_a_yes_the_second_round_is_denied(answer: Any) -> None:
    scene = Scene(ASK, approver=Person(FORM))

    assert told(scene.up(second_round(first_round(scene), answer)))["result"]["isError"] is True


def test_a_state_counts_for_its_own_call_alone() -> None:
    scene = Scene(ASK, approver=Person(FORM))
    result = first_round(scene)

    assert error_code(scene.up(second_round(result, YES, arguments={"n": 2}))) == -32602
    assert error_code(scene.up(second_round(result, YES, name="other"))) == -32602
    forged = {**result, "requestState": result["requestState"][:-4] + "AAAA"}
    assert error_code(scene.up(second_round(forged, YES))) == -32602


def test_the_rounds_of_an_approved_call_are_approved_once() -> None:
    person = Person(FORM)
    text = f'[[rule]]\naction = "allow"\ntool = "elicitation/create"\n{ASK}'
    scene = Scene(text, approver=person)
    scene.up(second_round(first_round(scene), YES))
    questions = {
        "resultType": "input_required",
        "inputRequests": {"a": {"method": "elicitation/create", "params": {"message": "m"}}},
        "requestState": "theirs",
    }
    assert isinstance(scene.down(response(2, questions)), Forward)
    third = modern(CALL, elicitation={}) | {"requestState": "theirs", "inputResponses": {"a": YES}}

    assert isinstance(scene.up(request(3, "tools/call", third)), Forward)
    assert len(person.asked) == 1
    again = told(scene.up(request(4, "tools/call", third)))
    assert again["result"]["resultType"] == "input_required"
    assert len(person.asked) == 2


def test_the_state_of_an_approved_call_approves_no_other() -> None:
    person = Person(FORM)
    scene = Scene(ASK, approver=person)
    scene.up(second_round(first_round(scene), YES))
    scene.down(response(2, {"resultType": "input_required", "requestState": "theirs"}))
    second_call = modern({"name": "rm", "arguments": {"n": 2}}, elicitation={}) | {
        "requestState": "theirs"
    }

    assert (
        told(scene.up(request(3, "tools/call", second_call)))["result"]["resultType"]
        == "input_required"
    )


def test_a_batch_waits_for_nobody() -> None:
    scene = Scene(ASK, approver=Person(FORM)).opened("2025-03-26", {"elicitation": {}})
    answers = told(scene.up([request(8, "tools/call", {"name": "rm"})]))

    assert answers[0]["result"]["isError"] is True
    assert not scene.guard.holds


def test_a_refusal_is_told_in_its_own_words() -> None:
    scene = Scene(ASK, approver=Person(None, Refused("Too many questions. Wait a minute.")))
    content = told(scene.up(request(1, "tools/call", {"name": "rm"})))["result"]["content"]

    assert content == [{"type": "text", "text": "Too many questions. Wait a minute."}]
