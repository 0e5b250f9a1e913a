from dataclasses import dataclass
from typing import Any, Literal

import pytest

from nacre.being.memory.transfer.record_shape import checked_record
from nacre.core.errors import InvalidInputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    name: str
    kind: Literal["one", "two"] = "one"
    size: int = 0
    share: float = 0.5
    tags: tuple[str, ...] = ()
    note: str | None = None
    is_on: bool = False


@pytest.mark.parametrize(
    "value",
    [
        {"name": "a"},
        {"name": "a", "kind": "two", "size": -3, "share": 1, "tags": ["b"], "note": "c"},
        {"name": "a", "share": 0.25, "is_on": True, "expires_at": 5},
    ],
)
def test_a_value_of_the_shape_is_taken(value: dict[str, Any]) -> None:
    checked_record(Shape, value, "line 1", also=frozenset({"expires_at"}))


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({}, "line 1: 'name' is missing"),
        ({"name": 1}, "line 1: 'name' is not of the type that it has here"),
        ({"name": "a", "kind": "three"}, "line 1: 'kind' is not of the type that it has here"),
        ({"name": "a", "kind": ["one"]}, "line 1: 'kind' is not of the type that it has here"),
        ({"name": "a", "size": True}, "line 1: 'size' is not of the type that it has here"),
        ({"name": "a", "size": 2**60}, "line 1: 'size' is not of the type that it has here"),
        ({"name": "a", "share": "1"}, "line 1: 'share' is not of the type that it has here"),
        ({"name": "a", "tags": "b"}, "line 1: 'tags' is not of the type that it has here"),
        ({"name": "a", "tags": [1]}, "line 1: 'tags' is not of the type that it has here"),
        ({"name": "a", "note": None}, "line 1: 'note' is not of the type that it has here"),
        ({"name": "a", "is_on": 1}, "line 1: 'is_on' is not of the type that it has here"),
        ({"name": "a", "expires_at": "x"}, "line 1: 'expires_at' must be a whole number"),
        ({"name": "a", "new": 1}, "line 1: this version of nacre knows no 'new' here; upgrade it"),
    ],
)
def test_anything_else_is_named(value: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        checked_record(Shape, value, "line 1", also=frozenset({"expires_at"}))

    assert str(refused.value) == complaint
