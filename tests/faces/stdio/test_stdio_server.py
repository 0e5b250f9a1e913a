"""The stdio face, with a client at the other end of two pipes."""

import asyncio
import errno
import gc
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO, StringIO
from typing import Any

import pytest

from nacre.being.application import Application
from nacre.core.limits import MAX_BODY_BYTES, STDIO_THREADS
from nacre.core.logs import Log
from nacre.faces.stdio import stdio_server
from nacre.faces.stdio.stdio_server import serve_stdio
from nacre.protocol.context import Context
from nacre.protocol.dispatch.request_state import RequestStates
from nacre.protocol.principal import FULL, Principal
from nacre.sdk.decorator import tool
from nacre.sdk.result import ToolResult
from nacre.sdk.tool import Tool
from nacre.sdk.tool_server import ToolServer
from tests.protocol.surface import KEYS, NOW, elicit

OWNER = Principal("local", "being-1", FULL)


class Client:
    """The client's end of the pipes."""

    def __init__(self, to_server: int, from_server: int) -> None:
        self._out = os.fdopen(to_server, "wb")
        self._in = os.fdopen(from_server, "rb")

    def send(self, method: str, params: dict[str, Any] | None = None, id_: object = 1) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        self.raw(json.dumps(message if id_ is None else {**message, "id": id_}).encode() + b"\n")

    def raw(self, data: bytes) -> None:
        self._out.write(data)
        self._out.flush()

    def read(self) -> Any:
        return json.loads(self._in.readline())

    def rest(self) -> list[Any]:
        return [json.loads(line) for line in self._in]

    def close_input(self) -> None:
        self._out.close()

    def close(self) -> None:
        if not self._out.closed:
            self._out.close()
        self._in.close()


@contextmanager
def connected(made: ToolServer, call_bytes: int = MAX_BODY_BYTES) -> Iterator[Client]:
    server_in, to_server = os.pipe()
    from_server, server_out = os.pipe()
    app = Application(made, RequestStates(lambda: KEYS, lambda: NOW), call_bytes=call_bytes)

    def serve() -> None:
        with os.fdopen(server_in, "rb") as stdin, os.fdopen(server_out, "wb") as stdout:
            log = Log("info", StringIO())
            serve_stdio(app, principal=OWNER, stdin=stdin, stdout=stdout, log=log)

    thread = threading.Thread(target=serve)
    thread.start()
    client = Client(to_server, from_server)
    try:
        yield client
    finally:
        client.close()
        thread.join(60)
        assert not thread.is_alive()


def server(*tools: Any) -> ToolServer:
    made = ToolServer("test", "1")
    for each in tools:
        made.register_tool(each)
    return made


@tool(blocking=True)
async def hello() -> str:
    return "hello"


@tool
async def who(context: Context) -> str:
    return str((await context.ask({"name": elicit("Who?")}))["name"]["content"]["name"])


@tool(blocking=True)
async def who_blocking(context: Context) -> str:
    return str((await context.ask({"name": elicit("Who?")}))["name"]["content"]["name"])


def meta(**more: Any) -> dict[str, Any]:
    return {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            **more,
        }
    }


def text_of(answer: Any) -> str:
    return str(answer["result"]["content"][0]["text"])


def test_a_legacy_conversation() -> None:
    with connected(server(hello)) as client:
        client.send("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})
        assert client.read()["result"]["protocolVersion"] == "2025-06-18"
        client.send("notifications/initialized", id_=None)
        client.send("tools/list", id_=2)
        assert [entry["name"] for entry in client.read()["result"]["tools"]] == ["hello"]
        client.send("tools/call", {"name": "hello"}, id_=3)
        assert text_of(client.read()) == "hello"


def test_a_modern_conversation() -> None:
    with connected(server(hello)) as client:
        client.send("server/discover", meta())
        assert client.read()["result"]["resultType"] == "complete"
        client.send("tools/call", {"name": "hello", **meta()}, id_=2)
        assert client.read()["result"]["resultType"] == "complete"


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"{\n", -32700),
        (b"\xff\n", -32700),
        (b"[]\n", -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","method":"y"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"nonsense"}\n', -32601),
        (b"x" * (MAX_BODY_BYTES + 10) + b"\n", -32600),
        (b"x" * (3 * MAX_BODY_BYTES) + b"\n", -32600),
    ],
)
def test_a_bad_line_is_answered_and_the_next_one_is_read(raw: bytes, code: int) -> None:
    with connected(server(hello)) as client:
        client.raw(raw)
        assert client.read()["error"]["code"] == code
        client.send("ping")
        assert client.read()["result"] == {}


