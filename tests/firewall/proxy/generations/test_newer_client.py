"""A client of the stateless generation before a server that wants a session."""

import json
from typing import Any

import pytest

from nacre.core.limits import LARGE_RESULT_BYTES, PARKED_SECONDS
from nacre.firewall.proxy.generations.newer_client import NewerClient
from tests.firewall.guarding import (
    ALLOW,
    FORM,
    Person,
    Scene,
    encoded,
    modern,
    request,
    response,
)
from tests.firewall.proxy.generations.ends import (
    ASKS,
    CLIENT,
    META,
    OLD_OPENING,
    Ends,
    before_old,
    call,
    error,
    text,
    told,
)

SEALED = f"{META}serverInfo"
META_OF = modern({}, **ASKS)["_meta"]
ASK = '[[rule]]\naction = "prompt"\ntool = "t"\n[[rule]]\naction = "allow"\nmethod = "**"\n'


def asked(ends: Ends, id_: Any, **more: Any) -> Any:
    """Send the call of a tool as this generation does, and return what reaches the server."""
    message = call(id_, meta=META_OF)
    message["params"] |= more
    return ends.says(message).reached()


def answers(question: Any, **results: Any) -> dict[str, Any]:
    """Return the parameters that answer a result with questions, one result for all."""
    names = question["result"]["inputRequests"]
    return {
        "requestState": question["result"]["requestState"],
        "inputResponses": dict.fromkeys(names, results),
    }


FORM_OF_SERVER = {
    "message": "Who is there?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}
ACCEPTED = {"action": "accept", "content": {"name": "Ann"}}


def test_only_the_members_of_the_generation_leave_a_request() -> None:
    ends = before_old()
    meta = {**META_OF, f"{META}clientInfo": CLIENT, "progressToken": 7, "traceparent": "00-a-b-01"}
    sent = b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"_meta":%b,"name":"t",' % (
        encoded(meta)
    )

    ends.relay.from_client(sent + b'"arguments":{"n": 1.0e2,  "m":9007199254740993}}}\n')

    (raw,) = ends.server
    assert json.loads(raw)["params"]["_meta"] == {"progressToken": 7, "traceparent": "00-a-b-01"}
    assert raw.endswith(b'"name":"t","arguments":{"n": 1.0e2,  "m":9007199254740993}}}')


def test_results_say_that_they_are_complete_and_keep_their_bytes() -> None:
    ends = before_old()
    asked(ends, 1)

    ends.relay.from_server(
        b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"n": 1.50}}}\n'
    )

    (raw,) = ends.client
    assert b'"structuredContent":{"n": 1.50}' in raw
    result = json.loads(raw)["result"]
    assert result["resultType"] == "complete"
    assert result["_meta"][SEALED] == {"name": "old", "version": "1"}


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("tools/list", {"tools": []}),
        ("resources/list", {"resources": []}),
        ("resources/templates/list", {"resourceTemplates": []}),
        ("prompts/list", {"prompts": []}),
        ("resources/read", {"contents": []}),
    ],
)
def test_lists_and_contents_say_how_long_they_may_be_kept(
    method: str, result: dict[str, Any]
) -> None:
    ends = before_old()
    ends.says(request(1, method, {"uri": "a://b", **modern({})})).serves(response(1, result))

    (answered,) = ends.heard()

    assert answered["result"].items() >= {**result, "ttlMs": 0, "cacheScope": "private"}.items()


def test_a_resource_that_is_missing_has_the_code_of_the_generation() -> None:
    ends = before_old()
    for id_, code in ((1, -32002), (2, -32050)):
        ends.says(request(id_, "resources/read", {"uri": "a://b", **modern({})}))
        ends.serves(error(id_, code))

    assert [message["error"]["code"] for message in ends.heard()] == [-32602, -32050]


@pytest.mark.parametrize(
    "method",
    ["ping", "initialize", "logging/setLevel", "resources/subscribe", "tasks/get", "tasks/list"],
)
def test_methods_that_the_generation_does_not_have_are_unknown(method: str) -> None:
    ends = before_old()

    (refused,) = ends.says(request(1, method, modern({}))).heard()

    assert (refused["error"]["code"], ends.reached()) == (-32601, [])


