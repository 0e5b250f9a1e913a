"""A client that opens a session before a server of the stateless generation."""

import json
from typing import Any

import pytest

from tests.firewall.guarding import ALLOW, FORM, Person, Scene, encoded, request, response
from tests.firewall.proxy.generations.ends import (
    ASKS,
    CLIENT,
    META,
    NEW_OPENING,
    before_new,
    call,
    error,
    text,
    told,
)

ASK = '[[rule]]\naction = "prompt"\ntool = "t"\n[[rule]]\naction = "allow"\nmethod = "**"\n'
FORM_OF_SERVER = {
    "message": "Who is there?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}
ACCEPTED = {"action": "accept", "content": {"name": "Ann"}}


def questions(id_: Any, state: str | None = "s1", **asks: tuple[str, Any]) -> dict[str, Any]:
    """Return a result with questions."""
    requests = {
        name: {"method": method, "params": params} for name, (method, params) in asks.items()
    }
    result = {"resultType": "input_required", "inputRequests": requests, "requestState": state}
    return response(id_, {name: value for name, value in result.items() if value is not None})


def done(id_: Any, words: str = "done") -> dict[str, Any]:
    return response(id_, {"resultType": "complete", **text(words)})


def test_each_request_says_who_the_client_is_and_keeps_its_bytes() -> None:
    ends = before_new(sampling={}, tasks={})

    ends.relay.from_client(
        b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"_meta":{"progressToken":7},'
        b'"name":"t","arguments":{"n": 1.0e2}}}\n'
    )

    (raw,) = ends.server
    assert raw.endswith(b'"name":"t","arguments":{"n": 1.0e2}}}')
    assert json.loads(raw)["params"]["_meta"] == {
        f"{META}protocolVersion": "2026-07-28",
        f"{META}clientCapabilities": {"sampling": {}},
        f"{META}clientInfo": CLIENT,
        f"{META}logLevel": "info",
        "progressToken": 7,
    }


@pytest.mark.parametrize("params", [None, {}, {"cursor": "x"}])
def test_requests_without_metadata_get_it(params: Any) -> None:
    ends = before_new()

    (reached,) = ends.says(request(1, "tools/list", params)).reached()

    assert reached["params"].pop("_meta")[f"{META}protocolVersion"] == "2026-07-28"
    assert reached == request(1, "tools/list", params or {})


def test_results_lose_what_only_the_newer_generation_has() -> None:
    ends = before_new()
    ends.says(call(1), call(2))
    more = {"ttlMs": 5, "cacheScope": "public", "_meta": {**NEW_OPENING["_meta"], "own": 1}}
    ends.serves(response(1, {"resultType": "complete", **text("done"), **more}))
    ends.serves(response(2, {**text("x"), "structuredContent": [1], "_meta": NEW_OPENING["_meta"]}))

    assert ends.heard() == [
        response(1, {**text("done"), "_meta": {"own": 1}}),
        response(2, text("x")),
    ]


def test_schemas_of_results_that_are_no_objects_are_left_out() -> None:
    schemas: list[Any] = [{"type": "array"}, {"type": "object"}, True]
    tools = [
        {"name": f"t{number}", "inputSchema": {"type": "object"}, "outputSchema": schema}
        for number, schema in enumerate(schemas)
    ]
    ends = before_new().says(request(1, "tools/list"))

    ends.serves(response(1, {"resultType": "complete", "tools": tools}))

    (listed,) = ends.heard()
    assert ["outputSchema" in tool for tool in listed["result"]["tools"]] == [False, True, False]


def test_what_the_newer_generation_does_not_have_is_answered_here() -> None:
    ends = before_new()

    ends.says(request(1, "ping"), request(2, "logging/setLevel", {"level": "error"}))
    ends.says(told("notifications/roots/list_changed"))

    assert (ends.heard(), ends.reached()) == ([response(1, {}), response(2, {})], [])
    ends.says(call(3))
    assert ends.reached()[0]["params"]["_meta"][f"{META}logLevel"] == "error"
    ends.says(request(4, "logging/setLevel", {"level": "loud"}))
    assert ends.heard()[0]["error"]["code"] == -32602


def test_errors_keep_their_codes_and_a_missing_capability_is_told_to_the_model() -> None:
    ends = before_new()
    ends.says(call(1), call(2)).serves(error(1, -32602, "Unknown tool"), error(2, -32021, "roots"))

    first, second = ends.heard()

    assert first == error(1, -32602, "Unknown tool")
    assert second["result"]["isError"] is True


# Questions.


def test_questions_are_asked_one_by_one_and_the_call_is_made_again() -> None:
    ends = before_new(**ASKS)
    ends.says(call(1, n=1)).reached()
    ends.serves(
        questions(
            1,
            form=("elicitation/create", FORM_OF_SERVER),
            roots=("roots/list", {}),
        )
    )
    form, roots = ends.heard()
    assert (form["method"], form["params"]) == ("elicitation/create", FORM_OF_SERVER)

    ends.says(response(roots["id"], {"roots": []}))
    assert ends.reached() == []
    ends.says(response(form["id"], ACCEPTED))

    (again,) = ends.reached()
    assert again["id"] != 1
    assert again["params"]["arguments"] == {"n": 1}
    assert again["params"]["requestState"] == "s1"
    assert again["params"]["inputResponses"] == {"form": ACCEPTED, "roots": {"roots": []}}
    ends.serves(questions(again["id"], state=None, more=("elicitation/create", FORM_OF_SERVER)))
    (more,) = ends.heard()
    ends.says(response(more["id"], ACCEPTED))
    (third,) = ends.reached()
    assert third["params"]["inputResponses"] == {"more": ACCEPTED}
    assert "requestState" not in third["params"]
    ends.serves(done(third["id"]))
    assert ends.heard() == [response(1, text("done"))]


def test_a_state_without_questions_is_sent_back() -> None:
    ends = before_new()
    ends.says(call(1)).reached()
    ends.serves(response(1, {"resultType": "input_required", "requestState": "later"}))

    (again,) = ends.reached()

    assert again["params"]["requestState"] == "later"
    assert "inputResponses" not in again["params"]


def test_forms_are_declined_and_other_questions_end_the_call_where_the_client_has_neither() -> None:
    ends = before_new()
    ends.says(call(1), call(2)).reached()

    ends.serves(questions(1, form=("elicitation/create", FORM_OF_SERVER)))
    ends.serves(questions(2, write=("sampling/createMessage", {"messages": [], "maxTokens": 1})))

    (again,) = ends.reached()
    assert again["params"]["inputResponses"] == {"form": {"action": "decline"}}
    (ended,) = ends.heard()
    assert (ended["id"], ended["result"]["isError"]) == (2, True)


def test_a_question_that_the_client_refuses_ends_the_call() -> None:
    ends = before_new(**ASKS)
    ends.says(call(1), call(2)).reached()
    ends.serves(questions(1, write=("sampling/createMessage", {"messages": [], "maxTokens": 1})))
    ends.serves(questions(2, form=("elicitation/create", FORM_OF_SERVER)))
    write, form = ends.heard()

    ends.says(error(write["id"], -1), error(form["id"], -1))

    (ended,) = ends.heard()
    assert (ended["id"], ended["result"]["isError"]) == (1, True)
    (again,) = ends.reached()
    assert again["params"]["inputResponses"] == {"form": {"action": "cancel"}}


def test_a_server_that_never_stops_asking_is_given_up() -> None:
    ends = before_new()
    ends.says(call(1))
    for _ in range(30):
        reached = ends.reached()
        if not reached:
            break
        ends.serves(
            response(reached[0]["id"], {"resultType": "input_required", "requestState": "x"})
        )

    assert ends.heard()[0]["result"]["isError"] is True


# Notifications, cancelling, subscriptions, batches.


def test_a_call_is_cancelled_under_the_id_of_its_latest_round() -> None:
    ends = before_new(**ASKS)
    ends.says(call(1), call(2)).reached()
    ends.serves(questions(1, form=("elicitation/create", FORM_OF_SERVER)))
    ends.says(response(ends.heard()[0]["id"], ACCEPTED))
    (again,) = ends.reached()

    ends.says(told("notifications/cancelled", requestId=1))

    assert ends.reached() == [told("notifications/cancelled", requestId=again["id"])]
    assert ends.serves(done(again["id"])).heard() == []
    ends.serves(questions(2, form=("elicitation/create", FORM_OF_SERVER)))
    (form,) = ends.heard()
    ends.says(told("notifications/cancelled", requestId=2))
    assert ends.heard() == [told("notifications/cancelled", requestId=form["id"])]
    assert ends.reached() == []


def test_changes_come_without_the_subscription_that_brings_them() -> None:
    ends = before_new()
    mark = {f"{META}subscriptionId": "x"}

    ends.serves(told("notifications/tools/list_changed", _meta=mark))
    ends.serves(told("notifications/resources/updated", uri="a://b", _meta=mark))
    ends.serves(told("notifications/progress", progressToken=1, progress=1))

    assert ends.heard() == [
        {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
        told("notifications/resources/updated", uri="a://b"),
        told("notifications/progress", progressToken=1, progress=1),
    ]


def test_a_resource_that_is_followed_is_subscribed_to_with_all_else() -> None:
    ends = before_new()

    ends.says(request(1, "resources/subscribe", {"uri": "a://b"}))

    cancelled, listening = ends.reached()
    assert cancelled["method"] == "notifications/cancelled"
    assert listening["params"]["notifications"] == {
        "toolsListChanged": True,
        "resourcesListChanged": True,
        "resourceSubscriptions": ["a://b"],
    }
    ends.says(request(2, "resources/unsubscribe", {"uri": "a://b"}))
    assert "resourceSubscriptions" not in ends.reached()[1]["params"]["notifications"]
    assert ends.heard() == [response(1, {}), response(2, {})]


def test_a_subscription_that_ends_begins_again_if_the_server_took_it() -> None:
    ends = before_new()
    ends.says(request(1, "resources/subscribe", {"uri": "a://b"}))
    first = ends.reached()[1]["id"]
    ends.serves(told("notifications/subscriptions/acknowledged", notifications={}))

    ends.serves(response(first, {"resultType": "complete"}))
    (second,) = ends.reached()
    ends.serves(error(second["id"], -32601))

    assert second["method"] == "subscriptions/listen"
    assert ends.reached() == []
    assert ends.heard() == [response(1, {})]


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26"])
def test_a_batch_is_answered_together(version: str) -> None:
    ends = before_new(version=version)

    ends.says([call(1), request(2, "ping"), told("notifications/x"), call("3")])

    assert [message.get("id") for message in ends.reached()] == [1, None, "3"]
    ends.serves(done("3"))
    assert ends.heard() == []
    ends.serves(done(1))
    (answered,) = ends.heard()
    assert [message["id"] for message in answered] == [2, "3", 1]


def test_later_versions_have_no_batches() -> None:
    ends = before_new(version="2025-06-18")

    (refused,) = ends.says([call(1)]).heard()

    assert (refused["error"]["code"], ends.reached()) == (-32600, [])


def test_a_batch_waits_no_longer_for_a_cancelled_call() -> None:
    ends = before_new(version="2024-11-05")
    ends.says([call(1), request(2, "ping")])

    ends.says(told("notifications/cancelled", requestId=1))

    assert ends.heard() == [[response(2, {})]]


# The guard decides about what is translated.


@pytest.mark.security
def test_a_call_that_is_denied_is_denied_in_the_generation_of_its_client() -> None:
    ends = before_new(Scene('[[rule]]\naction = "allow"\nmethod = "**"\n'))

    (denied,) = ends.says(call(1)).heard()

    assert denied["result"]["isError"] is True
    assert "resultType" not in denied["result"]
    assert ends.reached() == []


@pytest.mark.security
def test_a_held_call_asks_its_client_as_its_generation_does() -> None:
    ends = before_new(Scene(ASK, approver=Person(FORM)), elicitation={})
    ends.says(call(1))
    (form,) = ends.heard()
    assert (form["method"], form["params"], ends.reached()) == (
        "elicitation/create",
        FORM.params,
        [],
    )

    ends.says(response(form["id"], {"action": "accept", "content": {}}))

    (reached,) = ends.reached()
    assert "inputResponses" not in reached["params"]
    ends.serves(done(reached["id"]))
    assert ends.heard() == [response(1, text("done"))]


@pytest.mark.security
def test_secrets_are_hidden_from_translated_results_and_answers() -> None:
    secret = "AKIA" + "IOSFODNN7EXAMPLE"
    ends = before_new(Scene(ALLOW), **ASKS)
    ends.says(call(1)).reached()
    ends.serves(questions(1, form=("elicitation/create", {**FORM_OF_SERVER, "message": secret})))
    assert secret.encode() not in ends.client[0]
    ends.says(response(ends.heard()[0]["id"], {"action": "accept", "content": {"name": secret}}))
    again = ends.server[-1]
    ends.serves(done(json.loads(again)["id"], secret))

    assert secret.encode() not in again
    assert secret.encode() not in ends.client[-1]


@pytest.mark.security
def test_a_tool_that_has_changed_is_refused_and_missing_from_the_list() -> None:
    scene = Scene(ALLOW, pins=True)
    try:
        ends = before_new(scene)
        for id_, words in ((1, "one"), (2, "two")):
            tool = {"name": "t", "description": words, "inputSchema": {"type": "object"}}
            ends.says(request(id_, "tools/list"))
            ends.serves(response(id_, {"resultType": "complete", "tools": [tool]}))
        ends.reached()

        assert [len(each["result"]["tools"]) for each in ends.heard()] == [1, 0]
        assert ends.says(call(3)).reached() == []
        assert ends.heard()[0]["result"]["isError"] is True
    finally:
        scene.close()


def test_bytes_that_are_no_message_are_refused_by_the_guard() -> None:
    ends = before_new()

    ends.relay.from_client(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","Method":"ping"}\n')

    assert ends.heard()[0]["error"]["code"] == -32600
    assert encoded([]) not in ends.server


@pytest.mark.security
def test_open_questions_have_limits() -> None:
    ends = before_new(elicitation={})
    asks = {f"q{n}": {"method": "elicitation/create", "params": FORM.params} for n in range(21)}
    required = {"resultType": "input_required", "inputRequests": asks}
    (ended,) = ends.says(call("many")).serves(response("many", required)).heard()
    assert ended["result"]["isError"] is True

    required["inputRequests"] = {"q": asks["q0"]}
    for number in range(1024):
        ends.says(call(number)).serves(response(number, required))
    assert len(ends.heard()) == 1024

    (refused,) = ends.says(call(1024)).heard()
    assert refused["error"]["code"] == -32600
