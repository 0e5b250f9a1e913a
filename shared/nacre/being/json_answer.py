"""Answers in JSON that a client's limit does not cut."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from nacre.limits import MAX_ANSWER_BYTES
from nacre.tools.result import ToolResult

_FRAME = 2000  # bytes for everything around the one long part of an answer
ROOM = MAX_ANSWER_BYTES - _FRAME
"""Bytes of JSON that the long part of an answer may have."""


def json_answer(value: Mapping[str, Any]) -> ToolResult:
    """Return the value as JSON text; what is None is left out."""
    kept = {name: each for name, each in value.items() if each is not None}
    return ToolResult.text(_json(kept))


def head(text: str, room: int = ROOM) -> str:
    """Return the text, or as much of its beginning as is JSON of so many bytes."""
    while (size := len(_json(text).encode())) > room:
        text = text[: min(len(text) - 1, len(text) * room // size)]
    return text


def taken(entries: Iterable[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], bool]:
    """Return as many of the entries as an answer holds, and whether these are all."""
    room = ROOM
    result: list[Mapping[str, Any]] = []
    for entry in entries:
        room -= len(_json(entry).encode()) + 2
        if room < 0:
            return result, False
        result.append(entry)
    return result, True


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
