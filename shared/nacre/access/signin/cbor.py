"""Decoding of the CBOR that authenticators write (RFC 8949).

Only definite lengths, shortest numbers and unique keys are accepted.
"""

from nacre.core.errors import InvalidInputError

Cbor = int | bytes | str | bool | None | list["Cbor"] | dict[int | str, "Cbor"]

_MAX_DEPTH = 8
_CONSTANTS: dict[int, bool | None] = {20: False, 21: True, 22: None}


def decode(data: bytes) -> Cbor:
    """Return the one value that the bytes encode; raises InvalidInputError."""
    value, end = decode_first(data)
    if end != len(data):
        raise _malformed("there is more after its end")
    return value


def decode_first(data: bytes, start: int = 0, depth: int = 0) -> tuple[Cbor, int]:
    """Return the value that begins at `start`, and the position of its end."""
    if depth > _MAX_DEPTH:
        raise _malformed("it nests too deep")
    [first] = _cut(data, start, 1)
    kind, small = first >> 5, first & 31
    if kind == 7:
        if small not in _CONSTANTS:
            raise _malformed("it has an unknown kind of value")
        return _CONSTANTS[small], start + 1
    number, at = _number(data, start + 1, small)
    match kind:
        case 0:
            return number, at
        case 1:
            return -1 - number, at
        case 2:
            return _cut(data, at, number), at + number
        case 3:
            return _text(_cut(data, at, number)), at + number
        case 4:
            return _list(data, at, number, depth + 1)
        case 5:
            return _map(data, at, number, depth + 1)
        case _:
            raise _malformed("it has a tag")


def _number(data: bytes, at: int, small: int) -> tuple[int, int]:
    if small < 24:
        return small, at
    if small > 27:
        raise _malformed("a length is not definite")
    size = 1 << (small - 24)
    number = int.from_bytes(_cut(data, at, size), "big")
    if number < (24 if size == 1 else 1 << (size * 4)):
        raise _malformed("a number is longer than it needs to be")
    return number, at + size


def _list(data: bytes, at: int, count: int, depth: int) -> tuple[list[Cbor], int]:
    values: list[Cbor] = []
    for _ in range(count):  # a wrong count fails at the end of the bytes
        value, at = decode_first(data, at, depth)
        values.append(value)
    return values, at


def _map(data: bytes, at: int, count: int, depth: int) -> tuple[dict[int | str, Cbor], int]:
    values: dict[int | str, Cbor] = {}
    for _ in range(count):
        name, at = decode_first(data, at, depth)
        if isinstance(name, bool) or not isinstance(name, int | str) or name in values:
            raise _malformed("a key is of another kind, or there twice")
        values[name], at = decode_first(data, at, depth)
    return values, at


def _cut(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise _malformed("it ends too early")
    return data[at : at + size]


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise _malformed("a text is not UTF-8") from None


def _malformed(reason: str) -> InvalidInputError:
    return InvalidInputError(f"the passkey's data cannot be read: {reason}")