def test_a_tool_takes_a_large_line_and_nothing_else_does() -> None:
    def line(method: str, size: int) -> bytes:
        params = {"name": "hello", "arguments": {}}
        head = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return head.encode() + b" " * (size - len(head)) + b"\n"

    with connected(server(hello), call_bytes=2 * MAX_BODY_BYTES) as client:
        client.raw(line("tools/call", MAX_BODY_BYTES + 1))
        assert client.read()["result"]["content"][0]["text"] == "hello"
        client.raw(line("tools/call", 2 * MAX_BODY_BYTES))
        assert client.read()["result"]["content"][0]["text"] == "hello"
        client.raw(line("tools/call", 2 * MAX_BODY_BYTES + 2))
        assert "larger than 8388608 bytes" in client.read()["error"]["message"]
        client.raw(line("ping", MAX_BODY_BYTES + 1))
        assert "larger than 4194304 bytes" in client.read()["error"]["message"]
        client.raw(line("ping", 1024 * 1024 - 1) + line("ping", 1024 * 1024))
        assert [client.read()["result"], client.read()["result"]] == [{}, {}]


def test_an_unknown_modern_version_is_answered_with_those_that_are_served() -> None:
    with connected(server(hello)) as client:
        version = {"io.modelcontextprotocol/protocolVersion": "2030-01-01"}
        client.send("server/discover", {"_meta": {**meta()["_meta"], **version}})
        assert client.read()["error"]["code"] == -32022


def test_empty_lines_are_nothing() -> None:
    with connected(server(hello)) as client:
        client.raw(b"\n  \n")
        client.send("ping")
        assert client.read()["id"] == 1


@pytest.mark.parametrize("name", ["who", "who-blocking"])
def test_a_legacy_client_is_asked_and_answers(name: str) -> None:
    with connected(server(who, who_blocking)) as client:
        client.send("initialize", {"capabilities": {"elicitation": {}}})
        client.read()
        client.send("tools/call", {"name": name}, id_=2)
        question = client.read()
        assert question["method"] == "elicitation/create"
        answer = {"action": "accept", "content": {"name": "Ann"}}
        response = {"jsonrpc": "2.0", "id": question["id"], "result": answer}
        client.raw(json.dumps(response).encode() + b"\n")
        assert text_of(client.read()) == "Ann"


def test_a_modern_client_is_asked_in_the_result() -> None:
    with connected(server(who)) as client:
        capable: dict[str, Any] = {
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}
        }
        client.send("tools/call", {"name": "who", **meta(**capable)})
        first = client.read()["result"]
        answers = {"name": {"action": "accept", "content": {"name": "Ann"}}}
        again = {"inputResponses": answers, "requestState": first["requestState"]}
        client.send("tools/call", {"name": "who", **meta(**capable), **again}, id_=2)
        assert text_of(client.read()) == "Ann"


def gated() -> tuple[Any, threading.Event, Callable[[], None]]:
    begun, release = threading.Event(), threading.Event()

    @tool(blocking=True)
    async def slow() -> str:
        begun.set()
        release.wait(60)
        return "slow"

    return slow, begun, release.set


def test_a_slow_call_holds_up_nobody() -> None:
    slow, begun, release = gated()
    with connected(server(slow, hello)) as client:
        client.send("tools/call", {"name": "slow"}, id_=1)
        begun.wait(60)
        client.send("tools/call", {"name": "hello"}, id_=2)
        assert client.read()["id"] == 2
        release()
        assert client.read()["id"] == 1


def test_an_id_that_is_still_in_use_is_refused() -> None:
    slow, begun, release = gated()
    with connected(server(slow, hello)) as client:
        client.send("tools/call", {"name": "slow"}, id_=1)
        begun.wait(60)
        client.send("tools/call", {"name": "hello"}, id_=1)
        assert client.read()["error"]["code"] == -32600
        release()
        assert text_of(client.read()) == "slow"


