"""Checks arguments against a JSON Schema, and describes the first mismatch in one sentence.

Imported with the first call of a tool, because the library is not needed before.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import jsonschema_rs

from nacre.core.errors import InvalidSchemaError
from nacre.core.limits import MAX_ARGUMENT_ERROR
from nacre.sdk.schema.shortened import Shortened, is_large

# How often a pattern with look-around may backtrack; others run in linear time.
_BACKTRACKS = 100_000
_KINDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_BOUNDS = {
    "minimum": "a number of at least {limit}",
    "maximum": "a number of at most {limit}",
    "exclusiveMinimum": "a number above {limit}",
    "exclusiveMaximum": "a number below {limit}",
    "minLength": "a string of at least {limit} characters",
    "maxLength": "a string of at most {limit} characters",
    "minItems": "an array of at least {limit} items",
    "maxItems": "an array of at most {limit} items",
    "minProperties": "an object of at least {limit} properties",
    "maxProperties": "an object of at most {limit} properties",
    "multipleOf": "a multiple of {multiple_of}",
    "pattern": "a string that matches {pattern}",
    "format": "a string of the format {format}",
    "const": "{expected_value!r}",
    "contains": "an array that contains a certain item",
    "uniqueItems": "an array without repeated items",
}


class Validator:
    """A compiled schema."""

    def __init__(self, schema: Mapping[str, Any], *, tool: str) -> None:
        self._schema = schema
        try:
            # Offline: a reference to elsewhere fails here and is never fetched.
            # Mask: the library's own messages never repeat a value.
            self._compiled = jsonschema_rs.validator_for(
                dict(schema),
                offline=True,
                mask="...",
                pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS),
            )
        except ValueError as error:
            reason = getattr(error, "message", None) or str(error)
            place = "/".join(str(step) for step in getattr(error, "instance_path", ()))
            raise InvalidSchemaError(
                f"not a valid JSON Schema at '/{place}': {reason[:MAX_ARGUMENT_ERROR]}", tool=tool
            ) from error

    def problem(self, value: Any, *, called: str = "argument") -> str | None:
        """Return the problem with the value, or None."""
        try:
            if self._compiled.is_valid(value):
                return None
            text = self._large(value, called) if is_large(value) else self._first(value, called)
        except (UnicodeEncodeError, ValueError):
            # Lone surrogates, or nesting deeper than the library follows.
            text = f"the {called}s hold text or nesting that is not valid JSON"
        return text if len(text) <= MAX_ARGUMENT_ERROR else f"{text[: MAX_ARGUMENT_ERROR - 3]}..."

    def _first(self, value: Any, called: str) -> str:
        try:
            self._compiled.validate(value)
        except jsonschema_rs.ValidationError as error:
            return _sentence(error, self._schema, called, error.instance_path, error.instance)
        return _mismatch(value, called)

    def _large(self, value: Any, called: str) -> str:
        """Describe what is wrong with a few entries of the value, as if with all of them."""
        shortened = Shortened(value, self._compiled.is_valid)
        if is_large(shortened.value) or "prefixItems" in str(self._schema):
            return _mismatch(value, called)
        try:
            self._compiled.validate(shortened.value)
        except jsonschema_rs.ValidationError as error:
            path = tuple(error.instance_path)
            if shortened.describes(path, error.kind.name):
                place, instance = shortened.original(path)
                return _sentence(error, self._schema, called, place, instance)
        return _mismatch(value, called)


def _mismatch(value: Any, called: str) -> str:
    """Say of a large value that it does not match, where the reason takes too long to find."""
    names = [name for name in value if is_large(value[name])] if isinstance(value, dict) else []
    place, inner = ([names[0]], value[names[0]]) if len(names) == 1 else ([], value)
    return f"{_named(place, called)}: expected what the schema asks for, got {_kind(inner)}"


def _sentence(
    error: jsonschema_rs.ValidationError,
    schema: Mapping[str, Any],
    called: str,
    path: Sequence[str | int],
    instance: Any,
) -> str:
    keyword = error.kind.name
    details = error.kind.as_dict()
    if keyword in ("required", "dependentRequired"):
        name = details["property"]
        expected = _expected_of(_schema_at(schema, error.schema_path[:-1]), name)
        if not expected and not path:
            # `then` and its like ask for a property that the schema itself describes.
            expected = _expected_of(schema, name)
        return f"{_named([*path, name], called)} is missing{expected}"
    if keyword in ("additionalProperties", "unevaluatedProperties", "falseSchema"):
        names = details.get("unexpected")
        if not names:
            return f"{_named(path, called)} is not known"
        unknown = ", ".join(_named([*path, name], called) for name in names[:3])
        owner = _schema_at(schema, error.schema_path[:-1])
        return f"{unknown} is not known{_known_instead(names[0], owner)}"
    if keyword == "propertyNames":
        return f"{_named(path, called)}: a property has a name that is not allowed"
    expected = _expected(keyword, details, _schema_at(schema, error.schema_path[:-1]))
    return f"{_named(path, called)}: expected {expected}, got {_kind(instance)}"


def _expected(keyword: str, details: Mapping[str, Any], schema: Any) -> str:
    if keyword == "type":
        return " or ".join(_KINDS.get(kind, kind) for kind in details["types"])
    if keyword == "enum":
        return f"one of {_listed(details['options'])}"
    if keyword in _BOUNDS:
        return _BOUNDS[keyword].format(**details)
    if keyword in ("anyOf", "oneOf") and isinstance(schema, dict):
        branches = schema.get(keyword, ())
        kinds = [
            _KINDS[branch["type"]]
            for branch in branches
            if isinstance(branch, dict) and branch.get("type") in _KINDS
        ]
        if len(kinds) == len(branches):
            which = "exactly one of these forms: " if keyword == "oneOf" else ""
            return which + " or ".join(dict.fromkeys(kinds))
        return "one of the forms that the schema allows"
    return f"what the schema's '{keyword}' asks for"


def _expected_of(schema: Any, name: str) -> str:
    """Return ': expected ...' for a property that is missing, where its schema says it."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    inner = properties.get(name) if isinstance(properties, dict) else None
    if not isinstance(inner, dict):
        return ""
    if isinstance(options := inner.get("enum"), list):
        return f": expected one of {_listed(options)}"
    kind = inner.get("type")
    return f": expected {_KINDS[kind]}" if isinstance(kind, str) and kind in _KINDS else ""


