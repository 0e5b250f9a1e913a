"""How much of a long answer a client takes: parts of texts and of lists, by their JSON."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from nacre.limits import MAX_ANSWER_BYTES

_FRAME = 2000  # bytes for everything around the one long part of an answer
ROOM = MAX_ANSWER_BYTES - _FRAME
"""Bytes of JSON that the long part of an answer may have."""


def head(text: str, room: int = ROOM) -> str:
    """Return the text, or as much of its beginning as is JSON of so many bytes."""
    while (size := _size(text)) > room:
        text = text[: min(len(text) - 1, len(text) * room // size)]
    return text


def taken(entries: Iterable[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], bool]:
    """Return as many of the entries as an answer holds, and whether these are all."""
    room = ROOM
    result: list[Mapping[str, Any]] = []
    for entry in entries:
        room -= _size(entry) + 2
        if room < 0:
            return result, False
        result.append(entry)
    return result, True


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())
