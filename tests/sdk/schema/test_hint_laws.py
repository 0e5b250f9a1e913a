"""Laws that hold between a type's schema, its values and their JSON form."""

import json
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Any, Literal

from hypothesis import given
from hypothesis import strategies as st

from nacre.sdk.schema.encode import encode
from nacre.sdk.schema.tool_schema import check_schema
from nacre.sdk.schema.type_hints import Hints
from nacre.sdk.schema.validation import Validator


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Point:
    x: int
    y: float | None = None


# A type, and a strategy for its values. Only values that JSON tells apart are drawn
# together, so that what was sent is what arrives.
SIMPLE: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (str, st.text(max_size=5)),
    (int, st.integers(-(2**53), 2**53)),
    (bool, st.booleans()),
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (date, st.dates()),
    (Color, st.sampled_from(Color)),
    (Literal["a", "b"], st.sampled_from(["a", "b"])),
    (Point, st.builds(Point, st.integers(-9, 9), st.none() | st.floats(-9, 9))),
]


def wrapped(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def lists(pair: Any) -> Any:
        return list[pair[0]], st.lists(pair[1], max_size=3)

    def tuples(pair: Any) -> Any:
        return tuple[pair[0], ...], st.lists(pair[1], max_size=3).map(tuple)

    def mappings(pair: Any) -> Any:
        return dict[str, pair[0]], st.dictionaries(st.text(max_size=3), pair[1], max_size=3)

    def options(pair: Any) -> Any:
        return pair[0] | None, st.none() | pair[1]

    return inner.flatmap(
        lambda pair: st.sampled_from([lists(pair), tuples(pair), mappings(pair), options(pair)])
    )


typed_values = st.recursive(
    st.sampled_from([pair for pair in SIMPLE if pair[0] != Literal["a", "b"]]),
    wrapped,
    max_leaves=4,
).flatmap(lambda pair: st.tuples(st.just(pair[0]), pair[1]))

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.floats(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)
hints = st.recursive(st.sampled_from(SIMPLE), wrapped, max_leaves=4).map(lambda pair: pair[0])


@given(typed_values)
def test_a_value_comes_back_from_its_json_form(pair: tuple[Any, Any]) -> None:
    hint, value = pair
    shape = Hints().of(hint)
    sent = json.loads(json.dumps(encode(value)))

    assert Validator(shape.schema, tool="t").problem(sent) is None
    assert shape.accepts(sent)
    assert shape.loaded(sent) == value


@given(hints)
def test_every_schema_is_sound(hint: Any) -> None:
    schema = Hints().of(hint).schema

    check_schema({"type": "object", "properties": {"a": schema}}, tool="t")
    Validator(schema, tool="t")


@given(hints, json_values)
def test_what_the_schema_and_the_shape_accept_can_be_loaded(hint: Any, value: Any) -> None:
    shape = Hints().of(hint)

    if shape.accepts(value) and Validator(shape.schema, tool="t").problem(value) is None:
        shape.loaded(value)


@given(hints, json_values)
def test_what_the_schema_refuses_has_a_short_text(hint: Any, value: Any) -> None:
    text = Validator(Hints().of(hint).schema, tool="t").problem(value)

    assert text is None or 0 < len(text) <= 500


@given(json_values)
def test_a_json_value_is_its_own_json_form(value: Any) -> None:
    assert encode(value) == value