def test_a_request_without_its_version_is_refused_with_those_that_are_served() -> None:
    (refused,) = before_old().says(request(1, "tools/list")).heard()

    assert refused["error"]["data"] == {"supported": ["2026-07-28"], "requested": "none"}


def test_batches_are_not_taken() -> None:
    ends = before_old()

    (refused,) = ends.says([call(1, meta=META_OF)]).heard()

    assert (refused["error"]["code"], ends.reached()) == (-32600, [])


def test_an_id_that_is_in_use_is_refused_and_its_request_goes_on() -> None:
    ends = before_old()
    asked(ends, 1)

    (refused,) = ends.says(call(1, meta=META_OF)).heard()

    assert "still running" in refused["error"]["message"]
    assert ends.serves(response(1, text("done"))).heard()[0]["result"]["content"]


# Questions.


def test_a_question_ends_the_call_for_the_client_which_makes_it_again() -> None:
    ends = before_old(**ASKS)
    asked(ends, 1)
    ends.serves(request("q", "elicitation/create", FORM_OF_SERVER))
    (question,) = ends.heard()
    assert question["id"] == 1
    assert question["result"]["resultType"] == "input_required"
    assert list(question["result"]["inputRequests"].values()) == [
        {"method": "elicitation/create", "params": FORM_OF_SERVER}
    ]

    reached = asked(ends, 2, **answers(question, **ACCEPTED))

    assert reached == [response("q", ACCEPTED)]
    ends.serves(response(1, text("Hello Ann")))
    (answered,) = ends.heard()
    assert (answered["id"], answered["result"]["content"]) == (2, text("Hello Ann")["content"])


def test_a_second_question_waits_for_the_answer_to_the_first() -> None:
    ends = before_old(**ASKS)
    asked(ends, 1)
    ends.serves(
        request("a", "elicitation/create", FORM_OF_SERVER),
        request("b", "sampling/createMessage", {"messages": [], "maxTokens": 1}),
    )
    (first,) = ends.heard()

    reached = asked(ends, 2, **answers(first, **ACCEPTED))

    assert reached == [response("a", ACCEPTED)]
    (second,) = ends.heard()
    assert [each["method"] for each in second["result"]["inputRequests"].values()] == [
        "sampling/createMessage"
    ]
    written = {"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m"}
    assert asked(ends, 3, **answers(second, **written)) == [response("b", written)]
    ends.serves(response(1, text("done")))
    assert ends.heard()[0]["id"] == 3


def test_an_answer_that_does_not_fit_is_refused_and_may_be_given_again() -> None:
    ends = before_old(**ASKS)
    asked(ends, 1)
    ends.serves(request("q", "elicitation/create", FORM_OF_SERVER))
    (question,) = ends.heard()

    wrong = answers(question, action="accept", content={"name": 5})
    assert asked(ends, 2, **wrong) == []
    assert ends.heard()[0]["error"]["code"] == -32602

    assert asked(ends, 3, **answers(question, **ACCEPTED)) == [response("q", ACCEPTED)]


@pytest.mark.security
@pytest.mark.parametrize("change", ["state", "arguments", "used"])
def test_a_state_is_good_for_its_own_call_once(change: str) -> None:
    ends = before_old(**ASKS)
    asked(ends, 1)
    ends.serves(request("q", "elicitation/create", FORM_OF_SERVER))
    (question,) = ends.heard()
    more = answers(question, **ACCEPTED)
    if change == "state":
        more["requestState"] += "x"
    elif change == "arguments":
        more["arguments"] = {"other": 1}
    else:
        asked(ends, 2, **more)

    assert asked(ends, 3, **more) == []
    assert ends.heard()[-1]["error"]["code"] == -32602


def test_a_question_that_the_client_cannot_answer_is_declined() -> None:
    ends = before_old(sampling={})
    ends.says(call(1, meta=modern({})["_meta"])).reached()

    ends.serves(
        request("a", "elicitation/create", FORM_OF_SERVER),
        request("b", "sampling/createMessage", {"messages": [], "maxTokens": 1}),
        request("c", "ping"),
        request("d", "other/method"),
    )

    declined, refused, pong, unknown = ends.reached()
    assert declined == response("a", {"action": "decline"})
    assert refused["error"]["code"] == -1
    assert pong == response("c", {})
    assert unknown["error"]["code"] == -32601
    assert ends.heard() == []