def _known_instead(name: str, schema: Any) -> str:
    """Return the likely intended name, and all names that there are."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return ""
    names = [candidate for candidate, inner in properties.items() if inner is not False]
    if not names:
        return "; there are none"
    plain = {_plain(candidate): candidate for candidate in reversed(names)}
    close = get_close_matches(_plain(name), plain, n=1, cutoff=0.6)
    question = f"; did you mean '{plain[close[0]]}'?" if close else ";"
    return f"{question} known: {_listed(names, most=20)}"


def _plain(name: str) -> str:
    # userMessage, user-message and user_message are one.
    return name[:60].casefold().replace("_", "").replace("-", "")


def _schema_at(schema: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        try:
            schema = schema[step]
        except (KeyError, IndexError, TypeError):
            return None
    return schema


def _named(path: Sequence[str | int], called: str) -> str:
    if not path:
        return f"the {called}s"
    return f"{called} '{'.'.join(str(step)[:60] for step in path[:8])}'"


def _listed(options: Sequence[Any], *, most: int = 10) -> str:
    text = ", ".join(repr(option)[:60] for option in options[:most])
    return f"{text} ..." if len(options) > most else text


def _kind(value: Any) -> str:
    """Describe a value by its kind and size; the value itself may be a secret."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "an integer"
        case float():
            return "a number"
        case str():
            return f"a string of {_counted(len(value), 'character')}"
        case list():
            return f"an array of {_counted(len(value), 'item')}"
        case _:
            return "an object"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
