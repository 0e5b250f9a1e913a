"""The headers that mirror a message over HTTP: checked as they come in, made anew going out."""

import base64
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from nacre.core.errors import HeaderMismatchError
from nacre.protocol import strict_json
from nacre.protocol.http.headers import (
    METHOD_HEADER,
    NAME_HEADER,
    PARAM_PREFIX,
    VERSION_HEADER,
    annotated,
    check_mirrors,
)
from nacre.protocol.messages import Request
from nacre.protocol.versions import META_VERSION, MODERN

_META_VERSION = META_VERSION.encode()
_NAME_OF = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def mirrored(
    raw: bytes, headers: Mapping[str, str], schemas: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """Return the headers to send on with a request; raises HeaderMismatchError.

    `headers` has names in lower case. What the client sent under these names is never
    sent on: whoever acts on a header must act on what was decided.
    """
    declared = headers.get(VERSION_HEADER)
    if declared != MODERN and _META_VERSION not in raw and b"\\" not in raw:
        return {} if declared is None else {VERSION_HEADER: declared}  # as below, unread
    body = strict_json.parse(raw)
    params = body.get("params")
    request = Request(body["id"], body["method"], params if isinstance(params, dict) else {})
    said = request.meta.get(META_VERSION)
    if said is not None and declared is not None and said != declared:
        raise HeaderMismatchError("Header mismatch: MCP-Protocol-Version does not match the body")
    version = said if isinstance(said, str) else declared
    if version != MODERN:
        return {} if version is None else {VERSION_HEADER: version}
    schema = (
        schemas.get(str(request.params.get("name"))) if request.method == "tools/call" else None
    )
    check_mirrors(request, headers, schema)
    sent = {VERSION_HEADER: version, METHOD_HEADER: request.method}
    field = _NAME_OF.get(request.method)
    if field is not None:
        sent[NAME_HEADER] = encoded(str(request.params.get(field)))
    for path, suffix in annotated(schema or {}):
        value: Any = request.params.get("arguments") or {}
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            # As the client spelt it, which was found to say what the body says.
            sent[PARAM_PREFIX + suffix.lower()] = headers[PARAM_PREFIX + suffix.lower()]
    return sent


def made(
    raw: bytes, schemas: Mapping[str, Mapping[str, Any]], agreed: str | None
) -> dict[str, str]:
    """Return the headers to send with a message of a client that speaks no HTTP.

    `agreed` is the version of the conversation, where a message carries none itself.
    """
    body = strict_json.parse(raw)
    params = body.get("params") if isinstance(body, dict) else None
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    said = meta.get(META_VERSION) if isinstance(meta, dict) else None
    version = said if isinstance(said, str) else agreed
    if version is None or (isinstance(body, dict) and body.get("method") == "initialize"):
        return {}
    if version != MODERN:
        return {VERSION_HEADER: version}
    method = str(body.get("method"))
    sent = {VERSION_HEADER: version, METHOD_HEADER: method}
    field = _NAME_OF.get(method)
    if field is not None:
        sent[NAME_HEADER] = encoded(str(params.get(field)))
    schema = schemas.get(str(params.get("name"))) if method == "tools/call" else None
    for path, suffix in annotated(schema or {}):
        value: Any = params.get("arguments") or {}
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, bool | int | float | str):
            sent[PARAM_PREFIX + suffix.lower()] = encoded(_text(value))
    return sent


def is_mirror(name: str) -> bool:
    """Tell whether a header, in lower case, is one that only we may send on."""
    return name.startswith("mcp-") and name != "mcp-session-id"


def encoded(value: str) -> str:
    """Return a header's value, in its base64 form where plain text would not arrive as it is."""
    is_plain = value.isascii() and value.isprintable() and value == value.strip()
    if is_plain and value and not value.startswith("=?"):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def _text(value: str | float) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case _:
            return format(Decimal(repr(value)), "f")  # readers expect digits, and no exponent