def test_a_call_in_flight_is_finished_when_the_input_ends() -> None:
    slow, begun, release = gated()
    with connected(server(slow)) as client:
        client.send("tools/call", {"name": "slow"}, id_=1)
        begun.wait(60)
        client.close_input()
        release()
        assert [text_of(answer) for answer in client.rest()] == ["slow"]


def test_a_question_nobody_will_answer_ends_with_the_input() -> None:
    with connected(server(who)) as client:
        client.send("initialize", {"capabilities": {"elicitation": {}}})
        client.read()
        client.send("tools/call", {"name": "who"}, id_=2)
        client.read()
        client.close_input()
        assert [answer["result"]["isError"] for answer in client.rest()] == [True]


def test_an_answer_after_its_call_was_cancelled_is_dropped() -> None:
    @tool
    async def turns() -> str:
        import asyncio

        for _ in range(10):  # of the loop: what was cancelled before has ended after them
            await asyncio.sleep(0)
        return "turned"

    with connected(server(who, turns)) as client:
        client.send("initialize", {"capabilities": {"elicitation": {}}})
        client.read()
        client.send("tools/call", {"name": "who"}, id_=2)
        asked = client.read()
        client.send("notifications/cancelled", {"requestId": 2}, id_=None)
        client.send("tools/call", {"name": "turns"}, id_=3)
        assert text_of(client.read()) == "turned"
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}}
        client.raw(json.dumps(answer).encode() + b"\n")
        client.send("ping", id_=4)
        assert client.read()["id"] == 4


def test_a_cancelled_call_gets_no_answer() -> None:
    slow, begun, release = gated()
    with connected(server(slow, hello)) as client:
        client.send("tools/call", {"name": "slow"}, id_=1)
        begun.wait(60)
        client.send("notifications/cancelled", {"requestId": 1}, id_=None)
        client.send("ping", id_=2)
        assert client.read()["id"] == 2
        release()
        client.close_input()
        assert client.rest() == []


def test_a_call_that_is_cancelled_before_its_turn_never_begins() -> None:
    slow, begun, release = gated()
    with connected(server(slow, hello)) as client:
        for number in range(STDIO_THREADS):
            client.send("tools/call", {"name": "slow"}, id_=number)
        begun.wait(60)
        client.send("tools/call", {"name": "hello"}, id_="late")
        client.send("notifications/cancelled", {"requestId": "late"}, id_=None)
        client.send("ping", id_="ping")
        assert client.read()["id"] == "ping"
        release()
        client.close_input()
        assert {answer["id"] for answer in client.rest()} == set(range(STDIO_THREADS))
    gc.collect()  # a coroutine that was made and never begun would warn now


def test_the_end_waits_for_an_answer_that_is_being_written() -> None:
    writing, returned = threading.Event(), threading.Event()
    cut_off: list[bool] = []

    class Input(BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            line = super().readline(size)
            assert line or writing.wait(60)
            return line

    class Output(BytesIO):
        def write(self, data: Any) -> int:
            writing.set()
            cut_off.append(returned.wait(0.2))
            return super().write(data)

    app = Application(server(hello), RequestStates(lambda: KEYS, lambda: NOW))
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "hello"}}
    stdin, stdout = Input(json.dumps(call).encode() + b"\n"), Output()
    serve_stdio(app, principal=OWNER, stdin=stdin, stdout=stdout, log=Log("info", StringIO()))
    returned.set()

    assert cut_off == [False]
    assert text_of(json.loads(stdout.getvalue())) == "hello"


def test_calls_that_hang_do_not_keep_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio_server, "DRAIN_SECONDS", 0.05)
    slow, begun, release = gated()
    with connected(server(slow)) as client:
        for number in range(3):
            client.send("tools/call", {"name": "slow"}, id_=number)
        begun.wait(60)
        client.close_input()
        assert client.rest() == []
    release()


