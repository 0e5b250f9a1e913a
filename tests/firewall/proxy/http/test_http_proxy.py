"""The reverse proxy: what passes, what does not, and what becomes of headers and sessions."""

import asyncio
import json

import pytest

from tests.firewall.guarding import ALLOW, SEED, Scene, modern, notification, request, response
from tests.firewall.proxy.http_world import (
    POSTED,
    Insisting,
    Received,
    World,
    answer_of,
    answer_to,
    echo,
    encoded,
    events,
    run,
)

OPENING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c"}}
CALL = {"name": "filesystem_read", "arguments": {"path": "/home/user/projects/a"}}
BLOCKED = {"name": "shell_execute", "arguments": {"command": "ls"}}


def test_an_allowed_message_arrives_byte_for_byte_and_so_does_its_answer() -> None:
    sent = b'{ "jsonrpc":"2.0","id" : 1e0,"method":"ping" }'
    answer = b'{ "result":{"n":1.50,"big":12345678901234567890},\n"id":7 , "jsonrpc":"2.0"}'

    async def play(received: Received) -> None:
        await received.say(200, answer)

    async def scenario(world: World) -> None:
        refused = await world.post(sent)
        assert refused.status_code == 400
        plain = b'{ "jsonrpc":"2.0","id" : 7,"method":"ping" }'
        reply = await world.post(plain)
        assert (reply.status_code, reply.content) == (200, answer)
        assert reply.headers["content-type"] == "application/json"
        assert [received.body for received in world.remote.received] == [plain]

    run(scenario, play=play)


@pytest.mark.requirement("004.proxy.remote")
def test_a_denied_call_never_reaches_the_server() -> None:
    async def scenario(world: World) -> None:
        reply = await world.post(request(1, "tools/call", BLOCKED))
        told = reply.json()
        assert reply.status_code == 200
        assert told["result"]["isError"] is True
        assert told["result"]["content"][0]["text"] == "Block all shell execution"
        assert world.remote.received == []
        allowed = await world.post(request(2, "tools/call", CALL))
        assert allowed.json()["result"]["content"][0]["text"] == "done"

    run(scenario, scene=Scene(SEED, lines=False))


def test_calls_of_many_clients_with_the_same_ids_do_not_meet() -> None:
    gate = asyncio.Event()

    async def play(received: Received) -> None:
        text = received.json["params"]["arguments"]["of"]
        if text == "last":
            gate.set()
        await gate.wait()
        await received.result({"content": [{"type": "text", "text": text}]})

    async def scenario(world: World) -> None:
        names = [*(f"client {number}" for number in range(20)), "last"]
        calls = [
            world.post_modern(
                request(1, "tools/call", modern({"name": "t", "arguments": {"of": name}}))
            )
            for name in names
        ]
        replies = await asyncio.gather(*calls)
        assert [r.json()["result"]["content"][0]["text"] for r in replies] == names

    run(scenario, play=play)


# Headers.


def test_headers_that_mirror_the_message_are_made_from_it() -> None:
    async def scenario(world: World) -> None:
        reply = await world.post_modern(
            request(1, "tools/call", modern(CALL)),
            mcp_trace="x",
            x_own="kept",
            authorization="Bearer callers",
            cookie="a=b",
            origin="http://127.0.0.1",
            x_forwarded_for="203.0.113.9",
            connection="keep-alive, x-hop",
            x_hop="1",
        )
        assert reply.status_code == 200
        sent = world.remote.received[0].headers
        del sent["user-agent"]
        assert sent == {
            "host": f"127.0.0.1:{world.remote.port}",
            "accept": "application/json, text/event-stream",
            "accept-encoding": "identity",
            "authorization": "Bearer ours",
            "content-length": sent["content-length"],
            "content-type": "application/json",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": "filesystem_read",
            "x-own": "kept",
        }

    run(scenario, headers=(("authorization", "Bearer ours"),))


