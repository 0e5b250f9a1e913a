"""The laptop server's ASGI face, driven by hand: streams, threads and clients that leave."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import StringIO
from typing import Any

import pytest

from nacre.being.application import Application
from nacre.core.errors import UnauthorizedError
from nacre.core.limits import MAX_BODY_BYTES
from nacre.core.logs import Log
from nacre.faces.http.laptop_server import asgi_app
from nacre.protocol.context import Context
from nacre.protocol.dispatch.request_state import RequestStates
from nacre.protocol.http.asgi import AsgiApp
from nacre.protocol.http.http_messages import HttpRequest
from nacre.protocol.principal import FULL, Principal
from nacre.sdk.decorator import tool
from nacre.sdk.result import ToolResult
from nacre.sdk.tool_server import ToolServer
from tests.protocol.surface import KEYS, NOW, elicit

ANN = Principal("token-1", "being-1", FULL)
Messages = list[dict[str, Any]]


def admit(request: HttpRequest, path_being: str | None, query_being: str | None) -> Principal:
    if request.headers.get("authorization") != "Bearer ann":
        raise UnauthorizedError("no token", presented=False)
    return ANN


class Wire:
    """One HTTP exchange with an ASGI application, both ends in this test's hands."""

    def __init__(self, app: AsgiApp, body: bytes, headers: dict[str, str] | None = None) -> None:
        sent = {
            "authorization": "Bearer ann",
            "content-type": "application/json",
            **(headers or {}),
        }
        self._scope: dict[str, Any] = {
            "type": "http",
            "method": "POST",
            "path": "/mcp",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        }
        self._incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._incoming.put_nowait({"type": "http.request", "body": body, "more_body": False})
        self.sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._app = app

    async def run(self) -> None:
        async def send(message: Any) -> None:
            self.sent.put_nowait(dict(message))

        await self._app(self._scope, self._incoming.get, send)

    def hang_up(self) -> None:
        self._incoming.put_nowait({"type": "http.disconnect"})

    async def start(self) -> tuple[int, dict[str, str]]:
        head = await asyncio.wait_for(self.sent.get(), 60)
        return head["status"], {k.decode(): v.decode() for k, v in head["headers"]}

    async def event(self) -> Any:
        part = await asyncio.wait_for(self.sent.get(), 60)
        text = part["body"].decode()
        assert text.startswith("event: message\ndata: ")
        assert text.endswith("\n\n")
        return json.loads(text.removeprefix("event: message\ndata: "))

    async def json(self) -> Any:
        return json.loads((await asyncio.wait_for(self.sent.get(), 60))["body"])


def server() -> ToolServer:
    made = ToolServer("test", "1")

    @tool
    async def steps(context: Context) -> str:
        context.progress(1, 2)
        await asyncio.sleep(0)
        context.progress(2, 2)
        return "done"

    @tool(blocking=True)
    async def thread(context: Context) -> str:
        context.progress(1)
        return threading.current_thread().name

    @tool
    async def who(context: Context) -> str:
        answers = await context.ask({"name": elicit("Who?")})
        return str(answers["name"]["content"]["name"])

    @tool(blocking=True)
    async def who_blocking(context: Context) -> str:
        answers = await context.ask({"name": elicit("Who?")})
        return str(answers["name"]["content"]["name"])

    for each in (steps, thread, who, who_blocking):
        made.register_tool(each)
    return made


def application(made: ToolServer | None = None) -> Application:
    return Application(made or server(), RequestStates(lambda: KEYS, lambda: NOW))


def build(made: ToolServer | None = None, log: StringIO | None = None) -> AsgiApp:
    return asgi_app(application(made), admit=admit, log=Log("info", log or StringIO()))


def call(name: str, *, token: str | None = "p", request_id: int = 1) -> bytes:
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    params = {"name": name, "arguments": {}, **meta}
    return message("tools/call", params, request_id)


def message(method: str, params: dict[str, Any], request_id: int | None = 1) -> bytes:
    body = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(body if request_id is None else {**body, "id": request_id}).encode()


STREAM = {"accept": "application/json, text/event-stream"}


def test_an_answer_without_notifications_is_one_json_object() -> None:
    async def scenario() -> None:
        wire = Wire(build(), call("steps", token=None), STREAM)
        await wire.run()

        status, headers = await wire.start()
        assert (status, headers["content-type"]) == (200, "application/json")
        assert (await wire.json())["result"]["content"][0]["text"] == "done"

    asyncio.run(scenario())


