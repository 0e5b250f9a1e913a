"""The tool `get_context`."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any

from nacre.being.caller import caller
from nacre.memory.context import ContextBlocks
from nacre.protocol.context import Context
from nacre.tools.decorator import tool
from nacre.tools.result import ToolResult
from nacre.tools.tool import Tool

_MODEL = "claude-sonnet-4-6"  # the seed document's suggestion, where the soul names none


def get_context(blocks: Callable[[], ContextBlocks]) -> Tool:
    """Return the tool that tells a client who the Being is and what it knows."""

    @tool(name="get_context", read_only=True, idempotent=True, open_world=False, blocking=True)
    async def context_of(context: Context) -> ToolResult:
        """Call once at the start of a session: the Being's persona and memory snapshot."""
        return ToolResult.structured(described(blocks(), caller(context).being_id))

    return context_of


def described(blocks: ContextBlocks, being_id: str) -> dict[str, Any]:
    """Return the Being's context as the tool's answer shows it."""
    soul = blocks.soul(being_id)
    system_prompt = blocks.system_prompt(being_id)
    snapshot = blocks.snapshot(being_id)
    return {
        "system_prompt": system_prompt,
        "snapshot": snapshot,
        "metadata": {
            "being_id": being_id,
            "soul_name": soul["name"],
            "model_recommendation": soul.get("model", _MODEL),
            "cache_guidance": {
                "system_prompt": _guidance("stable", system_prompt, "first cached prefix, 1h"),
                "snapshot": _guidance("semi-stable", snapshot, "second breakpoint"),
                "recent_nodes": "do not cache",
            },
        },
        "capability_tools": [],
        "recent_nodes": blocks.recent(being_id),
    }


def _guidance(stability: str, text: str, hint: str) -> dict[str, Any]:
    encoded = text.encode()
    digest = sha256(encoded).hexdigest()
    return {"stability": stability, "sha256": digest, "bytes": len(encoded), "hint": hint}
