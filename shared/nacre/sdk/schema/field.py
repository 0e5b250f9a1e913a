"""The notes of `Annotated` about a parameter, as JSON Schema keywords."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nacre.core.lazy_dataclasses import dataclass

# The names of pydantic's Field and of annotated-types, so that their notes are read
# without importing either; a length means different keywords for different types.
_NUMBER = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
_LENGTH = {
    "string": {"min_length": "minLength", "max_length": "maxLength"},
    "array": {"min_length": "minItems", "max_length": "maxItems"},
    "object": {"min_length": "minProperties", "max_length": "maxProperties"},
}
_TEXT = {"pattern": "pattern", "format": "format"}
_KEYWORDS: dict[str, dict[str, str]] = {
    "integer": _NUMBER,
    "number": _NUMBER,
    "string": _LENGTH["string"] | _TEXT,
    "array": _LENGTH["array"],
    "object": _LENGTH["object"],
}
_ATTRIBUTES = tuple(dict.fromkeys(name for words in _KEYWORDS.values() for name in words))


@dataclass(frozen=True, slots=True)
class Field:
    """A description and bounds for a parameter: `Annotated[int, Field("How many", ge=1)]`.

    `header` makes the value travel as the HTTP header `Mcp-Param-{header}` too; a `closed`
    object refuses what its type does not name; `extra` holds further JSON Schema keywords.
    """

    description: str | None = None
    title: str | None = None
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    format: str | None = None
    examples: list[Any] | None = None
    header: str | None = None
    closed: bool = False
    extra: Mapping[str, Any] | None = None


def annotate(schema: dict[str, Any], notes: Iterable[Any]) -> dict[str, Any]:
    """Return the schema with its notes applied; a note that is a string is a description."""
    result = dict(schema)
    for note in _flat(notes):
        if isinstance(note, str):
            result["description"] = note
            continue
        for attribute in _ATTRIBUTES:
            limit = getattr(note, attribute, None)
            if limit is not None and not callable(limit):
                result = _bounded(result, attribute, limit)
        for attribute in ("description", "title", "examples"):
            if (value := getattr(note, attribute, None)) is not None:
                result[attribute] = value
        if isinstance(note, Field):
            result |= note.extra or {}
            if note.closed:
                result["additionalProperties"] = False
            if note.header is not None:
                result["x-mcp-header"] = note.header
    return result


def _flat(notes: Iterable[Any]) -> Iterator[Any]:
    for note in notes:
        yield note
        # pydantic keeps a Field's bounds in a list of their own.
        if isinstance(metadata := getattr(note, "metadata", None), list):
            yield from metadata


def _bounded(schema: dict[str, Any], attribute: str, limit: Any) -> dict[str, Any]:
    if "anyOf" in schema:
        branches = schema["anyOf"]
        fitting = [_takes(branch, attribute) for branch in branches]
        if any(fitting):
            return schema | {
                "anyOf": [
                    _bounded(branch, attribute, limit) if fits else branch
                    for branch, fits in zip(branches, fitting, strict=True)
                ]
            }
    elif _takes(schema, attribute):
        return schema | {_KEYWORDS[schema["type"]][attribute]: limit}
    raise TypeError(f"'{attribute}' says nothing about {schema.get('type', 'this type')}")


def _takes(schema: dict[str, Any], attribute: str) -> bool:
    return attribute in _KEYWORDS.get(schema.get("type", ""), {})