def test_a_signal_gives_up_what_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio_server, "_GRACE_SECONDS", 0.05)
    begun, heard = threading.Event(), threading.Event()

    async def order(arguments: dict[str, Any], context: Context) -> ToolResult:
        begun.set()
        while not context.cancelled:
            threading.Event().wait(0.01)
        heard.set()
        return ToolResult(())

    class Interrupted(BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            if line := super().readline(size):
                return line
            begun.wait(60)
            raise KeyboardInterrupt

    made = server(Tool("order", "Takes long.", {"type": "object"}, order, blocking=True))
    app = Application(made, RequestStates(lambda: KEYS, lambda: NOW))
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "order"}}
    stdin, stdout = Interrupted(json.dumps(call).encode() + b"\n"), BytesIO()

    with pytest.raises(KeyboardInterrupt):
        serve_stdio(app, principal=OWNER, stdin=stdin, stdout=stdout, log=Log("info", StringIO()))

    assert heard.is_set()
    assert stdout.getvalue() == b""


@pytest.mark.parametrize("blocking", [False, True])
def test_a_client_that_is_gone_waits_for_no_call(
    monkeypatch: pytest.MonkeyPatch, blocking: bool
) -> None:
    monkeypatch.setattr(stdio_server, "_GRACE_SECONDS", 0.05)
    begun, heard = threading.Event(), threading.Event()

    async def order(arguments: dict[str, Any], context: Context) -> ToolResult:
        begun.set()
        try:
            while not context.cancelled:
                threading.Event().wait(0.01)
                if not blocking:
                    await asyncio.sleep(0)
        finally:
            heard.set()
        return ToolResult(())

    made = server(Tool("order", "Takes long.", {"type": "object"}, order, blocking=blocking))
    with connected(made) as client:
        client.send("tools/call", {"name": "order"})
        assert begun.wait(60)
        client.close()

    assert heard.wait(60)


def test_a_client_that_only_ends_its_input_gets_the_answers_to_its_calls() -> None:
    slow, begun, release = gated()
    with connected(server(slow)) as client:
        client.send("tools/call", {"name": "slow"})
        begun.wait(60)
        client.close_input()
        release()
        [answer] = client.rest()

    assert text_of(answer) == "slow"


def test_only_the_id_itself_cancels() -> None:
    slow, begun, release = gated()
    with connected(server(slow)) as client:
        client.send("tools/call", {"name": "slow"}, id_=1)
        begun.wait(60)
        client.send("notifications/cancelled", {"requestId": True}, id_=None)
        client.send("ping", id_=2)
        assert client.read()["id"] == 2
        release()
        assert text_of(client.read()) == "slow"


def test_an_output_that_takes_nothing_more_ends_with_the_input() -> None:
    class Full(BytesIO):
        def write(self, _data: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    app = Application(server(hello), RequestStates(lambda: KEYS, lambda: NOW))
    lines = BytesIO(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * 2)

    serve_stdio(app, principal=OWNER, stdin=lines, stdout=Full(), log=Log("info", StringIO()))

    assert lines.read() == b""


def test_a_call_on_the_loop_is_stopped_when_it_is_cancelled() -> None:
    begun, stopped = threading.Event(), threading.Event()

    @tool
    async def endless() -> str:
        import asyncio

        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            stopped.set()
        return "never"

    with connected(server(endless)) as client:
        client.send("tools/call", {"name": "endless"})
        begun.wait(60)
        client.send("notifications/cancelled", {"requestId": 1}, id_=None)
        assert stopped.wait(60)


def test_cancelling_what_does_not_run_is_ignored() -> None:
    with connected(server(hello)) as client:
        client.send("notifications/cancelled", {"requestId": 99}, id_=None)
        client.send("notifications/cancelled", {"requestId": [1]}, id_=None)
        client.send("ping")
        assert client.read()["id"] == 1


def test_the_log_repeats_no_secret_that_stands_in_the_place_of_a_name() -> None:
    app = Application(server(hello), RequestStates(lambda: KEYS, lambda: NOW))
    params = {"name": f"ghp_{'aB3' * 12}", **meta()}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    lines, written = BytesIO(json.dumps(call).encode() + b"\n"), StringIO()

    serve_stdio(app, principal=OWNER, stdin=lines, stdout=BytesIO(), log=Log("info", written))

    assert json.loads(written.getvalue())["tool"] == "[redacted: github-token]"