@pytest.mark.security
def test_a_question_that_may_belong_to_another_call_reaches_nobody() -> None:
    ends = before_old(**ASKS)
    asked(ends, 1)
    asked(ends, 2)

    ends.serves(request("a", "elicitation/create", FORM_OF_SERVER))

    assert ends.reached() == [response("a", {"action": "decline"})]


def test_roots_that_are_asked_for_early_are_asked_with_the_next_call() -> None:
    ends = before_old(**ASKS)
    ends.serves(request("r", "roots/list"))
    assert (ends.heard(), ends.reached()) == ([], [])
    assert asked(ends, 1) == []
    (question,) = ends.heard()
    roots = {"roots": [{"uri": "file:///project"}]}

    assert asked(ends, 2, **answers(question, **roots)) == [response("r", roots), call(1)]

    ends.serves(response(1, text("done")))
    assert ends.heard()[0]["id"] == 2


def test_a_result_that_comes_while_the_client_is_asked_waits_for_it() -> None:
    ends = before_old(**ASKS)
    asked(ends, 1)
    ends.serves(request("q", "elicitation/create", FORM_OF_SERVER))
    (question,) = ends.heard()
    ends.serves(told("notifications/cancelled", requestId="q"), response(1, text("late")))
    assert ends.heard() == []

    asked(ends, 2, **answers(question, **ACCEPTED))

    (answered,) = ends.heard()
    assert (answered["id"], answered["result"]["content"]) == (2, text("late")["content"])


def test_a_call_whose_client_does_not_come_back_is_cancelled_after_a_while() -> None:
    now = [0.0]
    client = NewerClient(lambda: now[0])
    (opening,) = client.begin({}, [encoded(request(0, "tools/list", modern({}, **ASKS)))])
    client.from_server(encoded(response(json.loads(opening.raw)["id"], OLD_OPENING)))
    client.from_server(encoded(response(0, {"tools": []})))

    client.from_client(encoded(call(1, meta=META_OF)))
    client.from_server(encoded(request("q", "elicitation/create", FORM_OF_SERVER)))
    now[0] = PARKED_SECONDS + 1

    cancelled, passed = client.from_client(encoded(call(2, meta=META_OF)))

    assert json.loads(cancelled.raw) == told(
        "notifications/cancelled", requestId=1, reason="the client has not answered"
    )
    assert json.loads(passed.raw) == call(2)
    (question,) = client.from_server(encoded(request("r", "elicitation/create", FORM_OF_SERVER)))
    assert (question.to, json.loads(question.raw)["id"]) == ("client", 2)


# Notifications, cancelling, subscriptions.


def test_a_cancelled_call_is_cancelled_under_the_id_that_the_server_knows() -> None:
    ends = before_old(**ASKS)
    asked(ends, 1)
    ends.serves(request("q", "elicitation/create", FORM_OF_SERVER))
    asked(ends, 2, **answers(ends.heard()[0], **ACCEPTED))

    ends.says(told("notifications/cancelled", requestId=2, reason="enough"))

    assert ends.reached() == [told("notifications/cancelled", requestId=1, reason="enough")]
    assert ends.serves(response(1, text("late"))).heard() == []


def test_progress_goes_by_the_token_of_the_latest_round() -> None:
    ends = before_old(**ASKS)
    asked(ends, 1, _meta={**META_OF, "progressToken": 1})
    ends.serves(told("notifications/progress", progressToken=1, progress=1))
    ends.serves(request("q", "elicitation/create", FORM_OF_SERVER))
    before, question = ends.heard()
    asked(ends, 2, _meta={**META_OF, "progressToken": "two"}, **answers(question, **ACCEPTED))

    ends.serves(told("notifications/progress", progressToken=1, progress=2))

    assert before["params"]["progressToken"] == 1
    assert ends.heard() == [told("notifications/progress", progressToken="two", progress=2)]


