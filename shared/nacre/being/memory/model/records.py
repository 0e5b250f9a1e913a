"""Records and items: a frozen dataclass as the attributes of an item, and back."""

import dataclasses
from collections.abc import Hashable
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_type_hints

from nacre.ports.items.table import Item

R = TypeVar("R")

ADDED_LATER = "added later"  # in the metadata of a field


def attributes_of(record: Any) -> Item:
    """Return the record's fields as attributes; what is None is left out.

    So is an empty list in a field that records got later, which keeps older data as it is.
    """
    result: Item = {}
    for field in dataclasses.fields(record):
        value: Any = getattr(record, field.name)
        if isinstance(value, tuple):
            value = list(value)
        if value is not None and (value or not field.metadata.get(ADDED_LATER)):
            result[field.name] = value
    return result


def record_of(cls: type[R], item: Item) -> R:
    """Return the record in an item; attributes that it does not know, such as keys, stay out."""
    values: dict[str, Any] = {}
    for name, is_float in _fields(cast("Hashable", cls)):
        value: Any = item.get(name)
        if isinstance(value, list):
            value = tuple(value)
        elif is_float and isinstance(value, int):
            value = float(value)  # stores give whole floats back as ints
        if value is not None:
            values[name] = value
    return cls(**values)


@cache
def _fields(cls: Any) -> tuple[tuple[str, bool], ...]:
    hints = get_type_hints(cls)
    return tuple(
        (field.name, hints[field.name] is float or float in get_args(hints[field.name]))
        for field in dataclasses.fields(cls)
    )