@pytest.mark.parametrize(
    ("name", "value"),
    [("mcp_method", "tools/list"), ("mcp_name", "other"), ("mcp_protocol_version", "2025-11-25")],
)
def test_a_header_that_contradicts_the_message_is_refused(name: str, value: str) -> None:
    async def scenario(world: World) -> None:
        reply = await world.post_modern(request(1, "tools/call", modern(CALL)), **{name: value})
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, -32020)
        assert world.remote.received == []

    run(scenario)


def test_parameters_that_travel_as_headers_are_known_to_every_connection() -> None:
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "R"}}}

    async def play(received: Received) -> None:
        if received.json["method"] == "tools/list":
            tool = {"name": "t", "inputSchema": schema}
            await received.result({"resultType": "complete", "tools": [tool]})
        else:
            await echo(received)

    async def scenario(world: World) -> None:
        await world.post_modern(request(1, "tools/list", modern({})))
        call = request(1, "tools/call", modern({"name": "t", "arguments": {"region": "eu"}}))
        wrong = await world.post_modern(call, mcp_param_r="us")
        assert (wrong.status_code, wrong.json()["error"]["code"]) == (400, -32020)
        right = await world.post_modern(call, mcp_param_r="eu")
        assert right.status_code == 200
        assert world.remote.received[-1].headers["mcp-param-r"] == "eu"

    run(scenario, play=play)


def test_the_callers_authorization_goes_on_where_the_owner_says_so() -> None:
    async def scenario(world: World) -> None:
        await world.post(request(1, "ping"), authorization="Bearer callers")
        assert world.remote.received[0].headers["authorization"] == "Bearer callers"

    run(scenario, with_credentials=True)


@pytest.mark.parametrize(
    "headers", [{"host": "evil.example"}, {"origin": "https://evil.example"}, {"origin": "null"}]
)
def test_foreign_names_and_pages_are_refused(headers: dict[str, str]) -> None:
    async def scenario(world: World) -> None:
        reply = await world.post(request(1, "ping"), **headers)
        assert reply.status_code == 403
        assert world.remote.received == []

    run(scenario)


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "text/plain;application/json"]
)
def test_what_any_page_of_this_machine_may_send_is_refused(kind: str) -> None:
    """Before a page of another port sends JSON, its browser asks the proxy; before text, nobody."""

    async def scenario(world: World) -> None:
        headers = {"origin": "http://127.0.0.1:3000", "content-type": kind}
        reply = await world.post(request(1, "tools/call", {"name": "work"}), **headers)
        assert (reply.status_code, reply.headers["accept"]) == (415, "application/json")
        assert "access-control-allow-origin" not in reply.headers
        assert world.remote.received == []
        plain = await world.post(request(2, "ping"), content_type="Application/JSON; charset=utf-8")
        assert plain.status_code == 200

    run(scenario)


def test_other_paths_and_methods_are_named_as_such() -> None:
    async def scenario(world: World) -> None:
        other = await world.client.post(f"{world.url}/x", json={})
        assert other.status_code == 404
        assert "this proxy serves /mcp" in other.text
        put = await world.client.put(world.url, json={})
        assert (put.status_code, put.headers["allow"]) == (405, "POST, GET, DELETE")
        assert world.remote.received == []

    run(scenario)


# Sessions.


def test_a_session_of_the_server_is_kept_through_its_requests_and_ended() -> None:
    async def play(received: Received) -> None:
        if received.method == "DELETE":
            await received.say(200, kind="")
        elif received.json["method"] == "initialize":
            await received.result(answer_of(received.json), mcp_session_id="s-1")
        else:
            await echo(received)

    async def scenario(world: World) -> None:
        opened = await world.post(request(0, "initialize", OPENING))
        session = {"mcp_session_id": opened.headers["mcp-session-id"]}
        assert session == {"mcp_session_id": "s-1"}
        await world.post(notification("notifications/initialized"), **session)
        await world.post(
            request(1, "tools/call", CALL), mcp_protocol_version="2025-11-25", **session
        )
        ended = await world.client.delete(world.url, headers={"mcp-session-id": "s-1"})
        assert ended.status_code == 200
        seen = [
            (
                received.method,
                received.headers.get("mcp-session-id"),
                received.headers.get("mcp-protocol-version"),
            )
            for received in world.remote.received
        ]
        assert seen == [
            ("POST", None, None),
            ("POST", "s-1", "2025-11-25"),
            ("POST", "s-1", "2025-11-25"),
            ("DELETE", "s-1", None),
        ]

    run(scenario, play=play)


