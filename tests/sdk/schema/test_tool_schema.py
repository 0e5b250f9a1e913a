"""What a schema must be before anybody sees it."""

from typing import Any

import pytest

from nacre.core.errors import InvalidSchemaError
from nacre.core.limits import MAX_JSON_DEPTH, MAX_SCHEMA_BYTES
from nacre.sdk.schema.tool_schema import DIALECTS, check_schema


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def bomb(levels: int) -> dict[str, Any]:
    definitions: dict[str, Any] = {
        f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(levels)
    }
    return {"type": "object", "$ref": "#/$defs/a0", "$defs": definitions | {f"a{levels}": {}}}


def chain(links: int) -> dict[str, Any]:
    definitions = {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(links)}
    return {"type": "object", "$ref": "#/$defs/a0", "$defs": definitions}


def with_header(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "$schema": DIALECTS[0]},
        {"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}},
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
        {"type": "object", "properties": {"$ref": {"type": "string"}}},
        {"type": "object", "const": {"$ref": "https://example.com/data-not-schema"}},
        {
            "type": "object",
            "$id": "https://example.com/root",
            "properties": {"a": {"$ref": "item"}},
            "$defs": {"item": {"$id": "https://example.com/item", "type": "string"}},
        },
        deep(20),
        bomb(8),
        with_header(region={"type": "string", "x-mcp-header": "Region"}),
        with_header(a=with_header(n={"type": "integer", "x-mcp-header": "N-1"})),
    ],
)
def test_a_sound_schema_passes(schema: dict[str, Any]) -> None:
    check_schema(schema, tool="t")


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "object", "default": {1, 2}}, "is not JSON"),
        ({"type": "object", "maximum": float("nan")}, "is not JSON"),
        ({"type": "object", "description": "x" * MAX_SCHEMA_BYTES}, "is larger than 262144 bytes"),
        (deep(MAX_JSON_DEPTH), "nests deeper than 64 levels"),
        (deep(100_000), "is not JSON: "),
        (bomb(40), "unfolds to more than 50000 parts"),
        (chain(3000), "references form too long a chain"),
        ({"type": "object", "$schema": "https://example.com/mine"}, "is not known; use"),
        (
            {"type": "object", "properties": {"a": {"$ref": "https://example.com/x.json"}}},
            "'https://example.com/x.json' points outside the schema and is never fetched",
        ),
        ({"type": "object", "allOf": [{"$ref": "file:///etc/passwd"}]}, "is never fetched"),
        ({"type": "object", "items": {"$dynamicRef": "other.json#x"}}, "is never fetched"),
        (with_header(a={"type": "string", "x-mcp-header": ""}), "'' is not a header name"),
        (with_header(a={"type": "string", "x-mcp-header": "a b"}), "'a b' is not a header name"),
        (with_header(a={"type": "string", "x-mcp-header": "a\r\nb"}), "is not a header name"),
        (with_header(a={"type": "string", "x-mcp-header": 5}), "must be text"),
        (with_header(a={"type": "number", "x-mcp-header": "A"}), "needs a string, integer or"),
        (with_header(a={"x-mcp-header": "A"}), "needs a string, integer or"),
        (
            with_header(
                a={"type": "string", "x-mcp-header": "A"}, b={"type": "string", "x-mcp-header": "a"}
            ),
            "'a' is used twice",
        ),
        (
            with_header(a={"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}),
            "on a property reached through properties only",
        ),
    ],
)
def test_a_schema_that_could_do_harm_is_refused(schema: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidSchemaError, match=reason) as caught:
        check_schema(schema, tool="t")

    assert len(str(caught.value)) < 500
