"""The HTTP headers that mirror a modern request's body, and the check that they agree.

A proxy between client and server may act on the headers while the server acts on the body, so a
request in which the two differ is refused.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any

from nacre.core.errors import HeaderMismatchError
from nacre.protocol.messages import Request

VERSION_HEADER = "mcp-protocol-version"
METHOD_HEADER = "mcp-method"
NAME_HEADER = "mcp-name"
PARAM_PREFIX = "mcp-param-"

_TASKS = ("tasks/get", "tasks/update", "tasks/cancel")
_NAME_OF = {
    **{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"},
    **dict.fromkeys(_TASKS, "taskId"),
}
_DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_MISSING = object()


def check_mirrors(
    request: Request, headers: Mapping[str, str], schema: Mapping[str, Any] | None
) -> None:
    """Raise HeaderMismatchError unless the headers say what the body says.

    `schema` is the called tool's input schema, whose `x-mcp-header` annotations
    name parameters that travel as headers too.
    """
    _compare("Mcp-Method", headers.get(METHOD_HEADER), request.method)
    field = _NAME_OF.get(request.method)
    if field is not None:
        sent = headers.get(NAME_HEADER)
        decoded = None if sent is None else _decoded("Mcp-Name", sent)
        # The extension requires it for tasks too, but FastMCP 4.1.2, a client that supports tasks,
        # does not send it. A header that is missing cannot contradict the body.
        if sent is not None or request.method not in _TASKS:
            _compare("Mcp-Name", decoded, request.params.get(field))
    if schema is not None:
        arguments = request.params.get("arguments")
        _check_parameters(schema, arguments if isinstance(arguments, dict) else {}, headers)


def annotated(schema: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path and the header name of each annotated property."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return
    for name, property_schema in properties.items():
        if not isinstance(property_schema, dict):
            continue
        header = property_schema.get("x-mcp-header")
        if isinstance(header, str):
            yield (name,), header
        for path, nested in annotated(property_schema):
            yield (name, *path), nested


def _check_parameters(
    schema: Mapping[str, Any], arguments: dict[str, Any], headers: Mapping[str, str]
) -> None:
    for path, suffix in annotated(schema):
        name = f"Mcp-Param-{suffix}"
        sent = headers.get(PARAM_PREFIX + suffix.lower())
        value = _at(arguments, path)
        if value is _MISSING or value is None:
            if sent is not None:
                raise HeaderMismatchError(
                    f"Header mismatch: {name} is sent, but the body has no '{'.'.join(path)}'"
                )
            continue
        if sent is None:
            raise HeaderMismatchError(f"Header mismatch: {name} is missing")
        if not _says(_decoded(name, sent), value):
            raise HeaderMismatchError(
                f"Header mismatch: {name} does not match '{'.'.join(path)}' in the body"
            )


def _compare(name: str, sent: str | None, value: object) -> None:
    if sent is None:
        raise HeaderMismatchError(f"Header mismatch: {name} is missing")
    if sent != value:
        raise HeaderMismatchError(f"Header mismatch: {name} does not match the body")


def _decoded(name: str, value: str) -> str:
    """Return the header's value with the base64 form undone."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        plain = value.isprintable() or value.replace("\t", " ").isprintable()
        if not (plain and value.isascii()):
            raise HeaderMismatchError(f"Header mismatch: {name} holds characters that need base64")
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        raise HeaderMismatchError(f"Header mismatch: {name} is not valid base64") from None


def _says(sent: str, value: object) -> bool:
    match value:
        case bool():
            return sent == ("true" if value else "false")
        case str():
            return sent == value
        case int() | float():
            return _DECIMAL.fullmatch(sent) is not None and _spells(sent, value)
        case _:
            return False


def _spells(sent: str, number: float) -> bool:
    integer, _, fraction = sent.partition(".")
    if isinstance(number, float) or fraction.strip("0"):
        return float(sent) == number
    try:
        return int(integer) == number  # as doubles, large neighbouring numbers would be equal
    except ValueError:  # more digits than a JSON number may have here
        return False


def _at(arguments: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(arguments, dict) or name not in arguments:
            return _MISSING
        arguments = arguments[name]
    return arguments