def test_a_server_without_sessions_gets_none_while_its_clients_are_told_apart() -> None:
    async def scenario(world: World) -> None:
        first = await world.post(request(0, "initialize", OPENING))
        second = await world.post(request(0, "initialize", OPENING))
        ids = [reply.headers["mcp-session-id"] for reply in (first, second)]
        assert ids[0] != ids[1]
        assert all(session_id.startswith("nacre-") for session_id in ids)
        await world.post(request(1, "ping"), mcp_session_id=ids[0])
        ended = await world.client.delete(world.url, headers={"mcp-session-id": ids[0]})
        assert ended.status_code == 200
        assert all("mcp-session-id" not in received.headers for received in world.remote.received)
        assert [received.method for received in world.remote.received] == ["POST"] * 3

    run(scenario)


def test_a_session_that_began_before_the_proxy_goes_on() -> None:
    async def scenario(world: World) -> None:
        reply = await world.post(request(1, "tools/call", CALL), mcp_session_id="before")
        assert reply.json()["result"]
        assert world.remote.received[0].headers["mcp-session-id"] == "before"
        denied = await world.post(request(2, "tools/call", BLOCKED), mcp_session_id="before")
        assert denied.json()["result"]["isError"]

    run(scenario, scene=Scene(SEED, lines=False))


# What a server asks of its client.


def test_a_request_of_the_server_is_answered_in_a_post_of_its_own() -> None:
    answers: asyncio.Queue[object] = asyncio.Queue()
    asking = request("s1", "elicitation/create", {"message": "Name?", "requestedSchema": {}})

    async def play(received: Received) -> None:
        message = received.json
        if message.get("method") == "initialize":
            await received.result(answer_of(message), mcp_session_id="s")
        elif message.get("method") == "tools/call":
            await received.begin()
            await received.event(asking, id="1")
            given = await answers.get()
            text = {"content": [{"type": "text", "text": json.dumps(given)}]}
            await received.event(answer_to(message, text), id="2")
            await received.end()
        else:
            await answers.put(message["result"])
            await received.say(202, kind="")

    async def scenario(world: World) -> None:
        capable = {**OPENING, "capabilities": {"elicitation": {}}}
        await world.post(request(0, "initialize", capable))
        sent = {**POSTED, "mcp-session-id": "s"}
        body = json.dumps(request(1, "tools/call", CALL))
        async with world.client.stream("POST", world.url, content=body, headers=sent) as reply:
            pieces = reply.aiter_text()
            text = ""
            while "\n\n" not in text:
                text += await anext(pieces)
            given = {"action": "accept", "content": {"name": "Ann"}}
            took = await world.post(response("s1", given), mcp_session_id="s")
            assert took.status_code == 202
            text += "".join([piece async for piece in pieces])
        seen = events(text)
        assert [fields.get("id") for fields, _ in seen] == ["1", "2"]
        assert seen[0][1] == asking
        assert json.loads(seen[1][1]["result"]["content"][0]["text"]) == given

    run(scenario, play=play)


