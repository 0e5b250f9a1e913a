"""The checks of a tool's JSON Schema before a client sees it, without a library."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from nacre.core.errors import InvalidSchemaError
from nacre.core.limits import MAX_JSON_DEPTH, MAX_SCHEMA_BYTES, MAX_SCHEMA_NODES
from nacre.protocol.http.headers import annotated

DIALECTS = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-04/schema",
)
# Where schemas sit inside a schema; anything else, such as `const`, is data.
_ONE = (
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_MANY = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_NAMED = (
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
)
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def check_schema(schema: Mapping[str, Any], *, tool: str, root: str | None = "object") -> None:
    """Raise InvalidSchemaError unless the schema is bounded and points only into itself.

    `root` is the type that the schema itself must have. Whether every keyword is well
    formed is found out when the schema is compiled.
    """
    reason = _form_problem(schema, root)
    if reason is None:
        text = json.dumps(schema)
        reason = _reference_problem(schema) if '"$' in text else None
        if reason is None and "x-mcp-header" in text:
            reason = _header_problem(schema)
    if reason is not None:
        raise InvalidSchemaError(reason, tool=tool)


def _form_problem(schema: Mapping[str, Any], root: str | None) -> str | None:
    if not isinstance(schema, dict):
        return "the schema must be a dict"
    try:
        size = len(json.dumps(schema, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        return f"the schema is not JSON: {error}"
    if size > MAX_SCHEMA_BYTES:
        return f"the schema is larger than {MAX_SCHEMA_BYTES} bytes"
    if _depth(schema) > MAX_JSON_DEPTH:
        return f"the schema nests deeper than {MAX_JSON_DEPTH} levels"
    if root is not None and schema.get("type") != root:
        return f'the schema must have "type": "{root}"'
    return None


def _reference_problem(schema: Mapping[str, Any]) -> str | None:
    dialect = schema.get("$schema", DIALECTS[0])
    if not isinstance(dialect, str) or dialect.rstrip("#") not in DIALECTS:
        return f'"$schema" {str(dialect)[:100]!r} is not known; use {DIALECTS[0]}'
    if (target := _foreign_reference(schema)) is not None:
        return f'"$ref" {target[:100]!r} points outside the schema and is never fetched'
    try:
        parts = _unfolded(schema)
    except RecursionError:
        return "the schema's references form too long a chain"
    if parts > MAX_SCHEMA_NODES:
        return f"the schema unfolds to more than {MAX_SCHEMA_NODES} parts"
    return None


def _parts(schema: Any) -> Iterator[Any]:
    if not isinstance(schema, dict):
        return
    for keyword in _ONE:
        if isinstance(part := schema.get(keyword), dict):
            yield part
    for keyword in _MANY:
        if isinstance(parts := schema.get(keyword), list):
            yield from parts
    for keyword in _NAMED:
        if isinstance(named := schema.get(keyword), dict):
            yield from named.values()


def _walk(schema: Any) -> Iterator[dict[str, Any]]:
    stack = [schema]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            yield part
            stack.extend(_parts(part))


def _depth(value: Any) -> int:
    deepest, stack = 0, [(value, 1)]
    while stack:
        part, depth = stack.pop()
        deepest = max(deepest, depth)
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        stack.extend((item, depth + 1) for item in inner)
    return deepest


def _foreign_reference(schema: Mapping[str, Any]) -> str | None:
    identifiers: set[str] | None = None
    for part in _walk(schema):
        for keyword in _REFERENCES:
            target = part.get(keyword)
            if not isinstance(target, str) or target.startswith("#"):
                continue
            if identifiers is None:
                identifiers = _identifiers(schema)
            if _resolved(str(schema.get("$id", "")), target) not in identifiers:
                return target
    return None


def _identifiers(schema: Mapping[str, Any]) -> set[str]:
    base = str(schema.get("$id", ""))
    identifiers = (part["$id"] for part in _walk(schema) if isinstance(part.get("$id"), str))
    return {_resolved(base, identifier) for identifier in identifiers}


def _resolved(base: str, reference: str) -> str:
    # Schemas of our own have none of these, and a cold start does not wait for it.
    from urllib.parse import urldefrag, urljoin  # noqa: PLC0415

    return urldefrag(urljoin(base, reference)).url


def _unfolded(schema: Mapping[str, Any]) -> int:
    """Count the schema's parts with every local reference followed once on each path."""
    sizes: dict[int, int] = {}
    open_: set[int] = set()

    def size(part: Any) -> int:
        if not isinstance(part, dict):
            return 1
        if (cached := sizes.get(id(part))) is not None:
            return cached
        if id(part) in open_:
            return 1  # a cycle goes down into the arguments, which are bounded
        open_.add(id(part))
        total = 1 + sum(size(inner) for inner in _parts(part))
        target = part.get("$ref")
        if isinstance(target, str) and target.startswith("#"):
            total += size(_pointed(schema, target))
        open_.discard(id(part))
        sizes[id(part)] = total
        return total

    return size(schema)


def _pointed(schema: Any, pointer: str) -> Any:
    for step in pointer.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, list):
            schema = schema[int(name)] if name.isdecimal() and int(name) < len(schema) else None
        else:
            schema = schema.get(name) if isinstance(schema, dict) else None
    return schema


def _header_problem(schema: Mapping[str, Any]) -> str | None:
    """Return the problem of the `x-mcp-header` annotations, for which clients drop a tool."""
    reachable = list(annotated(schema))
    if sum("x-mcp-header" in part for part in _walk(schema)) != len(reachable):
        return '"x-mcp-header" must be text, on a property reached through properties only'
    names: set[str] = set()
    for path, header in reachable:
        part: Any = schema
        for name in path:
            part = part["properties"][name]
        if not _HEADER.fullmatch(header):
            return f'"x-mcp-header" {header[:60]!r} is not a header name'
        if header.lower() in names:
            return f'"x-mcp-header" {header!r} is used twice'
        if part.get("type") not in ("string", "integer", "boolean"):
            return f'"x-mcp-header" {header!r} needs a string, integer or boolean'
        names.add(header.lower())
    return None
