"""The portal's OpenAPI document, which it does not publish, with what its routes read by hand.

FastAPI knows the paths; forms and queries are read by the routes themselves, so that the names
of their fields are taken from the modules of the routes.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

Schema = dict[str, Any]

_FIELD = re.compile(r'(?:\.get\(|\btext\(|\bform\[|\.fields\[|_field\(form, )"(\w+)"')
_AUTHORIZE = (
    *("client_id", "redirect_uri", "response_type", "response_mode", "state", "scope", "resource"),
    *("code_challenge", "code_challenge_method", "prompt", "request", "request_uri"),
)
_HTML, _JSON = "text/html", "application/json"
_EMPTY = {"/revoke": "200", "/static/{name}": "404"}  # the first as RFC 7009 has it
_ODD = {
    "/static/{name}": ("text/css", "text/javascript", "image/svg+xml", _HTML),
    "/beings/{being_id}/export/file": ("application/gzip", _HTML),
}


def document(app: FastAPI, known: Mapping[str, list[str]]) -> Schema:
    """Return the document; `known` gives parameters of paths values that are there."""
    made = get_openapi(title="Nacre", version="0", routes=app.routes)
    for route in _routes(app):
        for method in route.methods or ():
            made["paths"][route.path][method.lower()] = _operation(route, method, known)
    return made


def _routes(app: FastAPI) -> Iterator[APIRoute]:
    for each in app.routes:
        included = getattr(each, "original_router", None)
        for route in [each] if included is None else included.routes:
            if isinstance(route, APIRoute):
                yield route


def _operation(route: APIRoute, method: str, known: Mapping[str, list[str]]) -> Schema:
    names = _names(route)
    path = re.findall(r"\{(\w+)", route.path)
    operation: Schema = {
        "operationId": f"{method.lower()} {route.path}",
        "parameters": [_parameter(name, "path", known) for name in path],
        "responses": {
            "default": {"description": "", "content": {kind: {} for kind in _kinds(route)}},
            "303": {"description": ""},
        },
    }
    if route.path in _EMPTY:
        operation["responses"][_EMPTY[route.path]] = {"description": ""}
    if method == "POST":
        operation["requestBody"] = {"required": True, "content": _body(route, names, known)}
    else:
        operation["parameters"] += [_parameter(name, "query", known) for name in names]
    return operation


def _names(route: APIRoute) -> list[str]:
    source = inspect.getsource(inspect.getmodule(route.endpoint) or route.endpoint)
    more = _AUTHORIZE if route.path == "/authorize" else ()
    return sorted({*_FIELD.findall(source), *more} - {"csrf"})


def _parameter(name: str, place: str, known: Mapping[str, list[str]]) -> Schema:
    schema = _text(known.get(name, []))
    return {"name": name, "in": place, "required": place == "path", "schema": schema}


def _kinds(route: APIRoute) -> tuple[str, ...]:
    is_protocol = route.path in ("/token", "/register", "/revoke", "/healthz")
    if is_protocol or route.path.startswith("/.well-known"):
        return (_JSON,)
    return (*_ODD.get(route.path, (_HTML,)), _JSON)


def _body(route: APIRoute, names: list[str], known: Mapping[str, list[str]]) -> Schema:
    if route.path == "/register":
        uris = {"type": "array", "items": {"type": "string", "format": "uri"}}
        properties: Schema = {"redirect_uris": uris, "client_name": {"type": "string"}}
        return {_JSON: {"schema": {"type": "object", "properties": properties}}}
    fields = {name: _text(known.get(name, [])) for name in names}
    form = {"schema": {"type": "object", "properties": fields}}
    return {"application/x-www-form-urlencoded": form}


def _text(values: list[str]) -> Schema:
    anything: Schema = {"type": "string", "maxLength": 400}
    return {"anyOf": [{"type": "string", "enum": values}, anything]} if values else anything
