"""What a guard says itself: denials and refusals, as each method's caller understands them."""

import json
from typing import Any

from nacre.firewall.enforce.judge import Denied
from nacre.firewall.enforce.message import Id
from nacre.firewall.rules.arguments.arguments import JsonNumber

BLOCKED = -31001  # outside the ranges that JSON-RPC and MCP keep
_REJECTED_BY_USER = -1  # what the specification gives for a sampling request that was refused
META = "nacre/policy"
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def error(id_: Id | None, code: int, text: str, data: dict[str, Any] | None = None) -> bytes:
    """Return an error response; without an id it answers a message whose id is not known."""
    body: dict[str, Any] = {"code": code, "message": text}
    if data is not None:
        body["data"] = data
    return _message(id_, "error", body)


def result(id_: Id, value: dict[str, Any]) -> bytes:
    """Return a response with a result."""
    return _message(id_, "result", value)


def request(id_: Id, method: str, params: Any) -> bytes:
    """Return a request of the guard's own."""
    return _encode({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode()


def denial(method: str, id_: Id, denied: Denied, *, is_modern: bool) -> bytes:
    """Return what the sender of a denied request gets."""
    if method == "tools/call" and denied.style == "result":
        return result(id_, blocked_result(denied, is_modern=is_modern))
    if method == "elicitation/create":
        return result(id_, {"action": "decline"})
    if method == "sampling/createMessage":
        return error(id_, _REJECTED_BY_USER, "User rejected sampling request")
    return error(id_, BLOCKED, denied.text, _facts(denied))


def blocked_result(denied: Denied, *, is_modern: bool) -> dict[str, Any]:
    """Return the result of a tool that was not called, for a model to read."""
    said: dict[str, Any] = {
        "content": [{"type": "text", "text": denied.text}],
        "isError": True,
        "_meta": {META: _facts(denied)},
    }
    return {"resultType": "complete", **said} if is_modern else said


def spelled(id_: Id | None, raw: bytes) -> Id | None:
    """Return the id as the message spells it, so that it is echoed in the same bytes."""
    if id_ is None or isinstance(id_, JsonNumber):
        return id_
    for text in (_encode(id_), json.dumps(id_)):
        if text.encode() in raw:
            return _Spelled(text)
    return id_


class _Spelled(JsonNumber):
    """JSON text that goes out as it is."""

    __slots__ = ()


def _facts(denied: Denied) -> dict[str, Any]:
    known = {"decision": "deny", "rule": denied.rule, "audit": denied.audit or None}
    return {name: value for name, value in known.items() if value is not None}


def _message(id_: Id | None, name: str, body: dict[str, Any]) -> bytes:
    shown = str(id_) if isinstance(id_, JsonNumber) else _encode(id_)
    return f'{{"jsonrpc":"2.0","id":{shown},"{name}":{_encode(body)}}}'.encode()
