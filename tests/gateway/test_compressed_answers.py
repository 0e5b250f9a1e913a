"""A server that packs its answers, though it was told not to: a small one may become a huge one."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.attacks.rows import attack
from tests.gateway.http_upstream import http_upstream
from tests.scaffolding.gateway_world import world

TOLD = {
    "application/json": (
        "Error: the server 'web' answered with something that is not an MCP message"
    ),
    "text/event-stream": "SSE stream ended without a response",
}


@attack("N2")
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "gzip, gzip"])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_an_answer_that_is_packed_is_not_unpacked(encoding: str, kind: str, tmp_path: Path) -> None:
    with http_upstream() as upstream:
        usual = upstream.answer

        def packed(asked: dict[str, Any]) -> tuple[int, bytes, str]:
            if asked["method"] != "tools/call" or asked["params"]["name"] != "huge":
                upstream.encoding = None
                return usual(asked)
            upstream.encoding = encoding
            status, body, _ = usual({**asked, "params": {"name": "echo"}})
            bomb = json.loads(body)
            bomb["result"]["content"][0]["text"] = "h" * 2_000_000
            text = json.dumps(bomb).encode()
            return status, gzip.compress(text if kind.endswith("json") else b"data: " + text), kind

        upstream.answer = packed  # type: ignore[method-assign]
        with world(tmp_path / "w", {"web": {"url": upstream.url}}) as gateway:
            gateway.tools()
            said = gateway.ask("tools/call", {"name": "mcp__web__huge", "arguments": {}})
            after = gateway.call("mcp__web__echo")["content"][0]["text"]

    assert TOLD[kind] in json.dumps(said)
    assert "hhhh" not in json.dumps(said)
    assert after == "hh"
