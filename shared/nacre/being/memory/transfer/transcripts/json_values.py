"""The JSON values of a large file, one after the other, in bounded memory.

A file has JSON lines, one array, or one object. An array is decoded in a window that slides over
the file, which takes as much memory as its longest element.
"""

import codecs
import io
import json
import re
from collections.abc import Iterator
from typing import BinaryIO

from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import MAX_TRANSCRIPT_RECORD

_CHUNK = 1024 * 1024  # characters
_SPACE = "\ufeff \t\r\n"
_BLANK = re.compile(r"[\s\ufeff]*")
_BETWEEN = re.compile(r"[\s,]*")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class Damaged:
    """A part of a file that is not JSON, or has no end."""


def json_values(file: BinaryIO, *, is_lines: bool = False) -> Iterator[object]:
    """Yield the values of a file, with `Damaged` for each part that is not JSON.

    `is_lines` says that the file name promises JSON lines; otherwise the beginning decides.
    """
    start = file.read(_CHUNK)
    text = io.TextIOWrapper(
        io.BufferedReader(_Rejoined(start, file)),
        encoding=_encoding(start),
        errors="replace",
        newline="\n",
    )
    try:
        first = text.readline(_CHUNK)
        while first and not first.strip(_SPACE):
            first = text.readline(_CHUNK)
        first = first.lstrip(_SPACE)
        if not first:
            return
        if first.startswith("[") and not is_lines:
            yield from _values(first, text)
            return
        if not first.endswith("\n"):
            first += text.readline(MAX_TRANSCRIPT_RECORD - len(first))
        yield from (_lines if is_lines or _is_whole(first) else _values)(first, text)
    finally:
        text.detach()


class _Rejoined(io.RawIOBase):
    """A file whose beginning was read already."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        self._start = start
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview[int]") -> int:  # type: ignore[override]
        part = self._start[: len(buffer)] or self._rest.read(len(buffer))
        self._start = self._start[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


def _encoding(start: bytes) -> str:
    for mark, name in _BOMS:
        if start.startswith(mark):
            return name
    # JSON begins with an ASCII character, so a zero beside it shows the width of characters.
    if start[1:2] == b"\0":
        return "utf-16-le"
    return "utf-16-be" if start[:1] == b"\0" else "utf-8"


def _is_whole(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _lines(line: str, text: io.TextIOWrapper) -> Iterator[object]:
    while line:
        if len(line) >= MAX_TRANSCRIPT_RECORD and not line.endswith("\n"):
            yield Damaged()
            while line and not line.endswith("\n"):
                line = text.readline(_CHUNK)
        elif not line.isspace():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                yield Damaged()
        line = text.readline(MAX_TRANSCRIPT_RECORD)


def _values(buffer: str, text: io.TextIOWrapper) -> Iterator[object]:
    """Yield the elements of an array, or the values of a file without one."""
    decoder = json.JSONDecoder()
    is_array = buffer.startswith("[")
    place = 1 if is_array else 0
    more = _CHUNK
    while True:
        place = _end(_BETWEEN if is_array else _BLANK, buffer, place)
        if place < len(buffer):
            if is_array and buffer[place] == "]":
                return
            try:
                value, end = decoder.raw_decode(buffer, place)
            except (ValueError, RecursionError):
                end = -1
            # A number at the end of the buffer may go on; an object cannot.
            if end > 0 and (end < len(buffer) or isinstance(value, dict)):
                yield value
                place, more = end, _CHUNK
                if place > _CHUNK:
                    buffer, place = buffer[place:], 0
                continue
        buffer, place = buffer[place:], 0
        chunk = text.read(more) if len(buffer) < MAX_TRANSCRIPT_RECORD else ""
        if not chunk:
            if buffer or is_array:
                yield Damaged()
            return
        buffer += chunk
        more = max(_CHUNK, len(buffer))  # each attempt doubles, so that all take linear time


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    match = pattern.match(text, place)
    return match.end() if match is not None else place


def json_value(content: object) -> object:
    """Return the JSON value of a text or of bytes, or None."""
    if not isinstance(content, str | bytes):
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
