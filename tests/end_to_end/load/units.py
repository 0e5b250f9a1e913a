"""What DynamoDB bills for a request, by its published rules: sizes of items and request units.

moto does not know them, so they are counted here from what was asked, what was answered, and how
the items that were written stood before and after.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

Attributes = Mapping[str, Any]

READ_BYTES = 4096  # what one read unit reads
WRITE_BYTES = 1024  # what one write unit writes
_INDEXES = ("gsi1", "gsi2", "gsi3")
_LIST_BYTES = 3  # of a list or a map beside what is in it


def size(item: Attributes) -> int:
    """Return an item's size: its attributes' names and values."""
    return sum(len(name.encode()) + _value(value) for name, value in item.items())


def read_units(sizes: Sequence[int], *, consistent: bool) -> float:
    """Return the units of a read that is billed as one: one item, or all that a query read."""
    units = max(1, math.ceil(sum(sizes) / READ_BYTES))
    return float(units) if consistent else units / 2


def write_units(
    before: Attributes | None, after: Attributes | None, *, transaction: bool = False
) -> float:
    """Return the units of one write, with those of the indexes that repeat the item.

    A transaction writes the item twice; its indexes follow on their own, once.
    """
    own = _writes(max(size(before or {}), size(after or {})))
    return own * (2 if transaction else 1) + sum(
        _index_units(name, before, after) for name in _INDEXES
    )


def check_units(item: Attributes | None) -> float:
    """Return the units of a condition within a transaction, which is billed as a write."""
    return 2.0 * _writes(size(item or {}))


def stored_bytes(item: Attributes) -> int:
    """Return the bytes that are billed for keeping an item, its copies in indexes included."""
    copies = 1 + sum(_place(name, item) is not None for name in _INDEXES)
    return copies * (size(item) + 100)  # of each, for the index that finds it


def _writes(size_: int) -> int:
    return max(1, math.ceil(size_ / WRITE_BYTES))


def _place(index: str, item: Attributes | None) -> tuple[Any, Any] | None:
    """Return the key under which an index has the item."""
    if item is None or f"{index}pk" not in item or f"{index}sk" not in item:
        return None
    return item[f"{index}pk"], item[f"{index}sk"]


def _index_units(index: str, before: Attributes | None, after: Attributes | None) -> float:
    old, new = _place(index, before), _place(index, after)
    if old == new:
        changed = old is not None and before != after
        return _writes(max(size(before or {}), size(after or {}))) if changed else 0
    left = _writes(size(before or {})) if old is not None else 0
    entered = _writes(size(after or {})) if new is not None else 0
    return left + entered


def _value(value: Mapping[str, Any]) -> int:
    [(kind, content)] = value.items()
    match kind:
        case "S":
            return len(str(content).encode())
        case "B":
            return len(content)
        case "N":
            digits = str(content).lstrip("-").replace(".", "").strip("0")
            return math.ceil(len(digits) / 2) + 1 + int(str(content).startswith("-"))
        case "BOOL" | "NULL":
            return 1
        case "L":
            return _LIST_BYTES + sum(1 + _value(each) for each in content)
        case "M":
            return _LIST_BYTES + size(content) + len(content)
        case _:
            raise AssertionError(kind)