def test_logs_are_for_requests_that_want_them() -> None:
    ends = before_old()
    log = told("notifications/message", level="info", data="x")
    asked(ends, 1)
    assert ends.serves(log).heard() == []

    level, _ = asked(ends, 2, _meta={**META_OF, f"{META}logLevel": "info"})

    assert (level["method"], level["params"]) == ("logging/setLevel", {"level": "info"})
    ends.serves(response(level["id"], {}), log)
    ends.serves(told("notifications/message", level="debug", data="x"))
    assert ends.heard() == [log]


def test_changes_are_told_on_subscriptions() -> None:
    ends = before_old()
    changed = told("notifications/tools/list_changed")
    assert ends.serves(changed).heard() == []
    wanted = {"toolsListChanged": True, "promptsListChanged": True}
    ends.says(
        request(
            "s",
            "subscriptions/listen",
            {"notifications": {**wanted, "resourceSubscriptions": ["a://b"]}, **modern({})},
        )
    )
    (subscribing,) = ends.reached()
    assert subscribing["params"] == {"uri": "a://b"}
    mark = {f"{META}subscriptionId": "s"}
    assert ends.heard() == [
        told(
            "notifications/subscriptions/acknowledged",
            notifications={"toolsListChanged": True, "resourceSubscriptions": ["a://b"]},
            _meta=mark,
        )
    ]

    ends.serves(response(subscribing["id"], {}), changed)
    ends.serves(told("notifications/resources/updated", uri="a://b"))
    ends.serves(told("notifications/resources/updated", uri="a://other"))
    ends.serves(told("notifications/prompts/list_changed"))

    assert ends.heard() == [
        told("notifications/tools/list_changed", _meta=mark),
        told("notifications/resources/updated", _meta=mark, uri="a://b"),
    ]
    ends.says(told("notifications/cancelled", requestId="s"))
    assert [message["method"] for message in ends.reached()] == ["resources/unsubscribe"]
    assert ends.serves(changed).heard() == []


def test_a_server_that_cannot_be_opened_says_why_to_each_request() -> None:
    ends = Ends().says(
        request("d", "server/discover", modern({})), request(2, "tools/list", modern({}))
    )
    ends.serves(error("d", -32601), error(2, -32601))
    opening = ends.reached()[-1]

    ends.serves(error(opening["id"], -32000, "not today"))

    assert ends.heard() == [error("d", -32000, "not today"), error(2, -32000, "not today")]


# The guard decides about what is translated.


@pytest.mark.security
def test_a_call_that_is_denied_is_denied_in_the_generation_of_its_client() -> None:
    ends = before_old(Scene('[[rule]]\naction = "allow"\nmethod = "**"\n'), **ASKS)

    assert asked(ends, 1) == []

    (denied,) = ends.heard()
    assert denied["result"].items() >= {"isError": True, "resultType": "complete"}.items()


@pytest.mark.security
def test_a_held_call_asks_its_client_by_a_result() -> None:
    ends = before_old(Scene(ASK, approver=Person(FORM)), **ASKS)
    assert asked(ends, 1) == []
    (question,) = ends.heard()
    (form,) = question["result"]["inputRequests"].values()
    assert form["params"] == FORM.params

    assert asked(ends, 2, **answers(question, action="accept", content={})) == [call(1)]

    ends.serves(response(1, text("done")))
    assert ends.heard()[0]["id"] == 2


@pytest.mark.security
def test_a_held_call_that_is_refused_never_reaches_the_server() -> None:
    ends = before_old(Scene(ASK, approver=Person(FORM)), **ASKS)
    asked(ends, 1)

    assert asked(ends, 2, **answers(ends.heard()[0], action="decline")) == []

    (denied,) = ends.heard()
    assert (denied["id"], denied["result"]["isError"]) == (2, True)


@pytest.mark.security
def test_secrets_are_hidden_from_translated_results_and_questions() -> None:
    secret = "AKIA" + "IOSFODNN7EXAMPLE"
    ends = before_old(Scene(ALLOW), **ASKS)
    asked(ends, 1)
    ends.serves(request("q", "elicitation/create", {**FORM_OF_SERVER, "message": secret}))
    question = ends.client[-1]
    asked(ends, 2, **answers(json.loads(question), **ACCEPTED))
    ends.serves(response(1, text(secret)))

    assert secret.encode() not in question
    assert secret.encode() not in ends.client[-1]


