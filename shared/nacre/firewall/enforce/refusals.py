"""Answers of the guard itself: denials and refusals in the form that each method expects."""

import json
from typing import Any

from nacre.core.errors import BlockedError
from nacre.firewall.enforce.judge import Denied
from nacre.firewall.enforce.message import Id, Wire
from nacre.firewall.rules.arguments.arguments import JsonNumber

BLOCKED = -31001  # outside the ranges that JSON-RPC and MCP reserve
_REJECTED_BY_USER = -1  # the specification's code for a refused sampling request
META = "nacre/policy"
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def error(id_: Id | None, code: int, text: str, data: dict[str, Any] | None = None) -> bytes:
    """Return an error response; `id_` is None if the id of the message is unknown."""
    body: dict[str, Any] = {"code": code, "message": text}
    if data is not None:
        body["data"] = data
    return _message(id_, "error", body)


def result(id_: Id, value: dict[str, Any]) -> bytes:
    """Return a response with a result."""
    return _message(id_, "result", value)


def request(id_: Id, method: str, params: Any) -> bytes:
    """Return a request that the guard sends itself."""
    return _encode({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode()


UNAUDITED = Denied("Blocked by policy (the audit cannot be written)")
"""The denial of a message that cannot be recorded."""


def denial(method: str, id_: Id, denied: Denied, *, is_modern: bool) -> bytes:
    """Return the answer to a denied request."""
    if method == "tools/call" and denied.style == "result":
        return result(id_, blocked_result(denied, is_modern=is_modern))
    if method == "elicitation/create":
        return result(id_, {"action": "decline"})
    if method == "sampling/createMessage":
        return error(id_, _REJECTED_BY_USER, "User rejected sampling request")
    return error(id_, BLOCKED, denied.text, _facts(denied))


def answer_denied(wire: Wire, denied: Denied, *, is_modern: bool | None = None) -> bytes:
    """Return the answer to a denied request, with its id as the request spells it."""
    id_ = spelled(wire.id, wire.raw)
    assert id_ is not None
    modern = wire.is_modern if is_modern is None else is_modern
    return denial(str(wire.method), id_, denied, is_modern=modern)


def blocked_result(denied: Denied, *, is_modern: bool) -> dict[str, Any]:
    """Return the result of a tool that was not called, for a model to read."""
    value: dict[str, Any] = {
        "content": [{"type": "text", "text": denied.text}],
        "isError": True,
        "_meta": {META: _facts(denied)},
    }
    return {"resultType": "complete", **value} if is_modern else value


def blocked_error(denied: Denied) -> BlockedError:
    """Return the error for a denial that no result can carry."""
    return BlockedError(denied.text, rule=denied.rule, audit=denied.audit)


def spelled(id_: Id | None, raw: bytes) -> Id | None:
    """Return the id as the message spells it, so that it is echoed in the same bytes."""
    if id_ is None or isinstance(id_, JsonNumber):
        return id_
    for text in (_encode(id_), json.dumps(id_)):
        if text.encode() in raw:
            return _Spelled(text)
    return id_


class _Spelled(JsonNumber):
    """JSON text that is sent unchanged."""

    __slots__ = ()


def _facts(denied: Denied) -> dict[str, Any]:
    facts = {"decision": "deny", "rule": denied.rule, "audit": denied.audit or None}
    return {name: value for name, value in facts.items() if value is not None}


def _message(id_: Id | None, name: str, body: dict[str, Any]) -> bytes:
    id_text = str(id_) if isinstance(id_, JsonNumber) else _encode(id_)
    return f'{{"jsonrpc":"2.0","id":{id_text},"{name}":{_encode(body)}}}'.encode()
