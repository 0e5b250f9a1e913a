"""Shapes of single values: text, numbers, dates, choices."""

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from enum import Enum
from typing import Any

from nacre.sdk.schema.shape import MisfitError, Shape

_JSON_TYPES: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}


def _is_integer(value: Any) -> bool:
    # JSON Schema counts 1.0 among the integers.
    return type(value) is int or (type(value) is float and value.is_integer())


def _is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float


def _integer(value: Any) -> int:
    if type(value) is int:
        return value
    if not _is_integer(value):
        raise MisfitError("expected an integer")
    return int(value)


TEXT = Shape({"type": "string"}, lambda value: isinstance(value, str))
BOOLEAN = Shape({"type": "boolean"}, lambda value: isinstance(value, bool))
INTEGER = Shape({"type": "integer"}, _is_integer, _integer)
# An int stays one: it is a float to a type checker, and 2 should not print as 2.0.
NUMBER = Shape({"type": "number"}, _is_number)
NULL = Shape({"type": "null"}, lambda value: value is None)


def _text_form(kind: str, example: str, parse: Callable[[str], Any]) -> Shape:
    def load(value: Any) -> Any:
        try:
            return parse(value)
        except (TypeError, ValueError):
            raise MisfitError(f"expected text such as {example}") from None

    def accepts(value: Any) -> bool:
        try:
            load(value)
        except MisfitError:
            return False
        return isinstance(value, str)

    return Shape({"type": "string", "format": kind}, accepts, load)


def _bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise MisfitError("expected base64 text") from None


_SCALARS: dict[Any, Shape] = {
    str: TEXT,
    bool: BOOLEAN,
    int: INTEGER,
    float: NUMBER,
    type(None): NULL,
    None: NULL,
    datetime: _text_form("date-time", "2026-07-28T09:30:00Z", datetime.fromisoformat),
    date: _text_form("date", "2026-07-28", date.fromisoformat),
    time: _text_form("time", "09:30:00", time.fromisoformat),
    bytes: Shape(
        {"type": "string", "contentEncoding": "base64"}, lambda v: isinstance(v, str), _bytes
    ),
}


def scalar(hint: Any) -> Shape | None:
    """Return the shape of a simple type, None for any other hint."""
    try:
        return _SCALARS.get(hint)
    except TypeError:  # not hashable: Annotated and Literal with lists inside
        return None


def uuid_shape(uuid_type: Callable[[str], Any]) -> Shape:
    """Return the shape of `uuid.UUID`, passed in so that the module is not imported here."""
    return _text_form("uuid", "12345678-1234-5678-1234-567812345678", uuid_type)


def enum_shape(members: type[Enum]) -> Shape:
    """Return the shape of an enum: its values, or its names where those are not JSON."""
    values = [member.value for member in members]
    if not all(type(value) in _JSON_TYPES for value in values):
        values = [member.name for member in members]
    return choice(values, list(members))


def literal_shape(options: Sequence[Any]) -> Shape:
    """Return the shape of a `Literal`."""
    values = [option.value if isinstance(option, Enum) else option for option in options]
    return choice(values, list(options))


def choice(values: list[Any], meanings: list[Any]) -> Shape:
    """Return the shape of one value out of several, and what each of them means."""
    meaning_of = {_key(value): meaning for value, meaning in zip(values, meanings, strict=True)}

    def accepts(value: Any) -> bool:
        return type(value) in _JSON_TYPES and _key(value) in meaning_of

    def load(value: Any) -> Any:
        if not accepts(value):
            raise MisfitError(f"expected one of {', '.join(map(repr, values[:20]))}")
        return meaning_of[_key(value)]

    schema: dict[str, Any] = {"enum": values}
    kinds = {_JSON_TYPES.get(type(value)) for value in values}
    if len(kinds) == 1:
        schema = {"type": kinds.pop(), "enum": values}
    return Shape(schema, accepts, load)


def _key(value: Any) -> tuple[bool, Any]:
    # To Python True is 1; to JSON it is not.
    return isinstance(value, bool), value
