"""A new session with a server behind ours: compared with its pins before its first call."""

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.http_upstream import Upstream, http_upstream
from tests.gateway.test_served import OFFERS, behind, definition, list_tools, odd
from tests.scaffolding.gateway_world import World, world

CHANGED = "has changed since it was approved"


def told(gateway: World, tool: str) -> str:
    return str(gateway.call(tool)["content"][0]["text"])


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_program_that_starts_again_is_compared_before_its_first_call(
    era: str, tmp_path: Path
) -> None:
    list_tools(tmp_path, "echo", "dies")
    with behind(tmp_path, era) as gateway:
        assert "echo" in told(gateway, "mcp__odd__echo")
        list_tools(tmp_path, "echo", "dies", description="Another tool")
        gateway.call("mcp__odd__dies")

        assert CHANGED in told(gateway, "mcp__odd__echo")
        outcomes = [each["outcome"] for each in gateway.records() if each.get("tool") == "echo"]

    assert outcomes[-1] == "deny"


def test_so_is_a_program_that_was_known_before_this_process_began(tmp_path: Path) -> None:
    list_tools(tmp_path, "echo")
    with behind(tmp_path):
        pass
    list_tools(tmp_path, "echo", description="Another tool")
    with world(tmp_path / "w", {"odd": odd(tmp_path)}) as gateway:
        assert CHANGED in told(gateway, "mcp__odd__echo")


@pytest.mark.parametrize(("member", "method", "item", "use"), OFFERS)
def test_prompts_and_resources_are_compared_as_well(
    member: str, method: str, item: dict[str, Any], use: tuple[str, dict[str, Any]], tmp_path: Path
) -> None:
    list_tools(tmp_path, "dies")
    with behind(tmp_path) as gateway:
        shown = gateway.ask(method)["result"][member][-1]
        params = use[1] or {"name": shown["name"]}
        assert "result" in gateway.ask(use[0], params)
        changed = {**item, "description": "Another one"}
        (tmp_path / "offers.json").write_text(json.dumps({member: [changed]}))
        gateway.call("mcp__odd__dies")

        assert CHANGED in gateway.ask(use[0], params)["error"]["message"]


class Sessions:
    """A server over HTTP whose every session has an id; it forgets them when told so."""

    unknown: frozenset[str] = frozenset()  # methods that it answers with an error

    def __init__(self, upstream: Upstream) -> None:
        self.tools = [definition("echo")]
        self.known: set[str] = set()
        self.asked: list[str] = []
        handler: Any = upstream.server.RequestHandlerClass
        sessions = self

        def do_post(request: Any) -> None:
            body = json.loads(request.rfile.read(int(request.headers["content-length"])))
            sessions.answer(request, body)

        handler.do_POST = do_post
        handler.do_GET = lambda request: request.reply(405, b"", "text/plain")
        handler.do_DELETE = lambda request: request.reply(405, b"", "text/plain")

    def answer(self, request: Any, body: dict[str, Any]) -> None:
        method = body["method"]
        session = request.headers.get("mcp-session-id")
        if method == "server/discover":
            request.reply(404, b"", "text/plain")
            return
        self.asked.append(method)
        if method != "initialize" and session not in self.known:
            request.reply(404, b"no such session", "text/plain")
            return
        if "id" not in body:
            request.reply(202, b"", "text/plain")
            return
        if method == "initialize":
            session = uuid.uuid4().hex
            self.known.add(session)
            result: dict[str, Any] = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "web", "version": "1"},
            }
        elif method == "tools/list":
            result = {"tools": self.tools}
        elif method == "ping":
            result = {}
        else:
            result = {"content": [{"type": "text", "text": "called"}]}
        outcome: dict[str, Any] = {"result": result}
        if method in self.unknown:
            outcome = {"error": {"code": -32601, "message": "Method not found"}}
        answer = json.dumps({"jsonrpc": "2.0", "id": body["id"], **outcome}).encode()
        request.send_response(200)
        request.send_header("mcp-session-id", session)
        request.send_header("content-type", "application/json")
        request.send_header("content-length", str(len(answer)))
        request.end_headers()
        request.wfile.write(answer)


@contextmanager
def sessions(folder: Path, **more: Any) -> Iterator[tuple[World, Sessions]]:
    with http_upstream() as upstream:
        server = Sessions(upstream)
        with world(folder / "w", {"web": {"url": upstream.url, **more}}) as gateway:
            yield gateway, server


def test_a_session_that_a_url_has_forgotten_begins_anew_and_is_compared(tmp_path: Path) -> None:
    with sessions(tmp_path) as (gateway, server):
        assert gateway.tools() == ["mcp__web__echo"]
        assert told(gateway, "mcp__web__echo") == "called"
        server.known.clear()
        assert told(gateway, "mcp__web__echo") == "called"
        assert server.asked.count("tools/list") == 2

        server.known.clear()
        server.tools = [definition("echo", "Another tool")]
        calls = server.asked.count("tools/call")
        assert CHANGED in told(gateway, "mcp__web__echo")

    assert server.asked.count("tools/call") - calls == 1  # the one that met a forgotten session


@pytest.mark.parametrize("lists", [True, False])
def test_an_ordinary_first_call_costs_one_list(tmp_path: Path, lists: bool) -> None:
    with sessions(tmp_path) as (gateway, server):
        if lists:
            gateway.tools()
        else:
            gateway.call("mcp__web__echo")  # nobody knows the server yet, and it is asked
        for _ in range(3):
            assert told(gateway, "mcp__web__echo") == "called"
        gateway.tools()

    assert server.asked.count("tools/list") == 1
    assert server.asked.count("initialize") == 1


def test_a_server_that_cannot_be_listed_any_more_is_not_called(tmp_path: Path) -> None:
    list_tools(tmp_path, "echo", "dies")
    with behind(tmp_path) as gateway:
        (tmp_path / "tools.json").unlink()
        gateway.call("mcp__odd__dies")

        assert "No list" in told(gateway, "mcp__odd__echo")
