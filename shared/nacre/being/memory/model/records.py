"""Records as items: the fields of a frozen dataclass to the attributes of an item and back."""

from collections.abc import Hashable
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_type_hints

from nacre.core.lazy_dataclasses import fields
from nacre.ports.items.table import Item

R = TypeVar("R")

ADDED_LATER = "added later"  # in the metadata of a field


def attributes_of(record: Any) -> Item:
    """Return the fields of a record as attributes, without those that are None.

    A field that was added later is also left out while it is empty, so that older items stay
    as they are.
    """
    result: Item = {}
    for name, _, is_added_later in _fields(cast("Hashable", type(record))):
        value: Any = getattr(record, name)
        if isinstance(value, tuple):
            value = list(value)
        if value is not None and (value or not is_added_later):
            result[name] = value
    return result


def record_of(cls: type[R], item: Item) -> R:
    """Return the record in an item. Other attributes, such as keys, are ignored."""
    values: dict[str, Any] = {}
    for name, is_float, _ in _fields(cast("Hashable", cls)):
        value: Any = item.get(name)
        if isinstance(value, list):
            value = tuple(value)
        elif is_float and isinstance(value, int):
            value = float(value)  # stores give whole floats back as ints
        if value is not None:
            values[name] = value
    return cls(**values)


@cache
def _fields(cls: Any) -> tuple[tuple[str, bool, bool], ...]:
    """Return each field's name, whether it is a float, and whether it was added later."""
    hints = get_type_hints(cls)
    return tuple(
        (
            field.name,
            hints[field.name] is float or float in get_args(hints[field.name]),
            bool(field.metadata.get(ADDED_LATER)),
        )
        for field in fields(cls)
    )
