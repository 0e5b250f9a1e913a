"""The whole of results that were cut, for their caller to read within an hour."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from random import Random
from typing import Any

from nacre.core.clock import Clock
from nacre.core.limits import WHOLE_RESULT_SECONDS
from nacre.firewall.limits.result_cut import RESULTS
from nacre.ports.blobs import Blobs
from nacre.protocol import strict_json

_ID = re.compile(r"[0-9a-f]{32}")


class WholeResults:
    """Stores results as blobs of their Being, under names that depend on the caller."""

    def __init__(self, blobs: Callable[[], Blobs], clock: Clock, rng: Random) -> None:
        self._blobs = blobs
        self._clock = clock
        self._rng = rng

    def keep(self, result: bytes, *, being: str, caller: str) -> str:
        """Store a result as JSON, and return its URI."""
        id_ = f"{self._rng.getrandbits(128):032x}"
        until = self._clock() + timedelta(seconds=WHOLE_RESULT_SECONDS)
        self._blobs().put(_name(being, caller, id_), result, until=until)
        return f"{RESULTS}{id_}"

    def read(self, uri: str, *, being: str, caller: str) -> dict[str, Any] | None:
        """Return a result as the contents of a resource.

        None for a result that is not stored, or is another caller's.
        """
        id_ = uri.removeprefix(RESULTS)
        if not _ID.fullmatch(id_):
            return None
        stored = self._blobs().get(_name(being, caller, id_))
        return None if stored is None else {"contents": _contents(uri, json.loads(stored))}

    def erase(self, being: str) -> None:
        """Delete all results of a Being."""
        self._blobs().delete_all(_folder(being))


def _folder(being: str) -> str:
    # Below the folder of the Being, which is removed when the Being is erased.
    return f"{being or 'nobody'}/results"


def _name(being: str, caller: str, id_: str) -> str:
    return f"{_folder(being)}/{hashlib.sha256(caller.encode()).hexdigest()[:32]}/{id_}"


def _contents(uri: str, result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a tool's result, or of a resource that was read, as contents."""
    if "contents" in result:
        return list(result["contents"])
    content = result.get("content")
    parts = [_part(uri, block) for block in (content if isinstance(content, list) else ())]
    structure = result.get("structuredContent")
    return parts if structure is None else [*parts, _json(uri, structure)]


def _part(uri: str, block: Any) -> dict[str, Any]:
    match block:
        case {"type": "text", "text": str(text)}:
            return {"uri": uri, "mimeType": "text/plain", "text": text}
        case {"type": "image" | "audio", "data": str(data), "mimeType": str(mime_type)}:
            return {"uri": uri, "mimeType": mime_type, "blob": data}
        case {"type": "resource", "resource": dict(resource)}:
            return resource
        case _:
            return _json(uri, block)


def _json(uri: str, value: Any) -> dict[str, Any]:
    text = strict_json.encode(value).decode()
    return {"uri": uri, "mimeType": "application/json", "text": text}
