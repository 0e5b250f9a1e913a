"""A type as the wire sees it: the shapes of single values, and those made of other shapes."""

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from enum import Enum
from typing import Any

from nacre.core.lazy_dataclasses import dataclass, field


class MisfitError(ValueError):
    """A JSON value that is not the type's; the message never repeats the value."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A JSON Schema, and how a JSON value becomes the Python value.

    `accepts` tells whether a value has the type's structure (bounds are the schema's
    business). `load` turns such a value into the type's; None when it is right as it
    is. `load` raises ValueError for a value that it cannot turn.
    """

    schema: dict[str, Any]
    accepts: Callable[[Any], bool]
    load: Callable[[Any], Any] | None = None

    def loaded(self, value: Any) -> Any:
        """Return the Python value for a JSON value."""
        return value if self.load is None else self.load(value)


ANYTHING = Shape({}, lambda _value: True)
OBJECT = Shape({"type": "object"}, lambda value: isinstance(value, dict))


@dataclass(slots=True)
class Definitions:
    """The schemas that a tool's types share, under `$defs`, each by a unique name."""

    schemas: dict[str, dict[str, Any]] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)

    def name_for(self, base: str) -> str:
        """Return a name that no other definition has."""
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name

    def adopt(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Move the schema's own `$defs` here and return the rest."""
        foreign = schema.get("$defs", {})
        renamed = {name: self._name_of_foreign(name, inner) for name, inner in foreign.items()}
        for name, inner in foreign.items():
            self.schemas[renamed[name]] = _renamed(inner, renamed)
        own_schema = {key: value for key, value in schema.items() if key != "$defs"}
        moved: dict[str, Any] = _renamed(own_schema, renamed)
        return moved

    def _name_of_foreign(self, name: str, inner: dict[str, Any]) -> str:
        # The same model used by two parameters is one definition.
        return name if self.schemas.get(name) == inner else self.name_for(name)


def reference(name: str) -> dict[str, Any]:
    """Return the schema that points to a definition."""
    return {"$ref": f"#/$defs/{name}"}


def _renamed(part: Any, names: dict[str, str]) -> Any:
    if isinstance(part, list):
        return [_renamed(item, names) for item in part]
    if not isinstance(part, dict):
        return part
    result = {key: _renamed(value, names) for key, value in part.items()}
    target = result.get("$ref")
    if isinstance(target, str) and (name := target.removeprefix("#/$defs/")) in names:
        result["$ref"] = f"#/$defs/{names[name]}"
    return result


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


_PLAIN = (str, bool, float, int, type(None))


def list_shape(item: Shape) -> Shape:
    """Return the shape of a list of equal items."""
    schema: dict[str, Any] = {"type": "array"}
    if item.schema:
        schema["items"] = item.schema
    load_item = item.load

    def load(value: Any) -> list[Any]:
        return [item.loaded(entry) for entry in _array(value)]

    return Shape(schema, _all_in(item), None if load_item is None else load)


def collection_shape(item: Shape, make: Callable[[list[Any]], Any], *, unique: bool) -> Shape:
    """Return the shape of a tuple or a set of equal items."""
    items = list_shape(item)
    schema = {**items.schema, "uniqueItems": True} if unique else items.schema
    return Shape(schema, items.accepts, lambda value: make(items.loaded(_array(value))))


def tuple_shape(items: Sequence[Shape]) -> Shape:
    """Return the shape of a tuple whose places have types of their own."""
    count = len(items)

    def accepts(value: Any) -> bool:
        return (
            isinstance(value, list)
            and len(value) == count
            and all(item.accepts(entry) for item, entry in zip(items, value, strict=True))
        )

    def load(value: Any) -> tuple[Any, ...]:
        if len(_array(value)) != count:
            raise MisfitError(f"expected {count} items")
        return tuple(item.loaded(entry) for item, entry in zip(items, value, strict=True))

    schema = {
        "type": "array",
        "prefixItems": [item.schema for item in items],
        "minItems": count,
        "maxItems": count,
    }
    if not items:
        del schema["prefixItems"]
    return Shape(schema, accepts, load)


def mapping_shape(key: Shape, value: Shape) -> Shape:
    """Return the shape of an object whose values have one type."""
    schema: dict[str, Any] = {"type": "object"}
    if "enum" in key.schema or "pattern" in key.schema:
        schema["propertyNames"] = key.schema
    if value.schema:
        schema["additionalProperties"] = value.schema

    def accepts(candidate: Any) -> bool:
        return isinstance(candidate, dict) and all(
            key.accepts(name) and value.accepts(entry) for name, entry in candidate.items()
        )

    def load(source: Any) -> dict[Any, Any]:
        if not isinstance(source, dict):
            raise MisfitError("expected an object")
        return {key.loaded(name): value.loaded(entry) for name, entry in source.items()}

    plain = key.load is None and value.load is None
    return Shape(schema, accepts, None if plain else load)


def union_shape(branches: Sequence[Shape]) -> Shape:
    """Return the shape of alternatives; the first that takes a value has it."""
    if len(branches) == 1:
        return branches[0]
    schema = {"anyOf": [branch.schema for branch in branches]}

    def accepts(value: Any) -> bool:
        return any(branch.accepts(value) for branch in branches)

    def load(value: Any) -> Any:
        # Text, numbers and null that a branch takes as they are stay as they are,
        # whatever stands before: 2.5 and 2.0 are both floats in `int | float`.
        if type(value) in _PLAIN and any(
            branch.load is None and branch.accepts(value) for branch in branches
        ):
            return value
        for branch in branches:
            if branch.accepts(value):
                return branch.loaded(value)
        raise MisfitError("expected another type")

    plain = all(branch.load is None for branch in branches)
    return Shape(schema, accepts, None if plain else load)


def nullable(shape: Shape) -> Shape:
    """Return the shape of a value that may be null."""
    if "anyOf" in shape.schema and NULL.schema in shape.schema["anyOf"]:
        return shape
    return union_shape([shape, NULL])


def _array(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise MisfitError("expected an array")
    return value


def _all_in(item: Shape) -> Callable[[Any], bool]:
    def accepts(value: Any) -> bool:
        return isinstance(value, list) and all(item.accepts(entry) for entry in value)

    return accepts
