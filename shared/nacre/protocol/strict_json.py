"""JSON that means the same to every parser: what is ambiguous is refused."""

import codecs
import json
import math
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from nacre.core.errors import MalformedJsonError, MalformedMessageError
from nacre.core.limits import MAX_JSON_DEPTH

Scan = Callable[[str, int], tuple[Any, int]]

_BOM = ("\ufeff", "\\ufeff")  # as it is, and as `_escaped` spells it
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
# Atomic, with an optional end: linear even on hostile, unterminated input. Python before 3.11.5
# misreads the possessive `(?:…)*+` that would say the same.
_STRINGS = re.compile(rb'"(?>(?:[^"\\]++|\\.)*)"?', re.DOTALL)
# Possibly a backslash before a character that is not ASCII, which no JSON has.
_FOREIGN_ESCAPE = re.compile(rb"\\[\x80-\xff]")
_BLANKS = b" \t\n\r"
_BLOCK = 64 * 1024
_ID_DIGITS = 20
_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
_LONGEST_NESTED = 64 * 1024  # characters of a message whose nesting is looked through for its id
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"{}[]")


def parse(raw: bytes | bytearray, scan: Scan | None = None) -> Any:
    """Return the value that the bytes spell.

    Raises MalformedJsonError for bytes that are not JSON in UTF-8 (a byte order
    mark, NaN and infinities included) and MalformedMessageError for JSON that
    parsers read differently: duplicate keys, unpaired surrogates, deep nesting.

    A bytearray is emptied as it is read: what a large message holds must not be in memory
    three times.
    """
    if raw.count(b"{") + raw.count(b"[") > MAX_JSON_DEPTH and _is_too_deep(raw):
        raise MalformedMessageError(f"the message nests deeper than {MAX_JSON_DEPTH} levels")
    # One byte is looked for much faster than two.
    may_be_torn = b"\\" in raw and _SURROGATE_ESCAPE.search(raw) is not None
    try:
        # The decoder's own `decode` spends as long on blanks as on a small message.
        text = _taken(raw) if isinstance(raw, bytearray) else raw.decode("utf-8").strip(" \t\n\r")
        value, end = (scan or _scan)(text, 0)
    except UnicodeDecodeError as error:
        raise MalformedJsonError(f"the message is not valid UTF-8 at byte {error.start}") from None
    except StopIteration:
        if text.startswith(_BOM):
            raise MalformedJsonError(
                "the message starts with a byte order mark; send plain UTF-8"
            ) from None
        raise MalformedJsonError("the message is not valid JSON: it holds no value") from None
    except json.JSONDecodeError as error:
        raise MalformedJsonError(
            f"the message is not valid JSON: {error.msg} at character {error.pos}"
        ) from None
    except ValueError:
        raise MalformedJsonError("the message holds a number that JSON cannot carry") from None
    if end != len(text):
        raise MalformedJsonError(
            f"the message is not valid JSON: there is more text after character {end}"
        )
    if may_be_torn and _has_lone_surrogate(value):
        raise MalformedMessageError("the message holds an unpaired surrogate, which is not text")
    return value


def readable_id(raw: bytes | bytearray) -> str | int | None:
    """Return the id of a request that is refused, or None if two parsers may read it differently.

    Other faults of the message do not matter, because its sender waits for an answer. A response
    is not a request: its id was chosen by the receiver.
    """
    # Bytes that are not UTF-8 and raw control characters are harmless beside the id.
    text = raw.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    try:
        try:
            top = _members(text)
        except RecursionError:
            top = _members(_without_inner(text)) if len(text) <= _LONGEST_NESTED else None
    except (ValueError, RecursionError):
        return None
    members = top if isinstance(top, tuple) else ()
    ids = [value for name, value in members if name == "id"]
    is_request = any(name == "method" for name, _ in members)
    request_id = ids[0] if is_request and len(ids) == 1 else None
    if isinstance(request_id, str):
        return None if _is_torn(request_id) or min(request_id, default=" ") < " " else request_id
    return request_id if type(request_id) is int else None


def _members(text: str) -> Any:
    return json.loads(
        text,
        strict=False,
        object_pairs_hook=tuple,
        parse_constant=lambda _name: None,
        parse_float=lambda _text: None,
        parse_int=lambda digits: int(digits) if len(digits) <= _ID_DIGITS else None,
    )


