"""Changed JSON messages: parts cut out of the text, or another value written into it."""

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from nacre.core.errors import MalformedMessageError
from nacre.firewall.enforce.message import parse
from nacre.firewall.rules.arguments.arguments import JsonNumber, number
from nacre.protocol import strict_json

_scan: Callable[[str, int], tuple[Any, int]] = vars(json.JSONDecoder())["scan_once"]
_BLANKS = " \t\n\r"

Span = tuple[int, int]


def without_elements(raw: bytes, path: tuple[str, ...], places: Collection[int]) -> bytes:
    """Return the text without these elements of the list at the path; other bytes stay."""
    text = raw.decode()
    return _without(text, _elements(text, _find(text, path)), frozenset(places)).encode()


def without_members(raw: bytes, path: tuple[str, ...], names: Collection[str]) -> bytes:
    """Return the text without these members of the object at the path; other bytes stay."""
    text = raw.decode()
    return _without_named(text, _find(text, path), names).encode()


def members_at(raw: bytes, path: tuple[str, ...]) -> dict[str, bytes]:
    """Return the members of the object at the path, each as it is written."""
    text = raw.decode()
    return {
        name: text[value_at:end].encode()
        for name, (_, end), value_at in _members(text, _find(text, path))
    }


def elements_of(raw: bytes) -> list[bytes]:
    """Return the elements of a list, each as it is written."""
    text = raw.decode()
    return [text[start:end].encode() for start, end in _elements(text, _skip(text, 0))]


def with_members(raw: bytes, path: tuple[str, ...], members: Mapping[str, bytes]) -> bytes:
    """Return the text with these members in the object at the path; other bytes stay.

    An object that is missing is made. Raise KeyError if what is there is no object.
    """
    if not members:
        return raw
    text = raw.decode()
    place = _skip(text, 0)
    remaining = list(path)
    while remaining and text[place] == "{":
        inner = [at for name, _, at in _members(text, place) if name == remaining[0]]
        if not inner:
            break
        place = inner[0]
        del remaining[0]
    if text[place] != "{":
        raise KeyError(remaining[0] if remaining else path[-1])
    added = ",".join(f"{json.dumps(name)}:{value.decode()}" for name, value in members.items())
    for name in reversed(remaining):
        added = f"{json.dumps(name)}:{{{added}}}"
    own = () if remaining else members
    rest = _without_named(text, place, own)
    comma = "," if rest[_skip(rest, place + 1)] != "}" else ""
    return f"{rest[: place + 1]}{added}{comma}{rest[place + 1 :]}".encode()


def with_value(raw: bytes, path: tuple[str, ...], value: bytes) -> bytes:
    """Return the text with another value at the path; other bytes stay."""
    text = raw.decode()
    start, end = span_of(text, path)
    return f"{text[:start]}{value.decode()}{text[end:]}".encode()


def span_of(text: str, path: tuple[str, ...]) -> Span:
    """Return where the value at the path begins and ends; raise KeyError if there is none."""
    start = _find(text, path)
    return start, _scan(text, start)[1]


def rewritten(raw: bytes, path: tuple[str, ...], value: Any) -> bytes:
    """Return the message, encoded again, with another value at the path."""
    body = parse(raw)
    place = body
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    encoded = strict_json.encode(numbers(body))
    if strict_json.parse(encoded) != numbers(body):
        raise MalformedMessageError("the message cannot be changed safely")
    return encoded


def numbers(value: Any) -> Any:
    """Return the value with its numbers as numbers."""
    kind = type(value)
    if kind is JsonNumber:
        plain = number(value)
        if plain is None:
            raise MalformedMessageError("the message holds a number that cannot be written again")
        return plain
    if kind is dict:
        return {name: numbers(inner) for name, inner in value.items()}
    if kind is list:
        return [numbers(inner) for inner in value]
    return value


def _without_named(text: str, place: int, names: Collection[str]) -> str:
    """Cut these members out of the object that begins here."""
    members = _members(text, place)
    spans = [span for _, span, _ in members]
    gone = frozenset(number for number, (name, _, _) in enumerate(members) if name in names)
    return _without(text, spans, gone)


def _without(text: str, spans: list[Span], gone: frozenset[int]) -> str:
    """Cut spans out of a row, each with the comma before it, or else the one after."""
    places = [place for place in range(len(spans)) if place not in gone]
    if not gone:
        return text
    if not places:
        return text[: spans[0][0]] + text[spans[-1][1] :]
    parts = [text[: spans[0][0]]]
    for place in places:
        start, end = spans[place]
        if place == places[0]:
            parts.append(text[start:end])
        else:
            parts.append(text[spans[place - 1][1] : end])
    parts.append(text[spans[-1][1] :])
    return "".join(parts)


def _find(text: str, path: tuple[str, ...]) -> int:
    """Return the start of the value at the path; raise KeyError if there is none."""
    place = _skip(text, 0)
    for name in path:
        place = next(at for member, _, at in _members(text, place) if member == name)
    return place


def _members(text: str, place: int) -> list[tuple[str, Span, int]]:
    """Return the members of the object that begins here: name, span, and where its value is."""
    members = []
    place = _skip(text, place + 1)
    while text[place] != "}":
        start = place
        name, place = _scan(text, place)
        value_at = _skip(text, _skip(text, place) + 1)
        _, end = _scan(text, value_at)
        members.append((name, (start, end), value_at))
        place = _next(text, end)
    return members


def _elements(text: str, place: int) -> list[Span]:
    """Return the spans of the elements of the list that begins here."""
    spans = []
    place = _skip(text, place + 1)
    while text[place] != "]":
        _, end = _scan(text, place)
        spans.append((place, end))
        place = _next(text, end)
    return spans


def _next(text: str, end: int) -> int:
    place = _skip(text, end)
    return _skip(text, place + 1) if text[place] == "," else place


def _skip(text: str, place: int) -> int:
    while text[place] in _BLANKS:
        place += 1
    return place
