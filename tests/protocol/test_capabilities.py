"""What each face advertises is what it can do there, and nothing that it answers by a shrug."""

from contextlib import nullcontext
from io import StringIO
from typing import Any

import pytest

from nacre.core.logs import Log
from nacre.faces.aws_lambda.mcp_http import mcp_handler
from nacre.protocol.http.legacy_clients import LogLevelPeers
from tests.end_to_end.conformance.fixture_server import conformance_application
from tests.protocol.wires import WIRES, LambdaWire, Message, Wire
from tests.scaffolding.lambda_events import EVENT_SHAPES

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class ChosenLevels:
    """The levels that clients chose, in memory."""

    def __init__(self) -> None:
        self.levels: dict[tuple[str, str], str] = {}

    def chosen(self, subject: str, client: str) -> str | None:
        return self.levels.get((subject, client))

    def choose(self, subject: str, client: str, level: str) -> None:
        self.levels[subject, client] = level


def on_lambda(levels: ChosenLevels) -> Wire:
    """Return a function that finds again which level a client chose."""
    handler = mcp_handler(
        conformance_application(),
        peers=LogLevelPeers(lambda: levels),
        log=Log(stream=StringIO()),
    )
    return LambdaWire(handler, EVENT_SHAPES["http-api"])


FACES: dict[str, Any] = {
    "http": WIRES["http"],
    "stdio": WIRES["stdio"],
    "lambda": lambda _app: nullcontext(on_lambda(ChosenLevels())),
    "lambda that remembers nothing": WIRES["http-api"],
}


def ask(wire: Wire, method: str, params: dict[str, Any], number: int = 1) -> list[Message]:
    """Send a request, and return all that comes back."""
    return list(wire.say({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))


def logged(messages: list[Message]) -> list[str]:
    return [m["params"]["level"] for m in messages if m.get("method") == "notifications/message"]


@pytest.mark.parametrize("face", FACES)
def test_an_older_client_hears_what_a_tool_logs_where_that_is_advertised(face: str) -> None:
    with FACES[face](conformance_application()) as wire:
        capabilities = ask(wire, "initialize", HELLO)[0]["result"]["capabilities"]
        messages = ask(wire, "tools/call", {"name": "test_tool_with_logging"}, 2)

    expected = [] if face == "lambda that remembers nothing" else ["info"] * 3
    assert ("logging" in capabilities, logged(messages)) == (bool(expected), expected)


@pytest.mark.parametrize("face", FACES)
def test_an_older_client_chooses_the_level_or_is_told_that_it_cannot(face: str) -> None:
    with FACES[face](conformance_application()) as wire:
        capabilities = ask(wire, "initialize", HELLO)[0]["result"]["capabilities"]
        [chosen] = ask(wire, "logging/setLevel", {"level": "error"}, 2)
        messages = ask(wire, "tools/call", {"name": "test_tool_with_logging"}, 3)

    if "logging" in capabilities:
        assert (chosen["result"], logged(messages)) == ({}, [])
    else:
        assert chosen["error"]["code"] == -32601


def test_an_unknown_level_is_named() -> None:
    with FACES["http"](conformance_application()) as wire:
        [refused] = ask(wire, "logging/setLevel", {"level": "loud"})

    assert "must be one of debug, info" in refused["error"]["message"]


@pytest.mark.parametrize("face", FACES)
def test_a_modern_client_names_the_level_with_each_call(face: str) -> None:
    level = {"io.modelcontextprotocol/logLevel": "info"}
    with FACES[face](conformance_application()) as wire:
        said = ask(wire, "server/discover", {"_meta": META})[0]["result"]["capabilities"]
        call = {"name": "test_tool_with_logging"}
        silent = ask(wire, "tools/call", {**call, "_meta": META}, 2)
        loud = ask(wire, "tools/call", {**call, "_meta": META | level}, 3)

    assert ("logging" in said, logged(silent), logged(loud)) == (True, [], ["info"] * 3)


LIVE = {"http": True, "stdio": True, "lambda": False, "lambda that remembers nothing": False}


@pytest.mark.parametrize("face", FACES)
def test_changes_are_promised_where_a_client_can_be_told_of_them(face: str) -> None:
    told = {"listChanged": True} if LIVE[face] else {}
    with FACES[face](conformance_application()) as wire:
        legacy = ask(wire, "initialize", HELLO)[0]["result"]["capabilities"]
        modern = ask(wire, "server/discover", {"_meta": META})[0]["result"]["capabilities"]

    for capabilities in (legacy, modern):
        followed = {"subscribe": True} if LIVE[face] else {}
        assert capabilities["tools"] == capabilities["prompts"] == told
        assert capabilities["resources"] == told | followed


@pytest.mark.parametrize("face", FACES)
def test_a_resource_is_followed_or_the_client_is_told_that_it_cannot_be(face: str) -> None:
    with FACES[face](conformance_application()) as wire:
        ask(wire, "initialize", HELLO)
        [known] = ask(wire, "resources/subscribe", {"uri": "test://watched-resource"}, 2)
        [unknown] = ask(wire, "resources/subscribe", {"uri": "test://none"}, 3)

    if LIVE[face]:
        assert (known["result"], unknown["error"]["code"]) == ({}, -32002)
    else:
        assert [answer["error"]["code"] for answer in (known, unknown)] == [-32601, -32601]