def _without_inner(text: str) -> str:
    """Return the text of an object with null in place of each array or object in it."""
    parts: list[str] = []
    depth = start = 0
    for token in _BRACKETS.finditer(text):
        if token[0] in "[{":
            if depth == 1:
                parts.append(text[start : token.start()])
            depth += 1
        elif token[0] in "]}":
            depth -= 1
            if depth == 1:
                parts.append("null")
                start = token.end()
    return "".join((*parts, text[start:]))


def parser(number: Callable[[str], Any]) -> Callable[[bytes], Any]:
    """Return `parse` with numbers that are made from the text that was received."""

    def finite(text: str) -> Any:
        _finite(text)
        return number(text)

    decoder = json.JSONDecoder(
        object_pairs_hook=_unique,
        parse_constant=_refuse_constant,
        parse_float=finite,
        parse_int=number,
    )
    return partial(parse, scan=vars(decoder)["scan_once"])


def encode(value: Any) -> bytes:
    """Return the value as compact JSON in UTF-8.

    Raises TypeError, ValueError or RecursionError if it is not a JSON value.
    """
    return "".join(_chunks(value, 0)).encode("utf-8")


def _taken(raw: bytearray) -> str:
    """Return the text without blanks around it, and empty what held it."""
    while (tail := raw[-_BLOCK:]) and tail[-1] in _BLANKS:
        del raw[len(raw) - len(tail) + len(tail.rstrip(_BLANKS)) :]
    while (head := raw[:_BLOCK]) and head[0] in _BLANKS:
        del raw[: len(head) - len(head.lstrip(_BLANKS))]
    # One character beyond ASCII, and every character of the text takes two bytes or four.
    if not raw.isascii() and _FOREIGN_ESCAPE.search(raw) is None:
        spelled = _escaped(raw)
        raw.clear()
        raw = spelled
    text = raw.decode("utf-8")
    raw.clear()
    return text


def _escaped(raw: bytearray) -> bytearray:
    """Return the same JSON in ASCII."""
    spelled, read = bytearray(), codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(raw), _BLOCK):
            block = read.decode(raw[start : start + _BLOCK], start + _BLOCK >= len(raw))
            spelled += block.encode("ascii", _ESCAPE)
    except UnicodeDecodeError:
        raw.decode("utf-8")  # says where, of the whole
        raise
    return spelled


def _escape(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


_ESCAPE = "nacre.json"
codecs.register_error(_ESCAPE, _escape)


def _is_too_deep(raw: bytes | bytearray) -> bool:
    """Tell whether brackets nest too deep outside strings, before any parser recurses."""
    depth = 0
    for byte in _STRINGS.sub(b"", raw).translate(None, _NOT_BRACKETS):
        depth += 1 if byte in b"{[" else -1
        if depth > MAX_JSON_DEPTH:
            return True
    return False


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    keys: set[str] = set()
    for key, _ in pairs:
        if key in keys:
            break
        keys.add(key)
    raise MalformedMessageError(f"the message repeats the key '{_shown(key)}'")


def _shown(key: str) -> str:
    return key[:60].encode("utf-8", "replace").decode("utf-8")


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _has_lone_surrogate(value: Any) -> bool:
    match value:
        case str():
            return not value.isascii() and _is_torn(value)
        case dict():
            return any(_has_lone_surrogate(part) for pair in value.items() for part in pair)
        case list():
            return any(map(_has_lone_surrogate, value))
        case _:
            return False


def _is_torn(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite
)
# `scan_once` is what `decode` and `raw_decode` call; the type stubs do not know it.
_scan: Scan = vars(_DECODER)["scan_once"]
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _make_chunks() -> Callable[[Any, int], Iterable[str]]:
    """Return the standard library's encoder as it is under `JSONEncoder.encode`.

    `encode` makes this object anew for every value, which for an answer of usual size
    takes longer than the encoding. Interpreters without it have `iterencode` alone.
    """
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return lambda value, _level: _ENCODER.iterencode(value)
    spell = json.encoder.encode_basestring
    chunks: Callable[[Any, int], Iterable[str]] = make(
        None, _ENCODER.default, spell, None, ":", ",", False, False, False
    )
    return chunks


_chunks = _make_chunks()
