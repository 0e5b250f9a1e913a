"""How a proxy learns what both sides speak, and that equal generations are not touched."""

from typing import Any

import pytest

from tests.firewall.guarding import SEED, Scene, encoded, modern, request, response
from tests.firewall.proxy.generations.ends import (
    META,
    NEW_OPENING,
    OLD_OPENING,
    Ends,
    before_new,
    before_old,
    call,
    error,
    text,
    told,
)

OPENING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c"}}
ODD = b' {"id" : 7,  "jsonrpc":"2.0","method":"tools/call","params":{"name":"t","arguments":{} }}'


@pytest.mark.security
def test_an_old_client_and_an_old_server_get_each_others_bytes() -> None:
    ends = Ends().says(request(1, "initialize", OPENING))
    ends.serves(response(1, OLD_OPENING))

    ends.says(ODD).serves(b' {"result" : {"content":[ ]},"id":7, "jsonrpc":"2.0"}')

    assert ends.server == [encoded(request(1, "initialize", OPENING)), ODD]
    assert ends.client[1] == b' {"result" : {"content":[ ]},"id":7, "jsonrpc":"2.0"}'


@pytest.mark.security
def test_a_new_client_and_a_new_server_get_each_others_bytes() -> None:
    discovery = request(1, "server/discover", modern({}))
    ends = Ends().says(discovery).serves(response(1, NEW_OPENING))
    asked, answered = request(2, "ping", modern({})), b'{"id":2,"result":{ },"jsonrpc":"2.0"}'

    ends.says(asked).serves(answered)

    assert ends.server == [encoded(discovery), encoded(asked)]
    assert ends.client == [encoded(response(1, NEW_OPENING)), answered]


def test_a_new_client_need_not_discover_a_new_server() -> None:
    sent = call(1, meta=modern({})["_meta"])
    answered = response(1, {"resultType": "complete", **text("done")})

    ends = Ends().says(sent).serves(answered)

    assert (ends.server, ends.client) == ([encoded(sent)], [encoded(answered)])


def test_a_new_client_opens_an_old_server() -> None:
    ends = Ends().says(request("d", "server/discover", modern({}, sampling={}, other={})))
    ends.serves(error("d", -32601))
    _, opening = ends.reached()

    assert opening["params"] == {
        "protocolVersion": "2025-11-25",
        "capabilities": {"sampling": {}},
        "clientInfo": {"name": "unknown", "version": "0"},
    }
    (found,) = ends.serves(response(opening["id"], OLD_OPENING)).heard()
    assert found["id"] == "d"
    assert found["result"]["supportedVersions"] == ["2026-07-28"]
    assert found["result"]["instructions"] == "Be kind."
    assert found["result"]["capabilities"] == OLD_OPENING["capabilities"]
    assert found["result"]["_meta"][f"{META}serverInfo"] == {"name": "old", "version": "1"}


def test_requests_wait_until_an_old_server_is_open() -> None:
    ends = Ends().says(
        request("d", "server/discover", modern({})), call(1, meta=modern({})["_meta"])
    )
    ends.serves(error("d", -32602), error(1, -32602, "not initialized"))
    *_, opening = ends.reached()

    ends.serves(response(opening["id"], OLD_OPENING))

    assert ends.reached()[1:] == [call(1)]
    ends.serves(response(1, text("done")))
    assert [message["id"] for message in ends.heard()] == ["d", 1]


def test_an_error_of_an_old_server_is_asked_about_and_the_request_made_again() -> None:
    ends = (
        Ends().says(call(1, meta=modern({})["_meta"])).serves(error(1, -32602, "not initialized"))
    )
    first, probe = ends.reached()
    assert (first["method"], probe["method"]) == ("tools/call", "server/discover")

    ends.serves(error(probe["id"], -32601))
    (opening,) = ends.reached()
    ends.serves(response(opening["id"], OLD_OPENING))

    assert ends.heard() == []
    assert ends.reached()[1:] == [call(1)]


def test_an_error_of_a_new_server_stays_its_own() -> None:
    ends = (
        Ends().says(call(1, meta=modern({})["_meta"])).serves(error(1, -32602, "Unknown tool: t"))
    )
    _, probe = ends.reached()

    ends.serves(response(probe["id"], NEW_OPENING))

    assert ends.heard() == [error(1, -32602, "Unknown tool: t")]
    ends.says(ODD)
    assert ends.server == [ODD]


