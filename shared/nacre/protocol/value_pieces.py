"""A large JSON value in short pieces, so that other threads run while it is put together.

Parsing megabytes at once holds the interpreter lock, which stops every other call of a process.
Each piece is a line: a sign, and mostly JSON.
"""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

from nacre.protocol import strict_json

_TEXT = 64 * 1024  # characters of a piece
_ENTRIES = 2048  # of a list or an object, at most
_EMPTY: dict[bytes, Callable[[], Any]] = {b"[": list, b"{": dict, b'"': list}
_OPENING: dict[type, bytes] = {list: b"[", dict: b"{", str: b'"'}


def value_pieces(value: Any, is_large: Callable[[Any], bool]) -> Iterator[bytes]:
    """Yield the pieces of a value; one that is not large is one piece."""
    kind = type(value)
    if kind not in _OPENING or not is_large(value):
        yield b"=" + strict_json.encode(value)
        return
    yield _OPENING[kind]
    if kind is str:
        for start in range(0, len(value), _TEXT):
            yield b"=" + strict_json.encode(value[start : start + _TEXT])
    else:
        yield from _entries(value, is_large)
    yield b"."


def _entries(value: Any, is_large: Callable[[Any], bool]) -> Iterator[bytes]:
    entries = list(value.items()) if type(value) is dict else value
    for start in range(0, len(entries), _ENTRIES):
        yield from _batch(entries[start : start + _ENTRIES], type(value), is_large)


def _batch(entries: list[Any], kind: type, is_large: Callable[[Any], bool]) -> Iterator[bytes]:
    whole = kind(entries)
    if not is_large(whole):
        yield b"+" + strict_json.encode(whole)
    elif len(entries) > 1:
        half = len(entries) // 2
        yield from _batch(entries[:half], kind, is_large)
        yield from _batch(entries[half:], kind, is_large)
    elif kind is dict:
        ((name, inner),) = entries
        yield b":" + strict_json.encode(name)
        yield from value_pieces(inner, is_large)
    else:
        yield from value_pieces(entries[0], is_large)


def joined(pieces: bytes) -> Any:
    """Return the value of these pieces, which line ends separate."""
    outside: list[_Open] = []
    inner = _Open([])
    for piece in pieces.split(b"\n"):
        mark, spelled = piece[:1], piece[1:]
        if mark in _EMPTY:
            outside.append(inner)
            inner = _Open(_EMPTY[mark](), is_text=mark == b'"')
        elif mark == b".":
            value = inner.value()
            inner = outside.pop()
            inner.add(value)
        elif mark == b":":
            inner.key = json.loads(spelled)
        elif mark == b"+":
            inner.add_all(json.loads(spelled))
        else:
            inner.add(json.loads(spelled))
        time.sleep(0)  # let others run
    return inner.value()[0]


class _Open:
    """A list, an object or a text that is not complete; `key` is that of an object's next entry."""

    __slots__ = ("_entries", "_is_text", "key")

    def __init__(self, entries: Any, *, is_text: bool = False) -> None:
        self._entries = entries
        self._is_text = is_text
        self.key: str | None = None

    def add(self, value: Any) -> None:
        if type(self._entries) is dict:
            self._entries[self.key] = value
        else:
            self._entries.append(value)

    def add_all(self, values: Any) -> None:
        if type(self._entries) is dict:
            self._entries.update(values)
        else:
            self._entries += values

    def value(self) -> Any:
        return "".join(self._entries) if self._is_text else self._entries
