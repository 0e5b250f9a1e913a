"""Send a JSON body in pieces, for requests too large for one string in memory."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

_PIECE = 64 * 1024


class JsonPieces:
    """The bytes of a JSON value, which can be read more than once; only strings may be large.

    client.post(path, content=pieces, options={"headers": pieces.headers}, cast_to=...)
    """

    def __init__(self, value: Any) -> None:
        self._value = value

    @property
    def headers(self) -> dict[str, str]:
        """The headers with the length of the body, so that it is not sent in chunks."""
        length = sum(map(len, _pieces(self._value)))
        return {"Content-Type": "application/json", "Content-Length": str(length)}

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the bytes of the body."""
        for piece in _pieces(self._value):
            yield piece


def _pieces(value: Any) -> Iterator[bytes]:
    # A value without large strings is one piece: a system call for each comma is too slow.
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
    """Return whether a string in the value is large."""
    match value:
        case str():
            return len(value) > _PIECE
        case dict():
            return any(map(_is_large, value.values()))
        case list() | tuple():
            return any(map(_is_large, value))
        case _:
            return False