def test_an_old_server_that_takes_a_new_request_is_translated_from_then_on() -> None:
    ends = Ends().says(call(1, meta=modern({})["_meta"])).serves(response(1, text("done")))

    (answered,) = ends.heard()

    assert answered["result"]["resultType"] == "complete"
    ends.reached()
    ends.says(call(2, meta=modern({})["_meta"]))
    assert [message["method"] for message in ends.reached()] == ["initialize"]


def test_an_old_client_opens_a_new_server() -> None:
    params = {**OPENING, "protocolVersion": "2025-06-18", "capabilities": {"roots": {}}}
    ends = Ends().says(request(0, "initialize", params)).serves(error(0, -32022))
    _, discovery = ends.reached()

    assert discovery["params"]["_meta"] == {
        f"{META}protocolVersion": "2026-07-28",
        f"{META}clientCapabilities": {"roots": {}},
        f"{META}clientInfo": {"name": "c"},
    }
    assert ends.serves(response(discovery["id"], NEW_OPENING)).heard() == [
        response(
            0,
            {
                "protocolVersion": "2025-06-18",
                "capabilities": OLD_OPENING["capabilities"],
                "serverInfo": {"name": "new", "version": "2"},
                "instructions": "Be kind.",
            },
        )
    ]


def test_an_old_server_that_refuses_a_version_keeps_its_own_words() -> None:
    refusal = error(0, -32602, "Unsupported protocol version")
    ends = Ends().says(request(0, "initialize", OPENING)).serves(refusal)
    _, probe = ends.reached()

    ends.serves(error(probe["id"], -32601))

    assert ends.heard() == [refusal]


def test_a_withheld_error_is_told_when_the_server_ends() -> None:
    ends = Ends().says(request(0, "initialize", OPENING)).serves(error(0, -32601))
    assert ends.heard() == []

    ends.relay.server_ended()

    assert ends.heard() == [error(0, -32601)]


def test_a_client_that_falls_back_by_itself_is_not_translated() -> None:
    ends = Ends().says(
        request("d", "server/discover", modern({})), request(0, "initialize", OPENING)
    )
    ends.serves(error("d", -32601), response(0, OLD_OPENING))

    assert ends.heard() == [error("d", -32601), response(0, OLD_OPENING)]
    assert len(ends.reached()) == 2


def test_an_answer_of_the_guard_says_nothing_of_the_server() -> None:
    ends = Ends(Scene(SEED)).says(call(1, meta=modern({})["_meta"]))
    (denied,) = ends.heard()
    assert denied["result"]["isError"] is True

    ends.says(request("d", "server/discover", modern({}))).serves(error("d", -32601))

    assert ends.reached()[-1]["method"] == "initialize"


@pytest.mark.parametrize("answered", ["2025-06-18", "2025-11-25"])
def test_an_old_client_gets_the_version_it_named_from_a_server_that_has_dropped_it(
    answered: str,
) -> None:
    opening = {**OPENING, "protocolVersion": "2024-11-05"}
    ends = Ends().says(request(0, "initialize", opening))

    ends.serves(response(0, {**OLD_OPENING, "protocolVersion": answered}))

    assert ends.heard()[0]["result"] == {**OLD_OPENING, "protocolVersion": "2024-11-05"}
    ends.reached()
    ends.says([call(1), told("notifications/x"), call(2)])
    assert ends.reached() == [call(1), told("notifications/x"), call(2)]
    ends.serves(response(2, text("b")))
    assert ends.heard() == []
    ends.serves(response(1, text("a")))
    assert ends.heard() == [[response(2, text("b")), response(1, text("a"))]]


def test_a_server_that_is_older_than_the_client_says_so_itself() -> None:
    ends = Ends().says(request(0, "initialize", OPENING))
    answered = response(0, {**OLD_OPENING, "protocolVersion": "2024-11-05"})

    assert ends.serves(answered).client == [encoded(answered)]


def test_a_version_that_nobody_knows_is_refused_once_the_generations_differ() -> None:
    ends = before_old()
    meta = {f"{META}protocolVersion": "2031-01-01", f"{META}clientCapabilities": {}}

    (refused,) = ends.says(request(1, "tools/list", {"_meta": meta})).heard()

    assert refused["error"]["code"] == -32022
    assert refused["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2031-01-01"}
    assert ends.reached() == []


