"""A Being on this machine, and calls to its server as a client sends them."""

import json
from dataclasses import dataclass
from typing import Any

from tests.cli.conftest import Nacre
from tests.cli.processes import Server

_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Caller:
    """A Being with a token of its own."""

    being_id: str
    token: str

    def call(self, server: Server, tool: str, **arguments: Any) -> tuple[bool, str]:
        """Call a tool; return whether that was acknowledged, and what was said."""
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        status, answer = server.post(f"/{self.being_id}", self.token, message)
        result: dict[str, Any] = answer.get("result", {})
        if status != 200 or "error" in answer:
            return False, json.dumps(answer)
        said = "\n".join(block["text"] for block in result["content"])
        return not result.get("isError"), said


def caller(nacre: Nacre, name: str = "Ann") -> Caller:
    """Make a Being, and a token that may do everything in its name."""
    being_id = nacre("being", "create", name, "--json").json()["being_id"]
    made = nacre("token", "create", "--being", name, "--scope", "full", "--json")
    return Caller(being_id, made.json()["token"])
