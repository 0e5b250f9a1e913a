"""Python values as JSON values."""

import math
from collections.abc import Mapping, Sequence, Set
from datetime import date, datetime, time
from enum import Enum
from typing import Any

from nacre.core.errors import InvalidInputError
from nacre.core.limits import MAX_JSON_DEPTH


def encode(value: Any, depth: int = MAX_JSON_DEPTH) -> Any:
    """Return the value as JSON types; dataclasses, models, enums, dates and sets included.

    A value that has no JSON form, or nests deeper than `depth`, raises InvalidInputError.
    """
    if value is None or value is True or value is False or type(value) in (str, int):
        return value
    if depth == 0:
        raise InvalidInputError(f"a value nests deeper than {MAX_JSON_DEPTH} levels")
    if isinstance(value, Enum):
        return encode(value.value, depth - 1)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return _composite(value, depth - 1)


def _number(value: float) -> float:
    if not math.isfinite(value):
        raise InvalidInputError(f"{value} has no JSON form; return None or text instead")
    return value


def _composite(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        return {_key(key): encode(item, depth) for key, item in value.items()}
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        import dataclasses  # noqa: PLC0415 - already loaded if such a value exists

        return {
            field.name: encode(getattr(value, field.name), depth)
            for field in dataclasses.fields(value)
        }
    # A pydantic model; the library is never imported for it.
    if callable(dump := getattr(value, "model_dump", None)) and not isinstance(value, type):
        return dump(mode="json")
    if hasattr(value, "_asdict"):
        return encode(value._asdict(), depth)
    if isinstance(value, Set):
        # Sets have no order; a repeatable answer needs one.
        return sorted((encode(item, depth) for item in value), key=repr)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [encode(item, depth) for item in value]
    raise InvalidInputError(f"a value of type {type(value).__name__} has no JSON form")


def _key(key: Any) -> str:
    key = encode(key)
    if not isinstance(key, str):
        raise InvalidInputError(f"JSON object keys are text, not {type(key).__name__}")
    return key
