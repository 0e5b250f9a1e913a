"""Arguments against a schema, and the sentence about what does not fit."""

import socket
from typing import Any

import pytest

from nacre.core.errors import InvalidSchemaError
from nacre.core.limits import MAX_ARGUMENT_ERROR
from nacre.sdk.schema.validation import Validator

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^a"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "multipleOf": 5},
        "kind": {"enum": ["fact", "event"]},
        "one": {"const": 1},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "either": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        "mixed": {"anyOf": [{"type": "string"}, {"required": ["a"]}]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "uniqueItems": True},
        "range": {"$ref": "#/$defs/range"},
        "names": {"propertyNames": {"maxLength": 2}},
        "never": False,
        "not": {"not": {"type": "string"}},
    },
    "required": ["text"],
    "additionalProperties": False,
    "$defs": {
        "range": {
            "type": "object",
            "properties": {"from": {"type": "string"}, "to": {"enum": ["now", "then"]}},
            "required": ["from", "to"],
        }
    },
}


KNOWN = ", ".join(repr(name) for name in SCHEMA["properties"] if name != "never")


def problem(**arguments: Any) -> str | None:
    return Validator(SCHEMA, tool="t").problem(arguments)


def test_arguments_that_fit_have_no_problem() -> None:
    assert problem(text="abc", limit=10, kind="fact", maybe=None, tags=["a"], either=1) is None


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "argument 'text' is missing: expected a string"),
        ({"text": 5}, "argument 'text': expected a string, got an integer"),
        ({"text": None}, "argument 'text': expected a string, got null"),
        (
            {"text": "a"},
            "argument 'text': expected a string of at least 2 characters, "
            "got a string of 1 character",
        ),
        (
            {"text": "abcdef"},
            "argument 'text': expected a string of at most 5 characters, "
            "got a string of 6 characters",
        ),
        (
            {"text": "bcd"},
            "argument 'text': expected a string that matches ^a, got a string of 3 characters",
        ),
        (
            {"text": "ab", "limit": 105},
            "argument 'limit': expected a number of at most 100, got an integer",
        ),
        (
            {"text": "ab", "limit": 0},
            "argument 'limit': expected a number of at least 1, got an integer",
        ),
        ({"text": "ab", "limit": 7}, "argument 'limit': expected a multiple of 5, got an integer"),
        ({"text": "ab", "limit": 2.5}, "argument 'limit': expected an integer, got a number"),
        ({"text": "ab", "limit": True}, "argument 'limit': expected an integer, got a boolean"),
        (
            {"text": "ab", "kind": "secret"},
            "argument 'kind': expected one of 'fact', 'event', got a string of 6 characters",
        ),
        ({"text": "ab", "one": 2}, "argument 'one': expected 1, got an integer"),
        (
            {"text": "ab", "maybe": 5},
            "argument 'maybe': expected a string or null, got an integer",
        ),
        (
            {"text": "ab", "either": []},
            "argument 'either': expected exactly one of these forms: a string or an integer, "
            "got an array of 0 items",
        ),
        (
            {"text": "ab", "mixed": {}},
            "argument 'mixed': expected one of the forms that the schema allows, got an object",
        ),
        (
            {"text": "ab", "tags": ["a", 1]},
            "argument 'tags.1': expected a string, got an integer",
        ),
        (
            {"text": "ab", "tags": ["a", "b", "c"]},
            "argument 'tags': expected an array of at most 2 items, got an array of 3 items",
        ),
        (
            {"text": "ab", "tags": ["a", "a"]},
            "argument 'tags': expected an array without repeated items, got an array of 2 items",
        ),
        (
            {"text": "ab", "range": {"to": "now"}},
            "argument 'range.from' is missing: expected a string",
        ),
        (
            {"text": "ab", "range": {"from": "x"}},
            "argument 'range.to' is missing: expected one of 'now', 'then'",
        ),
        (
            {"text": "ab", "range": {"from": 1, "to": "now"}},
            "argument 'range.from': expected a string, got an integer",
        ),
        (
            {"text": "ab", "nmaes": {}},
            "argument 'nmaes' is not known; did you mean 'names'? known: " + KNOWN,
        ),
        (
            {"text": "ab", "zzz": 1},
            "argument 'zzz' is not known; known: " + KNOWN,
        ),
        ({"text": "ab", "never": 1}, "argument 'never' is not known"),
        (
            {"text": "ab", "names": {"abc": 1}},
            "argument 'names': a property has a name that is not allowed",
        ),
        (
            {"text": "ab", "not": "x"},
            "argument 'not': expected what the schema's 'not' asks for, "
            "got a string of 1 character",
        ),
    ],
)
def test_the_text_names_the_argument_what_was_expected_and_what_came(
    arguments: dict[str, Any], text: str
) -> None:
    assert problem(**arguments) == text