def test_progress_arrives_as_it_happens_and_the_answer_ends_the_stream() -> None:
    async def scenario() -> None:
        wire = Wire(build(), call("steps"), STREAM)
        running = asyncio.create_task(wire.run())

        status, headers = await wire.start()
        assert (status, headers["content-type"]) == (200, "text/event-stream")
        assert headers["x-accel-buffering"] == "no"
        assert (await wire.event())["params"] == {"progressToken": "p", "progress": 1, "total": 2}
        assert (await wire.event())["params"] == {"progressToken": "p", "progress": 2, "total": 2}
        assert (await wire.event())["result"]["content"][0]["text"] == "done"
        await running

    asyncio.run(scenario())


@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("token", [None, "p"])
def test_a_server_that_waits_no_longer_for_a_call_says_so(
    token: str | None, blocking: bool
) -> None:
    async def scenario() -> None:
        begun, cancelled = threading.Event(), threading.Event()

        @tool(name="long", blocking=blocking)
        async def long(context: Context) -> str:
            context.progress(1)
            begun.set()
            try:
                while blocking and not context.cancelled:
                    threading.Event().wait(0.01)
                if not blocking:
                    await asyncio.Event().wait()
            finally:
                cancelled.set()
            return "never"

        made = ToolServer("test", "1")
        made.register_tool(long)
        wire = Wire(build(made), call("long", token=token), STREAM)
        running = asyncio.create_task(wire.run())
        await asyncio.to_thread(begun.wait, 60)
        if token is not None:
            assert (await wire.start())[1]["content-type"] == "text/event-stream"
            assert (await wire.event())["method"] == "notifications/progress"
        running.cancel("as uvicorn does it at the end of its patience")
        await running
        last = await (wire.event() if token is not None else json_of(wire))

        assert (last["id"], last["error"]["code"]) == (1, 503)
        assert "the server stopped" in last["error"]["message"]
        assert await asyncio.to_thread(cancelled.wait, 60)

    async def json_of(wire: Wire) -> Any:
        _, headers = await wire.start()
        assert headers["content-type"] == "application/json"
        return await wire.json()

    asyncio.run(scenario())


def test_a_client_that_takes_no_stream_gets_the_answer_alone() -> None:
    async def scenario() -> None:
        wire = Wire(build(), call("steps"), {"accept": "application/json"})
        await wire.run()

        _status, headers = await wire.start()
        assert headers["content-type"] == "application/json"
        assert (await wire.json())["id"] == 1

    asyncio.run(scenario())


def test_a_blocking_handler_runs_in_a_thread_and_can_still_report() -> None:
    async def scenario() -> None:
        wire = Wire(build(), call("thread"), STREAM)
        await wire.run()

        await wire.start()
        assert (await wire.event())["params"]["progress"] == 1
        name = (await wire.event())["result"]["content"][0]["text"]
        assert name != threading.current_thread().name

    asyncio.run(scenario())


@pytest.mark.parametrize("name", ["who", "who-blocking"])
def test_a_legacy_client_is_asked_over_the_stream_and_answers_in_a_post(name: str) -> None:
    async def scenario() -> None:
        app = build()
        hello = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}}
        await Wire(app, message("initialize", hello), STREAM).run()
        wire = Wire(app, call(name), STREAM)
        running = asyncio.create_task(wire.run())

        await wire.start()
        question = await wire.event()
        assert question["method"] == "elicitation/create"
        answer = {
            "jsonrpc": "2.0",
            "id": question["id"],
            "result": {"action": "accept", "content": {"name": "Ann"}},
        }
        reply = Wire(app, json.dumps(answer).encode(), STREAM)
        await reply.run()
        assert (await reply.start())[0] == 202
        assert (await wire.event())["result"]["content"][0]["text"] == "Ann"
        await running

    asyncio.run(scenario())


