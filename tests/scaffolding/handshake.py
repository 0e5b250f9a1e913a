"""The first message of a client that opens a session, as tests write it on a wire."""

from typing import Any


def handshake(version: str = "2025-11-25") -> dict[str, Any]:
    """Return the request."""
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