SECRET = "hunter2-" * 4


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": SECRET},
        {"text": "ab", "kind": SECRET},
        {"text": "ab", "limit": SECRET},
        {"text": "ab", "maybe": [SECRET]},
        {"text": "ab", "range": {"from": "x", "to": SECRET}},
        {"text": "ab", "tags": [SECRET, SECRET]},
        {"text": "ab", "mixed": {"b": SECRET}},
        {"text": "ab", "not": SECRET},
    ],
)
def test_a_value_is_never_repeated(arguments: dict[str, Any]) -> None:
    text = problem(**arguments)

    assert text is not None
    assert "hunter2" not in text


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "x" * 1_000_000},
        {"text": "ab", "tags": [1] * 200_000},
        {"text": "ab", **{f"{'n' * 500}{n}": 1 for n in range(1000)}},
    ],
)
def test_the_text_is_short_however_much_came(arguments: dict[str, Any]) -> None:
    text = problem(**arguments)

    assert text is not None
    assert len(text) <= MAX_ARGUMENT_ERROR


def test_a_long_list_of_choices_is_cut() -> None:
    validator = Validator(
        {"properties": {"a": {"enum": [f"option-{n}" * 20 for n in range(1000)]}}}, tool="t"
    )

    text = validator.problem({"a": "x"})

    assert text is not None
    assert len(text) <= MAX_ARGUMENT_ERROR


@pytest.mark.parametrize("value", ["\ud800", {"\ud800": 1}])
def test_text_that_is_not_unicode_is_a_problem_and_no_crash(value: Any) -> None:
    assert problem(text=value) is not None


def test_nesting_that_the_library_does_not_follow_is_a_problem_and_no_crash() -> None:
    nested: Any = []
    for _ in range(1000):
        nested = [nested]

    assert Validator({"properties": {"a": {"const": 1}}}, tool="t").problem({"a": nested}) == (
        "the arguments hold text or nesting that is not valid JSON"
    )


def test_a_problem_of_the_whole_names_no_argument() -> None:
    assert Validator({"minProperties": 1}, tool="t").problem({}) == (
        "the arguments: expected an object of at least 1 properties, got an object"
    )


def test_an_older_dialect_is_honoured() -> None:
    draft_7 = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"pair": {"items": [{"type": "string"}, {"type": "integer"}]}},
    }

    assert Validator(draft_7, tool="t").problem({"pair": ["a", 1]}) is None
    assert Validator(draft_7, tool="t").problem({"pair": [1, 1]}) == (
        "argument 'pair.0': expected a string, got an integer"
    )


def test_keywords_of_2020_12_are_honoured() -> None:
    schema = {
        "properties": {"pair": {"prefixItems": [{"type": "string"}], "items": False}},
        "allOf": [{"properties": {"a": True}}],
        "dependentRequired": {"a": ["b"]},
        "unevaluatedProperties": False,
    }

    assert Validator(schema, tool="t").problem({"pair": ["x"]}) is None
    assert Validator(schema, tool="t").problem({"pair": ["x", 1]}) is not None
    assert Validator(schema, tool="t").problem({"a": 1}) == "argument 'b' is missing"
    assert (
        Validator(schema, tool="t").problem({"z": 1}) == "argument 'z' is not known; known: 'pair'"
    )


def test_a_remote_reference_is_never_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"
        with pytest.raises(InvalidSchemaError, match="not a valid JSON Schema"):
            Validator({"$ref": url}, tool="t")
        listener.settimeout(0)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_pattern_cannot_backtrack_for_ever() -> None:
    evil = {"properties": {"a": {"type": "string", "pattern": r"^(?=(a+)+$)(a|aa)+\1b$"}}}

    assert Validator(evil, tool="t").problem({"a": "a" * 5000 + "c"}) is not None


@pytest.mark.parametrize("schema", [{"type": "strin"}, {"pattern": "("}, {"required": "a"}])
def test_a_schema_that_is_not_one_says_where(schema: dict[str, Any]) -> None:
    with pytest.raises(InvalidSchemaError, match="tool 't': not a valid JSON Schema at '/"):
        Validator({"properties": {"a": schema}}, tool="t")
