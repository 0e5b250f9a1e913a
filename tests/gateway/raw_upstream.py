"""A server over stdio that answers calls with messages from a file, byte for byte.

Run as `raw_upstream.py ERA MESSAGES`: ERA is `legacy` or `modern`; call number `n` is answered
with line `n`, in which `ID` is the id of the request.
"""

import json
import sys
from pathlib import Path
from typing import Any

SERVER = {"name": "raw", "version": "1"}
OPENED: dict[str, Any] = {"protocolVersion": "2025-11-25", "serverInfo": SERVER}
CACHED: dict[str, Any] = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
OFFERS: dict[str, Any] = {"capabilities": {"tools": {}, "resources": {}}}


def answered(asked: dict[str, Any], era: str, messages: list[bytes]) -> bytes:
    """Return the answer to a request."""
    id_ = json.dumps(asked["id"]).encode()
    cached = CACHED if era == "modern" else {}
    match asked["method"]:
        case "tools/call":
            number = int(asked["params"]["arguments"]["n"])
            return messages[number].replace(b"ID", id_)
        case "resources/read":
            return messages[int(asked["params"]["uri"].rpartition("/")[2])].replace(b"ID", id_)
        case "initialize" if era == "legacy":
            result = {**OPENED, **OFFERS}
        case "server/discover" if era == "modern":
            result = {"supportedVersions": ["2026-07-28"], **OFFERS, **cached}
        case "tools/list":
            result = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}], **cached}
        case "resources/list":
            result = {"resources": [], **cached}
        case "resources/templates/list":
            result = {"resourceTemplates": [{"uriTemplate": "raw://a/{n}", "name": "a"}], **cached}
        case _:
            error = {"code": -32601, "message": "Method not found"}
            return json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}).encode()
    return json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()


if __name__ == "__main__":
    era, messages = sys.argv[1], Path(sys.argv[2]).read_bytes().split(b"\n")
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" in message:
            sys.stdout.buffer.write(answered(message, era, messages) + b"\n")
            sys.stdout.buffer.flush()
