"""A JSON body in pieces, for requests too large to be in memory as one text."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

_PIECE = 64 * 1024


class JsonPieces:
    """The bytes of a JSON value, as often as they are asked for; only texts may be large.

    client.post(path, content=pieces, options={"headers": pieces.headers}, cast_to=...)
    """

    def __init__(self, value: Any) -> None:
        self._value = value

    @property
    def headers(self) -> dict[str, str]:
        """What says how long the body is, so that it need not be sent in chunks."""
        length = sum(map(len, _pieces(self._value)))
        return {"Content-Type": "application/json", "Content-Length": str(length)}

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the body's bytes."""
        for piece in _pieces(self._value):
            yield piece


def _pieces(value: Any) -> Iterator[bytes]:
    # What holds no large text goes at once: a system call for each comma costs more than memory.
    if not _is_large(value):
        yield json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
        return
    match value:
        case dict():
            yield b"{"
            for number, (key, member) in enumerate(value.items()):
                yield f"{',' if number else ''}{json.dumps(key)}:".encode()
                yield from _pieces(member)
            yield b"}"
        case list() | tuple():
            yield b"["
            for number, member in enumerate(value):
                if number:
                    yield b","
                yield from _pieces(member)
            yield b"]"
        case _:
            yield b'"'
            for start in range(0, len(value), _PIECE):
                yield json.dumps(value[start : start + _PIECE])[1:-1].encode()
            yield b'"'


def _is_large(value: Any) -> bool:
    """Whether a text in the value is large."""
    match value:
        case str():
            return len(value) > _PIECE
        case dict():
            return any(map(_is_large, value.values()))
        case list() | tuple():
            return any(map(_is_large, value))
        case _:
            return False
