"""Own tools that change the lists: what they change is listed and told at once."""

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import httpx2

from nacre.core.logs import Log
from nacre.core.token_prefixes import API
from nacre.faces.http.laptop_server import asgi_app
from nacre.faces.mcp_endpoint import bearer_admission, called_address
from nacre.protocol.changes import Changes
from nacre.protocol.principal import FULL
from tests.scaffolding.asgi_server import served
from tests.scaffolding.gateway_world import MODERN, world

GROWING = """
from nacre import ToolServer, tool

server = ToolServer("mine", "1")


async def late() -> str:
    return "late"


@server.register_tool
@tool
async def grow(name: str) -> str:
    server.register_tool(tool(name=name)(late))
    return "grown"
"""


def growing(folder: Path) -> dict[str, Any]:
    (folder / "growing.py").write_text(GROWING)
    return {"tool_servers": (f"{folder}/growing.py:server",)}


def test_a_tool_that_another_one_adds_is_listed_at_once(tmp_path: Path) -> None:
    with world(tmp_path / "w", **growing(tmp_path)) as gateway:
        gateway.tools()
        for name in ("one", "two"):
            gateway.call("mcp__mine__grow", name=name)
            assert f"mcp__mine__{name}" in gateway.tools()


def test_a_subscriber_hears_of_it_without_waiting_for_the_next_look(tmp_path: Path) -> None:
    with world(tmp_path / "w", **growing(tmp_path)) as gateway:
        changes = Changes(gateway.laptop.application.surface, seconds=3600)
        app = asgi_app(
            gateway.laptop.application,
            admit=lambda *_: gateway.principal,
            log=Log(stream=StringIO()),
            changes=changes,
        )
        with served(app) as url:
            assert heard(url) == [
                "notifications/subscriptions/acknowledged",
                "notifications/tools/list_changed",
            ]
            changes.close()


def test_the_subscription_of_a_revoked_token_ends_without_news(tmp_path: Path) -> None:
    with world(tmp_path / "w", **growing(tmp_path)) as gateway:
        laptop, being_id = gateway.laptop, gateway.principal.being_id
        tokens = [
            laptop.tokens.issue(
                API, being_id=being_id, owner="me", scopes=FULL, lifetime=timedelta(days=1)
            )
            for _ in range(2)
        ]
        changes = Changes(laptop.application.surface, seconds=3600)
        base = called_address("", scheme="http")
        app = asgi_app(
            laptop.application,
            admit=bearer_admission(laptop.gate, base),
            log=Log(stream=StringIO()),
            changes=changes,
            base=base,
        )
        with served(app) as url, httpx2.Client(timeout=60) as client:
            url = f"{url}/{being_id}"
            revoked, other = ({"authorization": f"Bearer {token.token}"} for token in tokens)
            listen = asked(1, "subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            listen["headers"] |= revoked
            with client.stream("POST", url, **listen) as stream:
                messages = (
                    json.loads(line.removeprefix("data: "))
                    for line in stream.iter_lines()
                    if line.startswith("data: ")
                )
                assert next(messages)["method"] == "notifications/subscriptions/acknowledged"
                laptop.tokens.revoke(tokens[0].record.token_id, being_id=being_id)
                call = asked(
                    2, "tools/call", {"name": "mcp__mine__grow", "arguments": {"name": "x"}}
                )
                call["headers"] |= other
                client.post(url, **call).raise_for_status()
                [last] = messages
            changes.close()

    assert (last["id"], last["error"]["code"]) == (1, 401)
    assert "revoked" in last["error"]["message"]


def heard(url: str) -> list[str]:
    """Subscribe, let a tool add another one, and return the first two notifications."""
    methods: list[str] = []
    with httpx2.Client(timeout=60) as client:
        listen = asked(1, "subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        with client.stream("POST", url, **listen) as stream:
            for line in stream.iter_lines():
                if not line.startswith("data: "):
                    continue
                methods.append(json.loads(line.removeprefix("data: "))["method"])
                if len(methods) == 2:
                    return methods
                call = {"name": "mcp__mine__grow", "arguments": {"name": "more"}}
                client.post(url, **asked(2, "tools/call", call)).raise_for_status()
    return methods


def asked(id_: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
    }
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": MODERN,
        "mcp-method": method,
        **({"mcp-name": params["name"]} if "name" in params else {}),
    }
    message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": {**params, "_meta": meta}}
    return {"json": message, "headers": headers}
