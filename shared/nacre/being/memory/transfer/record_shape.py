"""Checks that a value from outside has the fields of a dataclass with their types."""

import dataclasses
from collections.abc import Hashable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from nacre.core.errors import InvalidInputError
from nacre.core.limits import MAX_WHOLE_NUMBER


def checked_record(
    shape: type,
    value: Mapping[str, Any],
    where: str,
    *,
    also: frozenset[str] = frozenset(),
) -> None:
    """Raise InvalidInputError unless the value fits the dataclass.

    `also` names further fields that may be there, which are whole numbers.
    """
    fields = _fields(cast("Hashable", shape))
    for name in value.keys() - fields.keys() - also:
        raise InvalidInputError(
            f"{where}: this version of nacre knows no {str(name)[:40]!r} here; upgrade it"
        )
    for name in also & value.keys():
        if not _fits(value[name], int):
            raise InvalidInputError(f"{where}: {name!r} must be a whole number")
    for name, (expected, is_required) in fields.items():
        if name not in value:
            if is_required:
                raise InvalidInputError(f"{where}: {name!r} is missing")
        elif not _fits(value[name], expected):
            raise InvalidInputError(f"{where}: {name!r} is not of the type that it has here")


@cache
def _fields(shape: Any) -> dict[str, tuple[Any, bool]]:
    hints = get_type_hints(shape)
    return {
        field.name: (hints[field.name], field.default is dataclasses.MISSING)
        for field in dataclasses.fields(shape)
    }


def _fits(value: Any, expected: Any) -> bool:
    origin = get_origin(expected)
    if origin in (Union, UnionType):
        # A value leaves out fields that are None.
        return any(_fits(value, type_) for type_ in get_args(expected) if type_ is not NoneType)
    if origin is Literal:
        return isinstance(value, str) and value in get_args(expected)
    if origin is tuple:
        return isinstance(value, list) and all(isinstance(entry, str) for entry in value)
    if expected is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if expected is int:
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        return is_whole and abs(value) <= MAX_WHOLE_NUMBER
    return isinstance(value, expected)
