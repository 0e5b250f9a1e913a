"""A laptop server with other servers behind it, and callers of it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from nacre.core.coroutines import Looper, step
from nacre.core.logs import Log
from nacre.faces.http.laptop_server import asgi_app
from nacre.faces.mcp_endpoint import dispatcher
from nacre.protocol.caller import Caller, Peer
from nacre.protocol.context import Channel, Silence
from nacre.protocol.dispatch.calls import Call
from nacre.protocol.messages import Request, parse_message
from nacre.protocol.principal import FULL, Principal
from nacre.wiring.compose import Home
from nacre.wiring.laptop import first_being, open_laptop
from nacre.wiring.settings import Settings
from tests.scaffolding.asgi_server import served

EVERYTHING_GOES = """
[[rule]]
action = "allow"
tool = "**"
[[rule]]
action = "allow"
method = "**"
"""
LEGACY, MODERN = "2025-11-25", "2026-07-28"
_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class World:
    """A laptop server, and one of its callers."""

    laptop: Home
    principal: Principal
    folder: Path
    looper: Looper

    def ask(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        version: str = LEGACY,
        capabilities: Mapping[str, Any] | None = None,
        scopes: frozenset[str] = FULL,
        channel: Channel | None = None,
    ) -> dict[str, Any]:
        """Make a request as a client of some generation, and return the answer."""
        raw = self.answer(
            method,
            params,
            version=version,
            capabilities=capabilities,
            scopes=scopes,
            channel=channel,
        )
        answer: dict[str, Any] = json.loads(raw)
        return answer

    def answer(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        version: str = LEGACY,
        capabilities: Mapping[str, Any] | None = None,
        scopes: frozenset[str] = FULL,
        channel: Channel | None = None,
    ) -> bytes:
        """Make a request, and return the answer byte for byte."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(params or {})}
        request = parse_message(json.dumps(message).encode())
        assert isinstance(request, Request)
        principal = replace(self.principal, scopes=scopes)
        peer = Peer(capabilities=dict(capabilities or {}))
        begun = dispatcher(self.laptop.application).begin(
            request, Caller(version, principal, peer, None)
        )
        if isinstance(begun, Call):
            running = begun.run(channel or Silence())
            begun = step(running) if begun.blocking else self.looper.run(running)
        return begun.body

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool, and return the answer's result."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        result: dict[str, Any] = answer["result"]
        return result

    def tools(self) -> list[str]:
        """Return the names of other servers' tools."""
        listed = self.ask("tools/list")["result"]["tools"]
        return [each["name"] for each in listed if each["name"].startswith("mcp__")]

    def missing(self) -> dict[str, str]:
        """Return which servers are missing, and why."""
        meta = self.ask("tools/list")["result"].get("_meta", {})
        return dict(meta.get("nacre/missing", {}))

    def records(self) -> list[dict[str, Any]]:
        """Return what was recorded."""
        files = sorted((self.folder / "data" / "audit").glob("*.jsonl"))
        lines = [line for file in files for line in file.read_text().splitlines()]
        return [json.loads(line) for line in lines]

    @contextmanager
    def over_http(self) -> Iterator[str]:
        """Serve it on a socket, and yield the URL."""
        app = asgi_app(
            self.laptop.application,
            admit=lambda *_: self.principal,
            log=Log(stream=StringIO()),
            reading=self.laptop.ports.screening,
        )
        with served(app) as url:
            yield url


@contextmanager
def world(
    folder: Path,
    servers: Mapping[str, Any] | None = None,
    *,
    policy: str = EVERYTHING_GOES,
    **settings: Any,
) -> Iterator[World]:
    """Open a laptop with these servers behind it."""
    folder.mkdir(exist_ok=True)
    (folder / "policy.toml").write_text(policy)
    if servers is not None:
        (folder / "servers.json").write_text(json.dumps({"mcpServers": dict(servers)}))
        settings["servers_file"] = str(folder / "servers.json")
    laptop = open_laptop(
        folder / "data",
        Settings(
            data_folder=str(folder / "data"), policy_file=str(folder / "policy.toml"), **settings
        ),
    )
    being = first_being(laptop) or laptop.beings.of_owner("me")[0]
    with pytest.MonkeyPatch.context() as patch:
        # A server that starts slowly because the machine is busy is not one that is missing.
        patch.setattr("nacre.gateway.catalogue.fetcher.GATHER_SECONDS", _PATIENCE_SECONDS)
        try:
            yield World(laptop, Principal("t1", being.being_id, FULL), folder, Looper())
        finally:
            laptop.close()
