"""Headers that mirror a message over HTTP: checked on arrival, and written again on the way out."""

import base64
from collections.abc import Iterator, Mapping
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


def legacy_mirrors(raw: bytes, headers: Mapping[str, str]) -> dict[str, str] | None:
    """Return the headers of `checked_mirrors` for a request of an older version, unparsed.

    None for any other, and for one that must be parsed to tell.
    """
    declared = headers.get(VERSION_HEADER)
    if declared == MODERN or _META_VERSION in raw or b"\\" in raw:
        return None
    return {} if declared is None else {VERSION_HEADER: declared}


def checked_mirrors(
    raw: bytes, headers: Mapping[str, str], schemas: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """Return the headers to forward with a request; raises HeaderMismatchError.

    `headers` has names in lower case. The client's own values are never forwarded: servers
    must see the values that the policy decided on.
    """
    legacy = legacy_mirrors(raw, headers)
    if legacy is not None:
        return legacy
    declared = headers.get(VERSION_HEADER)
    body = strict_json.parse(raw)
    params = body.get("params")
    request = Request(body["id"], body["method"], params if isinstance(params, dict) else {})
    in_body = request.meta.get(META_VERSION)
    if in_body is not None and declared is not None and in_body != declared:
        raise HeaderMismatchError("Header mismatch: MCP-Protocol-Version does not match the body")
    version = in_body if isinstance(in_body, str) else declared
    if version != MODERN:
        return {} if version is None else {VERSION_HEADER: version}
    schema = _schema_of(request.method, request.params, schemas)
    check_mirrors(request, headers, schema)
    mirrors = _name_mirrors(request.method, request.params)
    for suffix, _ in _annotated_values(schema, request.params):
        # In the client's spelling, which was checked against the body.
        mirrors[PARAM_PREFIX + suffix] = headers[PARAM_PREFIX + suffix]
    return mirrors


def mirror_headers(
    raw: bytes, schemas: Mapping[str, Mapping[str, Any]], agreed: str | None
) -> dict[str, str]:
    """Return the headers to send with a message of a client that does not use HTTP.

    `agreed` is the version of the conversation, used if the message carries none.
    """
    value = strict_json.parse(raw)
    body = value if isinstance(value, dict) else {}
    params = body.get("params")
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    in_body = meta.get(META_VERSION) if isinstance(meta, dict) else None
    version = in_body if isinstance(in_body, str) else agreed
    if version is None or body.get("method") == "initialize":
        return {}
    if version != MODERN:
        return {VERSION_HEADER: version}
    method = str(body.get("method"))
    mirrors = _name_mirrors(method, params)
    for suffix, argument in _annotated_values(_schema_of(method, params, schemas), params):
        if isinstance(argument, bool | int | float | str):
            mirrors[PARAM_PREFIX + suffix] = encoded(_text(argument))
    return mirrors


def _schema_of(
    method: str, params: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    return schemas.get(str(params.get("name"))) if method == "tools/call" else None


def _name_mirrors(method: str, params: Mapping[str, Any]) -> dict[str, str]:
    mirrors = {VERSION_HEADER: MODERN, METHOD_HEADER: method}
    field = _NAME_OF.get(method)
    if field is not None:
        mirrors[NAME_HEADER] = encoded(str(params.get(field)))
    return mirrors


def _annotated_values(
    schema: Mapping[str, Any] | None, params: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield the header suffixes and values of arguments that the schema mirrors."""
    for path, suffix in annotated(schema or {}):
        value: Any = params.get("arguments") or {}
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            yield suffix.lower(), value


def encoded(value: str) -> str:
    """Return a header's value; in base64 where plain text would be changed on the way."""
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
            return format(Decimal(repr(value)), "f")  # plain digits without an exponent