@pytest.mark.security
def test_a_tool_that_has_changed_is_refused_and_missing_from_the_list() -> None:
    scene = Scene(ALLOW, pins=True)
    try:
        ends = before_old(scene, **ASKS)
        for id_, words in ((1, "one"), (2, "two")):
            tool = {"name": "t", "description": words, "inputSchema": {"type": "object"}}
            ends.says(request(id_, "tools/list", modern({}))).serves(
                response(id_, {"tools": [tool]})
            )
        first, second = ends.heard()
        ends.reached()

        assert [len(each["result"]["tools"]) for each in (first, second)] == [1, 0]
        assert asked(ends, 3) == []
        assert ends.heard()[0]["result"]["isError"] is True
    finally:
        scene.close()


def test_a_large_result_is_marked_without_being_read() -> None:
    ends = before_old()
    asked(ends, 1)
    raw = encoded(response(1, text("x" * LARGE_RESULT_BYTES)))

    ends.relay.from_server(raw + b"\n")

    (passed,) = ends.client
    assert json.loads(passed)["result"] == {
        "resultType": "complete",
        **text("x" * LARGE_RESULT_BYTES),
    }


def test_the_audit_names_the_translated_messages() -> None:
    scene = Scene()
    ends = before_old(scene)
    asked(ends, 1)

    methods = [entry.method for entry in scene.audit.entries]
    assert methods[:3] == ["server/discover", "initialize", "initialize"]
    assert methods[-1] == "tools/call"


@pytest.mark.security
def test_subscriptions_have_limits() -> None:
    ends = before_old()
    wants = {"notifications": {"toolsListChanged": True}}
    uris = {"notifications": {"resourceSubscriptions": [f"a:{n}" for n in range(65)]}}

    (refused,) = ends.says(request("many", "subscriptions/listen", modern(uris))).heard()
    assert refused["error"]["code"] == -32602
    assert ends.reached() == []

    for number in range(1024):
        ends.says(request(number, "subscriptions/listen", modern(wants)))
    ends.heard()
    (refused,) = ends.says(request(1024, "subscriptions/listen", modern(wants))).heard()
    assert refused["error"]["code"] == -32602
    assert len(ends.serves(told("notifications/tools/list_changed")).heard()) == 1024


@pytest.mark.security
@pytest.mark.parametrize(
    ("offered", "is_asked"), [({}, False), ({"form": {}}, False), ({"url": {}}, True)]
)
def test_a_client_that_opens_no_urls_is_asked_to_open_none(
    offered: dict[str, Any], is_asked: bool
) -> None:
    ends = before_old(None, elicitation={"url": {}})
    ends.says(call(1, meta=modern({}, elicitation=offered)["_meta"])).reached()
    asked = {"mode": "url", "url": "https://login.example/", "message": "m", "elicitationId": "e"}

    ends.serves(request("q", "elicitation/create", asked))

    declined = [] if is_asked else [response("q", {"action": "decline"})]
    assert (len(ends.heard()), ends.reached()) == (int(is_asked), declined)


@pytest.mark.security
@pytest.mark.parametrize("size", [1, LARGE_RESULT_BYTES])
@pytest.mark.parametrize("spelling", ["resultType", "resultTyp\\u0065"])
def test_no_result_of_an_old_server_asks_in_the_generation_of_its_client(
    size: int, spelling: str
) -> None:
    ends = before_old().says(call(1, meta=modern({})["_meta"]))
    asks = {"a": {"method": "sampling/createMessage", "params": {"messages": []}}}
    odd = {"resultType": "input_required", "inputRequests": asks, "requestState": "s"}
    raw = encoded(response(1, {**text("x" * size), **odd}))

    ends.relay.from_server(raw.replace(b"resultType", spelling.encode()) + b"\n")

    (answered,) = ends.client
    assert answered.count(b"resultTyp") == 1
    assert json.loads(answered)["result"]["resultType"] == "complete"
    assert b"inputRequests" not in answered
    assert b"requestState" not in answered


def test_a_large_error_keeps_its_bytes() -> None:
    ends = before_old().says(call(1, meta=modern({})["_meta"]))
    failed = error(1, -5)
    failed["error"]["data"] = {"result": {"a": "x" * LARGE_RESULT_BYTES}}

    assert ends.serves(failed).client == [encoded(failed)]
