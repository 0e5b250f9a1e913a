"""Clients of one generation before a reverse proxy whose server speaks the other one."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.firewall.guarding import Scene, modern, notification, request, response
from tests.firewall.proxy.generations.ends import ASKS, META, NEW_OPENING, OLD_OPENING
from tests.firewall.proxy.http_world import POSTED, Json, Received, World, answer_to, events, run

FORM = {
    "message": "Who is there?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}
ACCEPTED = {"action": "accept", "content": {"name": "Ann"}}
CALL = {"name": "t", "arguments": {}}


class OldServer:
    """A server with sessions that refuses what names another version; it may ask in a call."""

    def __init__(self) -> None:
        self.answers: asyncio.Queue[Any] = asyncio.Queue()
        self.hung_up = asyncio.Event()
        self.session = 1
        self.forgets = False

    async def play(self, received: Received) -> None:
        if received.method != "POST":
            await received.say(405, kind="")
        elif received.headers.get("mcp-protocol-version") == "2026-07-28":
            error = {"code": -32000, "message": "Bad Request: Unsupported protocol version"}
            refused = {"jsonrpc": "2.0", "id": None, "error": error}
            await received.say(400, json.dumps(refused).encode())
        elif received.json.get("method") == "initialize":
            if self.forgets:
                self.session, self.forgets = self.session + 1, False
            await received.result(OLD_OPENING, mcp_session_id=f"s-{self.session}")
        elif self.forgets:
            await received.say(404, kind="")
        elif "id" in received.json and "method" in received.json:
            await self.answer(received, received.json)
        else:
            await self.take(received, received.json)

    async def take(self, received: Received, message: Any) -> None:
        """Take what has no answer."""
        if "method" not in message:
            self.answers.put_nowait(message)
        elif message["method"] == "notifications/cancelled":
            self.hung_up.set()
        await received.say(202, kind="")

    async def answer(self, received: Received, message: Any) -> None:
        """Answer a request; some calls ask first, or never end."""
        match message["params"].get("name"):
            case "ask":
                await received.begin()
                await received.event(request("q", "elicitation/create", FORM))
                answer = await self.answers.get()
                content = [{"type": "text", "text": json.dumps(answer["result"])}]
                await received.event(answer_to(message, {"content": content}))
                await received.end()
            case "wait":
                await received.begin()
                token = message["params"]["_meta"]["progressToken"]
                told = {"progressToken": token, "progress": 1}
                await received.event(notification("notifications/progress", told))
                await self.hung_up.wait()
            case _:
                await received.result({"content": []})


async def play_new(received: Received) -> None:
    """Refuse sessions, ask once in a call, and tell of nothing unasked."""
    message = received.json if received.body else {}
    if received.headers.get("mcp-protocol-version") != "2026-07-28":
        data = {"supported": ["2026-07-28"]}
        error = {"code": -32022, "message": "Unsupported", "data": data}
        refused = {"jsonrpc": "2.0", "id": message.get("id"), "error": error}
        await received.say(400, json.dumps(refused).encode())
    elif message["method"] == "server/discover":
        await received.result(NEW_OPENING)
    elif message["method"] == "subscriptions/listen":
        await received.begin()
        await asyncio.Event().wait()
    elif "inputResponses" in message["params"]:
        text = json.dumps(message["params"]["inputResponses"])
        await received.result(
            {"resultType": "complete", "content": [{"type": "text", "text": text}]}
        )
    else:
        asks = {"who": {"method": "elicitation/create", "params": FORM}}
        await received.result({"resultType": "input_required", "inputRequests": asks})


def newer(id_: Any, method: str, params: Any = None, **meta: Any) -> dict[str, Any]:
    """Return a request of the stateless generation."""
    asked = modern(params or {}, **ASKS)
    asked["_meta"] |= meta
    return request(id_, method, asked)


def before_old(scenario: Callable[[World], Awaitable[None]], **more: Any) -> World:
    return run(scenario, play=OldServer().play, **more)


def test_a_newer_client_is_translated_from_its_first_request_on() -> None:
    async def scenario(world: World) -> None:
        found = await world.post_modern(newer("d", "server/discover"))
        called = await world.post_modern(newer("d", "tools/call", CALL))

        assert found.json()["result"]["supportedVersions"] == ["2026-07-28"]
        assert (called.json()["id"], called.json()["result"]["resultType"]) == ("d", "complete")
        unknown = await world.post_modern(newer(3, "ping"))
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, -32601)

    world = before_old(scenario)

    methods = [message.get("method") for message in world.remote.messages()]
    assert methods.count("initialize") == 1
    assert methods[-1] == "tools/call"
    sessions = [received.headers.get("mcp-session-id") for received in world.remote.received]
    assert "s-1" in sessions


def test_newer_clients_with_equal_ids_get_their_own_answers() -> None:
    async def scenario(world: World) -> None:
        calls = [newer(1, "tools/call", CALL) for _ in range(10)]
        replies = await asyncio.gather(*(world.post_modern(call) for call in calls))

        assert [reply.json()["id"] for reply in replies] == [1] * 10
        assert all("result" in reply.json() for reply in replies)

    world = before_old(scenario)

    # Calls before the first refusal went out as they were, and were repeated.
    received = [each for each in world.remote.received if each.body]
    translated = [each.json for each in received if "mcp-session-id" in each.headers]
    ids = [each["id"] for each in translated if each.get("method") == "tools/call"]
    assert len(ids) == len(set(ids)) == 10


def test_a_call_that_is_refused_after_the_session_began_is_made_in_it() -> None:
    class LateRefusal(OldServer):
        """Refuses the call of `late` when the other one has a session."""

        def __init__(self) -> None:
            super().__init__()
            self.has_session = asyncio.Event()

        async def play(self, received: Received) -> None:
            message = received.json if received.body else {}
            is_late = message.get("params", {}).get("name") == "late"
            if "mcp-session-id" in received.headers and "id" in message:
                self.has_session.set()
            elif is_late and received.headers.get("mcp-protocol-version") == "2026-07-28":
                await self.has_session.wait()
            await super().play(received)

    async def scenario(world: World) -> None:
        calls = [newer(1, "tools/call", {**CALL, "name": name}) for name in ("t", "late")]
        replies = await asyncio.gather(*(world.post_modern(call) for call in calls))

        assert [reply.json().get("error") for reply in replies] == [None, None]

    run(scenario, play=LateRefusal().play)


def test_a_newer_client_answers_a_question_in_its_next_request() -> None:
    async def scenario(world: World) -> None:
        await world.post_modern(newer("d", "server/discover"))
        call = {"name": "ask", "arguments": {}}
        question = (await world.post_modern(newer(1, "tools/call", call))).json()["result"]
        ((name, asked),) = question["inputRequests"].items()
        assert asked == {"method": "elicitation/create", "params": FORM}

        again = {**call, "requestState": question["requestState"]}
        again["inputResponses"] = {name: ACCEPTED}
        answered = (await world.post_modern(newer(2, "tools/call", again))).json()

        assert answered["id"] == 2
        assert json.loads(answered["result"]["content"][0]["text"]) == ACCEPTED

    before_old(scenario)


def test_a_newer_client_that_hangs_up_cancels_its_call() -> None:
    server = OldServer()

    async def scenario(world: World) -> None:
        await world.post_modern(newer("d", "server/discover"))
        message = newer(7, "tools/call", {"name": "wait", "arguments": {}}, progressToken="mine")
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": "wait",
        }
        async with world.client.stream("POST", world.url, json=message, headers=headers) as reply:
            text = ""
            async for piece in reply.aiter_text():
                text += piece
                if "\n\n" in text:
                    break
        ((_, progress),) = events(text)
        assert progress["params"] == {"progressToken": "mine", "progress": 1}
        await server.hung_up.wait()

    run(scenario, play=server.play)


def test_a_server_that_has_started_again_is_opened_again() -> None:
    server = OldServer()

    async def scenario(world: World) -> None:
        await world.post_modern(newer("d", "server/discover"))
        server.forgets = True
        called = await world.post_modern(newer(1, "tools/call", CALL))

        assert called.json()["result"]["resultType"] == "complete"

    world = run(scenario, play=server.play)

    calls = [each for each in world.remote.received if b"tools/call" in each.body]
    assert [each.headers["mcp-session-id"] for each in calls] == ["s-1", "s-2"]


def test_headers_that_contradict_a_translated_message_are_refused() -> None:
    async def scenario(world: World) -> None:
        await world.post_modern(newer("d", "server/discover"))
        reply = await world.post_modern(newer(1, "tools/call", CALL), mcp_name="other")

        assert (reply.status_code, reply.json()["error"]["code"]) == (400, -32020)

    world = before_old(scenario)
    assert "tools/call" not in [each.get("method") for each in world.remote.messages()]


def test_a_translated_call_that_is_denied_never_reaches_the_server() -> None:
    async def scenario(world: World) -> None:
        await world.post_modern(newer("d", "server/discover"))
        denied = (await world.post_modern(newer(1, "tools/call", CALL))).json()["result"]

        assert denied.items() >= {"isError": True, "resultType": "complete"}.items()

    rules = Scene('[[rule]]\naction = "allow"\nmethod = "**"\n', lines=False)
    world = before_old(scenario, scene=rules)
    assert "tools/call" not in [each.get("method") for each in world.remote.messages()]


def opening(**capabilities: Any) -> dict[str, Any]:
    return request(
        0,
        "initialize",
        {
            "protocolVersion": "2025-06-18",
            "capabilities": capabilities,
            "clientInfo": {"name": "c"},
        },
    )


def test_an_older_client_has_a_session_before_a_server_that_has_none() -> None:
    async def scenario(world: World) -> None:
        opened = await world.post(opening(elicitation={}))
        session = opened.headers["mcp-session-id"]
        assert opened.json()["result"]["protocolVersion"] == "2025-06-18"
        greeted = await world.post(
            notification("notifications/initialized"), mcp_session_id=session
        )
        assert greeted.status_code == 202

        sent = {"content-type": "application/json", "mcp-session-id": session}
        sent["accept"] = "application/json, text/event-stream"
        body = request(1, "tools/call", CALL)
        async with world.client.stream("POST", world.url, json=body, headers=sent) as reply:
            text = ""
            async for piece in reply.aiter_text():
                text += piece
                asked = events(text)
                if text.endswith("\n\n") and len(asked) == 1:
                    ((_, question),) = asked
                    assert question["method"] == "elicitation/create"
                    await world.post(response(question["id"], ACCEPTED), mcp_session_id=session)
        (_, (_, answered)) = events(text)
        assert answered["id"] == 1
        assert json.loads(answered["result"]["content"][0]["text"]) == {"who": ACCEPTED}

        ended = await world.client.delete(world.url, headers={"mcp-session-id": session})
        assert ended.status_code == 200

    run(scenario, play=play_new)


def test_a_second_older_client_is_translated_at_once_in_a_session_of_its_own() -> None:
    async def scenario(world: World) -> None:
        first, second = [await world.post(opening()) for _ in range(2)]

        assert first.headers["mcp-session-id"] != second.headers["mcp-session-id"]

    world = run(scenario, play=play_new)

    versions = [received.headers.get("mcp-protocol-version") for received in world.remote.received]
    assert versions.count("2026-07-28") == 2


def test_an_older_client_that_breaks_a_rule_of_messages_is_refused() -> None:
    async def scenario(world: World) -> None:
        opened = await world.post(opening())
        session = opened.headers["mcp-session-id"]

        batch = await world.post([request(1, "ping")], mcp_session_id=session)

        assert (batch.status_code, batch.json()["error"]["code"]) == (400, -32600)

    run(scenario, play=play_new)


def test_what_both_speak_passes_as_it_is() -> None:
    async def play(received: Received) -> None:
        await received.say(200, b'{"result":{ "resultType":"complete"},"id":1,"jsonrpc":"2.0"}')

    async def scenario(world: World) -> None:
        reply = await world.post_modern(newer(1, "completion/complete"))

        assert reply.content == b'{"result":{ "resultType":"complete"},"id":1,"jsonrpc":"2.0"}'

    world = run(scenario, play=play)
    assert [json.loads(each.body) for each in world.remote.received] == [
        newer(1, "completion/complete")
    ]
    assert f"{META}protocolVersion".encode() in world.remote.received[0].body


@pytest.mark.security
@pytest.mark.parametrize("token", [1.5, -0.0, 1e300, "x", True, [1], {}])
@pytest.mark.parametrize("place", ["progress", "subscription", "client"])
def test_no_odd_token_ends_the_session_of_others(place: str, token: Any) -> None:
    class Server(OldServer):
        async def answer(self, received: Received, message: Any) -> None:
            told: Json = {"progressToken": token, "progress": 1}
            if place == "subscription":
                told = {"_meta": {f"{META}subscriptionId": token}}
            elif place == "client":
                told["progressToken"] = message["params"]["_meta"]["progressToken"]
            method = "odd" if place == "subscription" else "progress"
            await received.begin()
            await received.event(notification(f"notifications/{method}", told))
            await received.event(answer_to(message, {"content": []}))
            await received.end()

    async def scenario(world: World) -> None:
        await world.post_modern(newer("d", "server/discover"))
        own = {"progressToken": token} if place == "client" else {}
        reply = await world.post_modern(newer(1, "tools/call", CALL, **own))

        assert '"resultType":"complete"' in reply.text

    run(scenario, play=Server().play)


@pytest.mark.security
def test_newer_clients_with_other_headers_share_no_session() -> None:
    async def scenario(world: World) -> None:
        for number, key in enumerate(("ann", "ann", "bob", "ann")):
            trace = {"x-api-key": key, "traceparent": f"00-{number}"}
            found = await world.post_modern(newer("d", "server/discover"), **trace)
            assert found.status_code == 200
            await world.post_modern(newer(1, "tools/call", CALL), **trace)
        await world.post_modern(newer("d", "server/discover"))
        await world.post_modern(newer(1, "tools/call", CALL))

    world = before_old(scenario)

    def keys(method: str) -> list[str | None]:
        return [
            received.headers.get("x-api-key")
            for received in world.remote.received
            if received.body and received.json.get("method") == method
        ]

    assert keys("tools/call") == ["ann", "ann", "bob", "ann", None]
    assert keys("initialize") == ["ann", "bob", None]


@pytest.mark.security
def test_a_client_that_reads_nothing_does_not_fill_the_memory() -> None:
    class Server(OldServer):
        has_sent = asyncio.Event()

        async def answer(self, received: Received, message: Any) -> None:
            told = {"progressToken": message["params"]["_meta"]["progressToken"], "progress": 1}
            await received.begin()
            for _ in range(200):
                message_text = {**told, "message": "x" * 100_000}
                await received.event(notification("notifications/progress", message_text))
            await received.event(answer_to(message, {"content": []}))
            await received.end()
            self.has_sent.set()

    server = Server()

    async def scenario(world: World) -> None:
        await world.post_modern(newer("d", "server/discover"))
        call = newer(7, "tools/call", CALL, progressToken="mine")
        headers = {**POSTED, "mcp-protocol-version": "2026-07-28"}
        headers |= {"mcp-method": "tools/call", "mcp-name": "t"}
        async with world.client.stream("POST", world.url, json=call, headers=headers) as reply:
            await server.has_sent.wait()
            told = events("".join([piece async for piece in reply.aiter_text()]))

        assert told[-1][1]["result"]["content"] == []
        assert 0 < len(told) < 200

    run(scenario, play=server.play)


@pytest.mark.security
def test_a_request_whose_headers_alone_name_the_newer_generation_begins_no_session() -> None:
    async def scenario(world: World) -> None:
        await world.post_modern(newer("d", "server/discover"))
        for body in (request(1, "tools/call", CALL), opening()):
            reply = await world.post_modern(body)

            assert (reply.status_code, "mcp-session-id" in reply.headers) == (400, False)
        told = notification("notifications/roots/list_changed")
        assert (await world.post_modern(told)).status_code == 202

    world = before_old(scenario)
    received = [each.headers.get("mcp-protocol-version") for each in world.remote.received]
    assert received[-2:] == ["2026-07-28"] * 2