def test_the_client_may_open_a_new_server_again() -> None:
    ends = before_new()

    (opened,) = ends.says(request(5, "initialize", OPENING)).heard()

    assert opened["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.security
@pytest.mark.parametrize("params", [[1], {"_meta": "text"}, {"_meta": [1]}])
def test_a_message_that_cannot_be_translated_is_refused_and_others_go_on(params: Any) -> None:
    ends = before_new()

    (refused,) = ends.says(request(1, "tools/list", params)).heard()

    assert refused["error"]["code"] == -32600
    ends.says(call(2))
    assert [message["id"] for message in ends.reached()] == [2]


ODD_VALUES = [None, True, 1.5, "text", [], [1], {}, {"a": [1]}]


@pytest.mark.security
@pytest.mark.parametrize("odd", ODD_VALUES)
@pytest.mark.parametrize("name", ["capabilities", "_meta", "instructions", "serverInfo"])
def test_no_introduction_of_a_server_ends_the_proxy(name: str, odd: Any) -> None:
    old = Ends().says(request("d", "server/discover", modern({}))).serves(error("d", -32601))
    opened = {**OLD_OPENING, name: odd}
    old.serves(response(old.reached()[-1]["id"], opened))
    old.says(call(1, meta=modern({})["_meta"])).serves(response(1, text("done")))
    assert old.heard()[-1]["id"] == 1

    new = Ends().says(request(0, "initialize", OPENING)).serves(error(0, -32601))
    new.serves(response(new.reached()[-1]["id"], {**NEW_OPENING, name: odd}))
    new.says(told("notifications/initialized"), call(1)).serves(response(1, text("done")))
    assert new.heard()[-1]["id"] == 1


@pytest.mark.security
@pytest.mark.parametrize("odd", ODD_VALUES)
@pytest.mark.parametrize(
    "name", ["inputRequests", "requestState", "_meta", "content", "tools", "structuredContent"]
)
@pytest.mark.parametrize("method", ["tools/call", "tools/list"])
def test_no_result_of_a_server_ends_the_proxy(name: str, odd: Any, method: str) -> None:
    for ends in (before_old(), before_new()):
        sent = {"name": "t", "arguments": {}}
        ends.says(request(1, method, modern(sent)))
        ends.serves(response(1, {"resultType": "input_required", "tools": [], name: odd}))
        ends.says(request(2, "tools/call", modern(sent))).serves(response(2, text("done")))

        assert ends.heard()[-1]["id"] == 2


def opened(ends: Ends) -> list[Any]:
    """Answer the proxy's `initialize`, and return all else that has reached the server."""
    others = []
    for message in ends.reached():
        if message.get("method") == "initialize":
            ends.serves(response(message["id"], OLD_OPENING))
        else:
            others.append(message)
    return [*others, *ends.reached()]


@pytest.mark.security
@pytest.mark.parametrize("moment", ["before", "probed", "opening"])
def test_a_request_that_is_cancelled_while_both_meet_is_not_made_again(moment: str) -> None:
    cancelled = told("notifications/cancelled", requestId=1)
    called = call(1, meta=modern({})["_meta"])
    if moment == "probed":
        ends = Ends().says(called).serves(error(1, -32602))
        probe = ends.reached()[-1]
        ends.says(cancelled).serves(error(probe["id"], -32601))
    else:
        ends = Ends().says(request("d", "server/discover", modern({})), called)
        if moment == "before":
            ends.says(cancelled)
        ends.serves(error("d", -32601))
        if moment == "opening":
            ends.says(cancelled)
        ends.serves(error(1, -32602))
        ends.server[:2] = []

    reached = opened(ends)

    assert "tools/call" not in [message["method"] for message in reached]
    assert cancelled in reached
    ends.says(call(2, meta=modern({})["_meta"]))
    assert "tools/call" in [message["method"] for message in opened(ends)]


@pytest.mark.parametrize("learnt", ["result", "discovery"])
def test_a_withheld_request_is_made_again_however_the_generation_is_learnt(learnt: str) -> None:
    ends = Ends().says(call(1, meta=modern({})["_meta"])).serves(error(1, -32602))
    probe = ends.reached()[-1]

    if learnt == "result":
        ends.says(call(2, meta=modern({})["_meta"])).serves(response(2, text("done")))
    else:
        ends.says(request(2, "server/discover", modern({}))).serves(error(2, -32601))
    ends.serves(error(probe["id"], -32601))

    assert opened(ends)[-1] == call(1)
    ends.serves(response(1, text("done")))
    assert [message["id"] for message in ends.heard()] == [2, 1]


@pytest.mark.parametrize("is_newer", [True, False])
def test_an_opening_is_answered_once_though_a_probe_is_answered_before_it(is_newer: bool) -> None:
    ends = Ends().says(call(1, meta=modern({})["_meta"])).serves(error(1, -32602))
    probe = ends.reached()[-1]
    ends.says(request(0, "initialize", OPENING))

    ends.serves(response(probe["id"], NEW_OPENING))

    assert ends.heard() == [error(1, -32602)]
    if is_newer:
        ends.serves(error(0, -32601))
        ends.serves(response(ends.reached()[-1]["id"], NEW_OPENING))
    else:
        ends.serves(response(0, OLD_OPENING))
    assert [message["id"] for message in ends.heard()] == [0]


@pytest.mark.parametrize("is_late", [True, False])
def test_a_client_that_has_waited_too_long_may_open_an_old_server_itself(is_late: bool) -> None:
    ends = Ends().says(request("d", "server/discover", modern({}))).serves(error("d", -32601))
    _, own = ends.reached()
    if is_late:
        ends.serves(response(own["id"], OLD_OPENING))
        assert [message["id"] for message in ends.heard()] == ["d"]
        ends.reached()

    ends.says(request(0, "initialize", OPENING))
    if not is_late:
        ends.serves(response(own["id"], OLD_OPENING))
    ends.serves(response(0, OLD_OPENING))

    assert ends.reached() == [request(0, "initialize", OPENING)]
    assert ends.heard() == [response(0, OLD_OPENING)]
    ends.says(ODD).serves(response(7, text("done")))
    assert (ends.server, ends.client) == ([ODD], [encoded(response(7, text("done")))])


@pytest.mark.security
def test_a_client_that_opens_an_old_server_itself_is_decided_about() -> None:
    ends = before_old(Scene(SEED)).says(request(0, "initialize", OPENING))
    ends.serves(response(0, OLD_OPENING)).reached()
    ends.heard()

    (denied,) = ends.says(ODD).heard()

    assert denied["result"]["isError"] is True
    assert ends.server == []


@pytest.mark.parametrize("is_in_batch", [True, False])
def test_a_batch_waits_no_longer_for_a_call_that_is_cancelled(is_in_batch: bool) -> None:
    ends = Ends().says(request(0, "initialize", {**OPENING, "protocolVersion": "2025-03-26"}))
    ends.serves(response(0, OLD_OPENING)).heard()
    cancelled = told("notifications/cancelled", requestId=2)
    ends.says([call(1), call(2), *([cancelled] if is_in_batch else [])])
    if not is_in_batch:
        ends.serves(response(1, text("a"))).says(cancelled)
    else:
        ends.serves(response(1, text("a")))

    assert ends.heard() == [[response(1, text("a"))]]
    assert ends.reached()[-1] == cancelled


@pytest.mark.parametrize("settled", ["answer", "version", "batch"])
def test_no_answer_to_a_probe_reaches_the_client(settled: str) -> None:
    called = call(1, meta=modern({})["_meta"])
    ends = Ends().says(called).serves(error(1, -32602))
    probe = ends.reached()[-1]
    if settled == "answer":
        ends.says(call(2, meta=modern({})["_meta"]))
        ends.serves(response(2, {"resultType": "complete", **text("done")}))
    elif settled == "version":
        ends.says(request(2, "initialize", {**OPENING, "protocolVersion": "2025-06-18"}))
        ends.serves(response(2, OLD_OPENING))
    else:
        ends.says([call(2)])

    ends.serves(response(probe["id"], NEW_OPENING))

    heard = ends.heard()
    assert probe["id"] not in [message["id"] for message in heard]
    assert error(1, -32602) in heard


@pytest.mark.parametrize("odd", [None, True, 1.5, "text", [], [1]])
def test_an_odd_member_of_a_result_does_not_cost_the_client_its_answer(odd: Any) -> None:
    ends = before_old().says(call(1, meta=modern({})["_meta"]))

    (answered,) = ends.serves(response(1, {**text("done"), "_meta": odd})).heard()

    assert answered["result"].items() >= text("done").items()
