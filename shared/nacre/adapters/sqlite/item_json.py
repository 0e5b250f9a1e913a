"""Items as JSON text, in which bytes are marked."""

import json
from base64 import b64decode, b64encode
from typing import Any

from nacre.ports.items.table import Item, Value

_BYTES = "$bytes"
_MAP = "$map"  # around a map that would read as one of these two
_MARKS = (f'"{_BYTES}"', f'"{_MAP}"')


def encode_item(item: Item) -> str:
    """Return the item as JSON text."""
    return json.dumps(
        {name: _packed(value) for name, value in item.items()},
        ensure_ascii=False,
        separators=(",", ":"),
    )


def decode_item(text: str) -> Item:
    """Return the item that `encode_item` was given."""
    packed: dict[str, Any] = json.loads(text)
    if not any(mark in text for mark in _MARKS):  # most items: nothing to look for
        return packed
    return {name: _unpacked(value) for name, value in packed.items()}


def _packed(value: Value) -> Any:
    if isinstance(value, bytes):
        return {_BYTES: b64encode(value).decode("ascii")}
    if isinstance(value, list):
        return [_packed(entry) for entry in value]
    if isinstance(value, dict):
        packed = {name: _packed(entry) for name, entry in value.items()}
        return {_MAP: packed} if _BYTES in value or _MAP in value else packed
    return value


def _unpacked(value: Any) -> Value:
    if isinstance(value, list):
        return [_unpacked(entry) for entry in value]
    if isinstance(value, dict):
        if len(value) == 1:
            if _BYTES in value:
                return b64decode(value[_BYTES])
            if _MAP in value:
                value = value[_MAP]
        return {name: _unpacked(entry) for name, entry in value.items()}
    return value  # type: ignore[no-any-return]  # what is left is a scalar
