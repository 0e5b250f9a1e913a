"""Large values that do not match: the same sentence, found in a few of their entries."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.sdk.schema.shortened import Shortened, is_large
from nacre.sdk.schema.validation import Validator

NUMBERS: dict[str, Any] = {"type": "array", "items": {"type": "number"}}
EITHER: dict[str, Any] = {
    "anyOf": [
        {"type": "array", "items": {"type": "integer"}},
        {"type": "array", "items": {"type": "string"}},
    ]
}
ROW: dict[str, Any] = {"type": "object", "properties": {"id": {"type": "integer"}}}
MANY = 3000


def of(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"v": schema}, "required": ["v"]}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (EITHER, [0.5] * MANY),
        ({"type": "array", "items": EITHER}, [[0.5] * 100] * 100),
        ({**NUMBERS, "maxItems": 10}, [0.5] * MANY),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            dict.fromkeys(map(str, range(MANY)), 1),
        ),
        ({"type": "object", "properties": {"inner": EITHER}}, {"inner": [0.5] * MANY}),
        ({"type": "string"}, [0.5] * MANY),
    ],
)
def test_a_few_entries_are_enough_to_find_an_error(schema: Any, value: Any) -> None:
    matches = jsonschema_rs.validator_for(of(schema)).is_valid
    assert is_large({"v": value})

    shortened = Shortened({"v": value}, matches)

    assert not is_large(shortened.value)
    assert not matches(shortened.value)


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (EITHER, [0.5] * MANY, "argument 'v': expected an array, got an array of 3000 items"),
        (
            {**NUMBERS, "maxItems": 10},
            [0.5] * MANY,
            "argument 'v': expected an array of at most 10 items, got an array of 3000 items",
        ),
        (
            {"type": "string"},
            [0.5] * MANY,
            "argument 'v': expected a string, got an array of 3000 items",
        ),
        (
            {**NUMBERS, "minItems": MANY + 1},
            [0.5] * MANY,
            "argument 'v': expected what the schema asks for, got an array of 3000 items",
        ),
        (
            {**NUMBERS, "uniqueItems": True},
            [*range(MANY), *range(MANY)],
            "argument 'v': expected what the schema asks for, got an array of 6000 items",
        ),
        (
            {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "number"}},
            ["a", *range(MANY), "b"],
            "argument 'v': expected what the schema asks for, got an array of 3002 items",
        ),
    ],
)
def test_what_is_said_is_true_of_the_whole_value(schema: Any, value: Any, text: str) -> None:
    assert Validator(of(schema), tool="t").problem({"v": value}) == text


@given(st.integers(300, 2000), st.data())
def test_the_place_of_one_wrong_item_is_that_of_the_whole_value(count: int, data: Any) -> None:
    place = data.draw(st.integers(0, count - 1))
    rows: list[Any] = [{"id": number} for number in range(count)]
    rows[place] = {"id": "x"}

    said = Validator(of({"type": "array", "items": ROW}), tool="t").problem({"v": rows})

    assert said == f"argument 'v.{place}.id': expected an integer, got a string of 1 character"


def test_a_large_value_that_matches_has_no_problem() -> None:
    assert Validator(of(EITHER), tool="t").problem({"v": [1] * MANY}) is None