def test_a_client_that_refuses_to_answer_is_reported_to_the_model() -> None:
    async def scenario() -> None:
        app = build()
        hello = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}}
        await Wire(app, message("initialize", hello), STREAM).run()
        wire = Wire(app, call("who"), STREAM)
        running = asyncio.create_task(wire.run())

        await wire.start()
        question = await wire.event()
        error = {"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "no"}}
        await Wire(app, json.dumps(error).encode(), STREAM).run()
        assert (await wire.event())["result"]["isError"] is True
        await running

    asyncio.run(scenario())


def test_an_answer_that_nobody_waits_for_is_refused() -> None:
    async def scenario() -> None:
        wire = Wire(build(), b'{"jsonrpc":"2.0","id":"nacre-1","result":{}}')
        await wire.run()

        assert (await wire.start())[0] == 400

    asyncio.run(scenario())


def test_a_legacy_client_that_never_introduced_itself_is_not_asked() -> None:
    async def scenario() -> None:
        wire = Wire(build(), call("who"), STREAM)
        await wire.run()

        await wire.start()
        assert (await wire.json())["result"]["isError"] is True

    asyncio.run(scenario())


def modern_call(name: str) -> tuple[bytes, dict[str, str]]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    headers = {
        **STREAM,
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": name,
    }
    return message("tools/call", {"name": name, "_meta": meta}), headers


STREAMS = {"accept": "application/json, text/event-stream"}
PLAIN = {"accept": "application/json"}


class Slow:
    """A tool that waits to be cancelled, and says what became of it."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.outcome: list[str] = []
        self.server = ToolServer("test", "1")

        @tool
        async def slow(context: Context) -> str:
            context.progress(1)
            self.begun.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.outcome.append("cancelled")
                raise
            return "finished"

        @tool(blocking=True)
        async def slow_thread(context: Context) -> str:
            context.progress(1)
            self.begun.set()
            for _ in range(6000):
                if context.cancelled:
                    self.outcome.append("cancelled")
                    return "stopped"
                time.sleep(0.01)
            return "finished"

        self.server.register_tool(slow)
        self.server.register_tool(slow_thread)


def slow_call(name: str, *, modern: bool, accept: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    if modern:
        body, headers = modern_call(name)
        return body, {**headers, **accept}
    return call(name, request_id=7), {**accept, "user-agent": "old/1"}


@pytest.mark.parametrize("accept", [STREAMS, PLAIN], ids=["stream", "plain"])
@pytest.mark.parametrize("modern", [True, False])
@pytest.mark.parametrize("name", ["slow", "slow-thread"])
def test_hanging_up_ends_a_call(name: str, modern: bool, accept: dict[str, str]) -> None:
    slow = Slow()

    async def scenario() -> None:
        body, headers = slow_call(name, modern=modern, accept=accept)
        wire = Wire(build(slow.server), body, headers)
        running = asyncio.create_task(wire.run())
        await asyncio.to_thread(slow.begun.wait, 60)
        wire.hang_up()
        await asyncio.wait_for(running, 60)

    asyncio.run(scenario())

    assert slow.outcome == ["cancelled"]


@pytest.mark.parametrize("accept", [STREAMS, PLAIN], ids=["stream", "plain"])
@pytest.mark.parametrize("name", ["slow", "slow-thread"])
def test_an_older_client_cancels_a_call_by_a_notification(
    name: str, accept: dict[str, str]
) -> None:
    slow = Slow()

    async def scenario() -> None:
        app = build(slow.server)
        body, headers = slow_call(name, modern=False, accept=accept)
        wire = Wire(app, body, headers)
        running = asyncio.create_task(wire.run())
        await asyncio.to_thread(slow.begun.wait, 60)
        cancel = message("notifications/cancelled", {"requestId": 7, "reason": "no"}, None)
        note = Wire(app, cancel, {"user-agent": "old/1"})
        await note.run()
        assert (await note.start())[0] == 202
        await asyncio.wait_for(running, 60)
        status, sent_headers = await wire.start()
        parts = []
        while not wire.sent.empty():
            parts.append(wire.sent.get_nowait())
        assert parts[-1]["more_body"] is False
        assert not any(b'"result"' in part["body"] for part in parts)  # it has no answer
        if accept is PLAIN:
            assert (status, sent_headers["content-length"]) == (202, "0")

    asyncio.run(scenario())

    assert slow.outcome == ["cancelled"]


@pytest.mark.parametrize(
    ("who", "agent", "request_id"),
    [
        ("ann", "old/1", 8),
        ("ann", "old/1", "7"),
        ("ann", "old/1", True),
        ("ann", "old/1", None),
        ("ann", "other/1", 7),
        ("bob", "old/1", 7),
    ],
)
def test_a_cancellation_ends_nobody_elses_call(who: str, agent: str, request_id: Any) -> None:
    slow = Slow()

    def either(request: HttpRequest, *named: str | None) -> Principal:
        name = request.headers["authorization"].removeprefix("Bearer ")
        return Principal(f"token-of-{name}", "being-1", FULL)

    async def scenario() -> None:
        app = asgi_app(application(slow.server), admit=either, log=Log("info", StringIO()))
        body, headers = slow_call("slow", modern=False, accept=STREAMS)
        wire = Wire(app, body, headers)
        running = asyncio.create_task(wire.run())
        await asyncio.to_thread(slow.begun.wait, 60)
        cancel = message("notifications/cancelled", {"requestId": request_id}, None)
        note = Wire(app, cancel, {"user-agent": agent, "authorization": f"Bearer {who}"})
        await note.run()
        assert (await note.start())[0] == 202
        for _ in range(20):
            await asyncio.sleep(0)
        assert slow.outcome == []
        wire.hang_up()
        await asyncio.wait_for(running, 60)

    asyncio.run(scenario())


def test_of_two_calls_with_one_id_neither_is_ended_by_a_notification() -> None:
    slow = Slow()

    async def scenario() -> None:
        app = build(slow.server)
        body, headers = slow_call("slow", modern=False, accept=STREAMS)
        wires = [Wire(app, body, headers), Wire(app, body, headers)]
        running = [asyncio.create_task(wire.run()) for wire in wires]
        for wire in wires:
            await wire.start()
        await Wire(app, message("notifications/cancelled", {"requestId": 7}, None), headers).run()
        for _ in range(20):
            await asyncio.sleep(0)
        assert slow.outcome == []
        for wire in wires:
            wire.hang_up()
        await asyncio.wait_for(asyncio.gather(*running), 60)

    asyncio.run(scenario())

    assert slow.outcome == ["cancelled", "cancelled"]


def test_a_blocking_call_finishes_its_work_although_the_client_has_left() -> None:
    finished = threading.Event()
    made = ToolServer("test", "1")

    async def scenario() -> None:
        begun, release = threading.Event(), threading.Event()

        @tool(blocking=True)
        async def slow(context: Context) -> str:
            begun.set()
            release.wait(60)
            if context.cancelled:
                finished.set()
            return "kept"

        made.register_tool(slow)
        body, headers = modern_call("slow")
        wire = Wire(build(made), body, headers)
        running = asyncio.create_task(wire.run())
        await asyncio.to_thread(begun.wait, 60)
        wire.hang_up()
        for _ in range(20):  # enough turns of the loop for the server to notice
            await asyncio.sleep(0)
        release.set()
        await asyncio.wait_for(running, 60)

    asyncio.run(scenario())

    assert finished.is_set()


def test_a_body_that_is_too_large_is_refused() -> None:
    async def scenario() -> None:
        length = str(MAX_BODY_BYTES + 1)
        wire = Wire(build(), b"x", {"content-length": length})
        await wire.run()

        status, headers = await wire.start()
        assert (status, headers["connection"]) == (413, "close")

    asyncio.run(scenario())


def test_only_a_known_caller_sends_a_large_body_and_only_to_a_tool() -> None:
    async def status(method: str, room: int, who: str = "Bearer ann") -> int:
        app = Application(
            server(), RequestStates(lambda: KEYS, lambda: NOW), call_bytes=2 * MAX_BODY_BYTES
        )
        params = {"name": "thread", "arguments": {}, "_meta": {"fill": "🐚"}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        body += " " * (MAX_BODY_BYTES + room - len(body))
        made = asgi_app(app, admit=admit, log=Log("info", StringIO()))
        wire = Wire(made, body.encode(), {"authorization": who})
        await wire.run()
        return (await wire.start())[0]

    async def scenario() -> None:
        assert await status("tools/call", 0) == 200
        assert await status("tools/call", 1) == 200
        assert await status("tools/call", MAX_BODY_BYTES) == 200
        assert await status("tools/call", MAX_BODY_BYTES + 1) == 413
        assert await status("tools/call", 1, who="Bearer eve") == 401
        assert await status("tools/call", 0, who="Bearer eve") == 401
        assert await status("prompts/get", 1) == 413

    asyncio.run(scenario())


def test_a_token_is_checked_once_and_before_the_body_is_read() -> None:
    asked = []

    def counted(request: HttpRequest, *more: str | None) -> Principal:
        asked.append(request.body)
        return ANN

    async def scenario() -> None:
        app = Application(
            server(), RequestStates(lambda: KEYS, lambda: NOW), call_bytes=8 * MAX_BODY_BYTES
        )
        wire = Wire(asgi_app(app, admit=counted, log=Log("info", StringIO())), b"")
        wire._incoming = asyncio.Queue()
        for more in (True, True, True, False):
            part = {"type": "http.request", "body": b" " * MAX_BODY_BYTES, "more_body": more}
            wire._incoming.put_nowait(part)
        await wire.run()
        assert (await wire.start())[0] == 400

    asyncio.run(scenario())

    assert asked == [b""]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": "Bearer eve"}, 401),
        ({"content-length": str(MAX_BODY_BYTES + 1)}, 413),
        ({"content-type": "text/plain"}, 415),
        ({"accept": "text/html"}, 406),
    ],
)
def test_what_the_head_shows_is_refused_before_the_body_is_read(
    headers: dict[str, str], status: int
) -> None:
    async def scenario() -> None:
        wire = Wire(build(), b"", headers)
        wire._incoming = asyncio.Queue()  # nothing of the body ever comes
        running = asyncio.create_task(wire.run())

        assert (await wire.start())[0] == status
        assert (await wire.sent.get())["body"]
        wire.hang_up()
        await asyncio.wait_for(running, 60)

    asyncio.run(scenario())


def test_the_rest_of_a_body_that_is_too_large_is_thrown_away() -> None:
    async def scenario() -> None:
        wire = Wire(build(), b"")
        wire._incoming = asyncio.Queue()
        for more in (True, True, False):
            part = {"type": "http.request", "body": b"x" * MAX_BODY_BYTES, "more_body": more}
            wire._incoming.put_nowait(part)
        await wire.run()

        assert ((await wire.start())[0], wire._incoming.empty()) == (413, True)

    asyncio.run(scenario())


def test_a_body_without_end_is_given_up() -> None:
    async def scenario() -> None:
        wire = Wire(build(), b"")
        endless = {"type": "http.request", "body": b"x" * MAX_BODY_BYTES, "more_body": True}

        async def receive() -> dict[str, Any]:
            return endless

        wire._incoming.get = receive  # type: ignore[method-assign]
        await wire.run()

        assert (await wire.start())[0] == 413

    asyncio.run(scenario())


def test_a_client_that_leaves_before_its_body_is_whole_gets_nothing() -> None:
    async def scenario() -> None:
        wire = Wire(build(), b"")
        wire._incoming = asyncio.Queue()
        wire.hang_up()
        await wire.run()

        assert wire.sent.empty()

    asyncio.run(scenario())


def test_what_is_not_mcp_goes_elsewhere_or_is_not_found() -> None:
    async def scenario() -> None:
        wire = Wire(build(), b"")
        wire._scope["path"] = "/other"
        await wire.run()

        assert (await wire.start())[0] == 404

    asyncio.run(scenario())


def test_repeated_headers_and_parameters_are_joined_as_api_gateway_joins_them() -> None:
    seen: list[HttpRequest] = []

    def watch(request: HttpRequest, path_being: str | None, query_being: str | None) -> Principal:
        seen.append(request)
        return ANN

    async def scenario() -> None:
        app = asgi_app(application(), admit=watch, log=Log("info", StringIO()))
        wire = Wire(app, message("ping", {}))
        wire._scope["headers"] += [(b"X-Many", b"a"), (b"x-many", b"b")]
        wire._scope["query_string"] = b"being_id=1&being_id=2"
        await wire.run()

    asyncio.run(scenario())

    assert (seen[0].headers["x-many"], seen[0].query["being_id"]) == ("a, b", "1,2")


def test_the_log_has_ids_and_no_content() -> None:
    log = StringIO()

    async def scenario() -> None:
        body = message("tools/call", {"name": "steps", "arguments": {"secret": "hush"}})
        await Wire(build(log=log), body, {**STREAM, "x-llm-api-key": "sk-hush"}).run()

    asyncio.run(scenario())

    line = json.loads(log.getvalue())
    assert (line["event"], line["tool"], line["being"], line["token"], line["status"]) == (
        "mcp",
        "steps",
        "being-1",
        "token-1",
        200,
    )
    assert "hush" not in log.getvalue()


def test_the_lifespan_starts_before_the_first_request_and_ends_after_the_last() -> None:
    events: list[str] = []

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        events.append("start")
        yield
        events.append("stop")

    async def scenario() -> None:
        app = asgi_app(application(), admit=admit, lifespan=lifespan, log=Log("info", StringIO()))
        incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

        async def send(sent: Any) -> None:
            events.append(sent["type"])

        incoming.put_nowait({"type": "lifespan.startup"})
        incoming.put_nowait({"type": "lifespan.shutdown"})
        await app({"type": "lifespan"}, incoming.get, send)

    asyncio.run(scenario())

    assert events == ["start", "lifespan.startup.complete", "stop", "lifespan.shutdown.complete"]


def test_a_tool_result_that_is_no_json_is_an_error_and_not_a_crash() -> None:
    made = ToolServer("test", "1")

    @tool
    async def odd() -> ToolResult:
        return ToolResult.structured({"x": float("nan")})

    async def scenario() -> None:
        made.register_tool(odd)
        wire = Wire(build(made), call("odd", token=None), STREAM)
        await wire.run()

        await wire.start()
        body = await wire.json()
        assert body["result"]["isError"] is True if "result" in body else body["error"]["code"]

    asyncio.run(scenario())
