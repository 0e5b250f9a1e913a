"""Shapes made of other shapes: lists, tuples, sets, mappings and alternatives."""

from collections.abc import Callable, Sequence
from typing import Any

from nacre.sdk.schema.scalars import NULL
from nacre.sdk.schema.shape import MisfitError, Shape

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

    def accepts(given: Any) -> bool:
        return isinstance(given, dict) and all(
            key.accepts(name) and value.accepts(entry) for name, entry in given.items()
        )

    def load(given: Any) -> dict[Any, Any]:
        if not isinstance(given, dict):
            raise MisfitError("expected an object")
        return {key.loaded(name): value.loaded(entry) for name, entry in given.items()}

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