def test_what_the_policy_denies_a_server_is_answered_for_the_client() -> None:
    answers: asyncio.Queue[object] = asyncio.Queue()
    sampling = request("s1", "sampling/createMessage", {"messages": [], "maxTokens": 1})

    async def play(received: Received) -> None:
        message = received.json
        if message.get("method") == "tools/call":
            await received.begin(mcp_session_id="s")
            await received.event(sampling)
            given = await answers.get()
            text = {"content": [{"type": "text", "text": json.dumps(given)}]}
            await received.event(answer_to(message, text))
            await received.end()
        else:
            await answers.put(message)
            await received.say(202, kind="")

    async def scenario(world: World) -> None:
        reply = await world.post(request(1, "tools/call", CALL), mcp_session_id="s")
        (only,) = events(reply.text)
        told = json.loads(only[1]["result"]["content"][0]["text"])
        assert told["error"]["message"] == "User rejected sampling request"
        assert world.remote.received[1].headers["mcp-session-id"] == "s"

    run(scenario, play=play, scene=Scene(SEED, lines=False))


def test_a_server_that_asks_without_end_gets_so_many_answers_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nacre.firewall.proxy.http.response_relay.PROXY_REPLIES", 4)
    server = Insisting()

    async def scenario(world: World) -> None:
        reply = await world.post(request(1, "tools/call", CALL))
        assert [message["id"] for _, message in events(reply.text)] == [1]

    run(scenario, play=server.play, scene=Scene(SEED, lines=False))
    assert (len(server.answered), server.most) == (20, 4)


def test_a_page_that_may_not_call_is_told_nothing_and_others_are_not_named() -> None:
    async def scenario(world: World) -> None:
        reply = await world.client.options(world.url, headers={"origin": "http://127.0.0.1"})
        assert reply.status_code == 204
        assert "access-control-allow-origin" not in reply.headers

    run(scenario)


def test_a_page_that_may_call_reads_the_answer_and_its_session() -> None:
    page = "https://page.example"

    async def scenario(world: World) -> None:
        received = await world.client.options(world.url, headers={"origin": page})
        assert received.status_code == 204
        assert received.headers["access-control-allow-origin"] == page
        assert "mcp-session-id" in received.headers["access-control-allow-headers"]
        reply = await world.post(request(0, "initialize", OPENING), origin=page)
        assert reply.headers["access-control-allow-origin"] == page
        assert "mcp-session-id" in reply.headers["access-control-expose-headers"]
        assert "origin" not in world.remote.received[0].headers

    run(scenario, cors=frozenset({page}))


def test_a_body_that_is_no_message_is_refused_without_asking_the_server() -> None:
    async def scenario(world: World) -> None:
        for body in (b"", b"[]", b"{", b'{"jsonrpc":"2.0","id":1}', b"\xff", b"x" * 100):
            reply = await world.post(body)
            assert reply.status_code == 400, body
            assert "error" in reply.json()
        long = await world.post(b" " * (10 * 1024 * 1024 + 1))
        assert long.status_code == 413
        assert world.remote.received == []

    run(scenario, scene=Scene(ALLOW, lines=False))


@pytest.mark.parametrize(
    ("body", "kind"), [(b"", ""), (b"OK", "text/plain"), (b"{}", "application/json")]
)
def test_what_a_server_says_to_a_notification_is_nobodys(body: bytes, kind: str) -> None:
    async def play(received: Received) -> None:
        await received.say(200, body, kind=kind)

    async def scenario(world: World) -> None:
        reply = await world.post(notification("notifications/initialized"))
        assert (reply.status_code, reply.content) == (202, b"")
        assert world.warnings == []

    run(scenario, play=play)


def test_a_page_in_place_of_a_stream_is_an_error() -> None:
    async def play(received: Received) -> None:
        await received.say(200, b"<p>hello</p>", kind="text/html")

    async def scenario(world: World) -> None:
        reply = await world.client.get(world.url)
        assert reply.status_code == 503
        assert "text/html, which is not MCP" in reply.json()["error"]["message"]

    run(scenario, play=play)


def test_an_answer_to_something_else_is_not_passed_off_as_this_ones() -> None:
    async def play(received: Received) -> None:
        await received.say(200, encoded(response(99, {"content": []})))

    async def scenario(world: World) -> None:
        reply = await world.post(request(1, "tools/call", CALL))
        assert (reply.status_code, reply.json()["error"]["code"]) == (503, 503)

    run(scenario, play=play)
