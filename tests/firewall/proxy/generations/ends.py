"""Both ends of a relay with a guard, between a client and a server of different generations."""

import json
from typing import Any

from nacre.firewall.proxy.generations.negotiation import Negotiation
from nacre.firewall.proxy.stdio.relay import Relay
from tests.firewall.guarding import Scene, encoded, modern, request, response

META = "io.modelcontextprotocol/"
CLIENT = {"name": "client", "version": "1"}
OFFERS: dict[str, Any] = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {},
    "logging": {},
}
OLD_OPENING: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": OFFERS,
    "serverInfo": {"name": "old", "version": "1"},
    "instructions": "Be kind.",
}
NEW_OPENING: dict[str, Any] = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {**OFFERS, "extensions": {"x/y": {}}},
    "instructions": "Be kind.",
    "ttlMs": 0,
    "cacheScope": "private",
    "_meta": {f"{META}serverInfo": {"name": "new", "version": "2"}},
}
ASKS: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}


class Ends:
    """The client's end and the server's end; each keeps what reaches it."""

    def __init__(self, scene: Scene | None = None) -> None:
        self.scene = scene or Scene()
        self.client: list[bytes] = []
        self.server: list[bytes] = []
        self.relay = Relay(
            self.scene.guard,
            to_client=self.client.append,
            to_server=self.server.append,
            negotiation=Negotiation(),
        )

    def says(self, *messages: Any) -> "Ends":
        """Let the client send messages."""
        for message in messages:
            self.relay.from_client(encoded(message) + b"\n")
        return self

    def serves(self, *messages: Any) -> "Ends":
        """Let the server send messages."""
        for message in messages:
            self.relay.from_server(encoded(message) + b"\n")
        return self

    def heard(self) -> list[Any]:
        """Return what has reached the client since the last time."""
        messages = [json.loads(raw) for raw in self.client]
        self.client.clear()
        return messages

    def reached(self) -> list[Any]:
        """Return what has reached the server since the last time."""
        messages = [json.loads(raw) for raw in self.server]
        self.server.clear()
        return messages


def told(method: str, **params: Any) -> dict[str, Any]:
    """Return a notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def error(id_: Any, code: int, text: str = "no") -> dict[str, Any]:
    """Return an error response."""
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": text}}


def before_old(scene: Scene | None = None, **capabilities: Any) -> Ends:
    """Return a client of the newer generation that has discovered a server of the older one."""
    ends = Ends(scene)
    ends.says(request("d", "server/discover", modern({}, **capabilities)))
    ends.serves(error("d", -32601))
    opening = ends.reached()[-1]
    assert opening["method"] == "initialize"
    ends.serves(response(opening["id"], OLD_OPENING))
    assert ends.reached() == [{"jsonrpc": "2.0", "method": "notifications/initialized"}]
    assert [message["id"] for message in ends.heard()] == ["d"]
    return ends


def before_new(
    scene: Scene | None = None, version: str = "2025-11-25", **capabilities: Any
) -> Ends:
    """Return a client of the older generation that has opened a server of the newer one."""
    ends = Ends(scene)
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": CLIENT}
    ends.says(request(0, "initialize", params))
    ends.serves(error(0, -32601))
    discovery = ends.reached()[-1]
    assert discovery["method"] == "server/discover"
    ends.serves(response(discovery["id"], NEW_OPENING))
    ends.says(told("notifications/initialized"))
    listening = ends.reached()
    assert [message["method"] for message in listening] == ["subscriptions/listen"]
    ends.serves(told("notifications/subscriptions/acknowledged", notifications={}))
    assert [message["id"] for message in ends.heard()] == [0]
    return ends


def call(id_: Any, name: str = "t", meta: Any = None, **arguments: Any) -> dict[str, Any]:
    """Return the call of a tool, as the older generation makes it."""
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    return request(id_, "tools/call", params if meta is None else {**params, "_meta": meta})


def text(words: str) -> dict[str, Any]:
    """Return the result of a tool."""
    return {"content": [{"type": "text", "text": words}]}
