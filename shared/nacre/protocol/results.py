"""Results as each era carries them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nacre.core.limits import CATALOGUE_TTL_MS
from nacre.protocol import strict_json
from nacre.protocol.encoded_results import Spelled
from nacre.protocol.versions import META_SERVER

if TYPE_CHECKING:
    from nacre.protocol.surface import NamedServer

_COMPLETE = b'{"resultType":"complete",'  # how most results begin, encoded once


class Results:
    """Encodes the results of one server."""

    def __init__(self, server: "NamedServer") -> None:
        self.server_info = {"name": server.name, "version": server.version}
        if server.title is not None:
            self.server_info["title"] = server.title
        # What ends every modern result, encoded once.
        stamp = strict_json.encode({"_meta": {META_SERVER: self.server_info}})
        self._signature = b"," + stamp[1:]

    def encode(self, result: Mapping[str, Any], *, modern: bool) -> bytes:
        """Return the encoded result; a modern one says that it is complete, and who sends it."""
        if isinstance(result, Spelled):
            return self._joined(result, modern=modern)
        if not modern:
            return strict_json.encode(_without_loose_structure(result))
        if "_meta" in result:
            meta = {META_SERVER: self.server_info, **result["_meta"]}
            return strict_json.encode({"resultType": "complete", **result, "_meta": meta})
        if "resultType" in result or not result:
            encoded = strict_json.encode({"resultType": "complete", **result})
            return encoded[:-1] + self._signature
        return _COMPLETE + strict_json.encode(result)[1:-1] + self._signature

    def _joined(self, result: Spelled, *, modern: bool) -> bytes:
        """Encode a result without parsing its large members."""
        if not modern:
            is_loose = not result.is_object("structuredContent")
            return (result.without("structuredContent") if is_loose else result).encode()
        meta = {META_SERVER: self.server_info, **result.get("_meta", {})}
        kind = result.members.get("resultType", b'"complete"')
        signed = result.without("resultType").joined({"_meta": meta})
        return Spelled({"resultType": kind, **signed.members}).encode()


def cacheable(
    result: Mapping[str, Any], *, modern: bool, ttl_ms: int = CATALOGUE_TTL_MS
) -> Mapping[str, Any]:
    """Return the result with the time for which a modern client may keep it."""
    if not modern:
        return result
    # Private: what a caller sees depends on its token and the policy.
    hints = {"ttlMs": ttl_ms, "cacheScope": "private"}
    return result.joined(hints) if isinstance(result, Spelled) else {**result, **hints}


def tool_error(text: str) -> dict[str, Any]:
    """Return the result of a tool that failed, for a model to read."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _without_loose_structure(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Drop structured content that is not an object: only the modern revision has it."""
    if isinstance(result.get("structuredContent", {}), dict):
        return result
    return {name: value for name, value in result.items() if name != "structuredContent"}
