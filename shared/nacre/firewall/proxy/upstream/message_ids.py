"""What a proxy reads of a message besides what its guard decides: whose it is."""

import asyncio
import json
import re
from typing import Any

from nacre.core.errors import NacreError
from nacre.core.limits import LARGE_RESULT_BYTES
from nacre.firewall.enforce import refusals
from nacre.firewall.enforce.message import Id, parse
from nacre.firewall.enforce.rewrite import numbers
from nacre.firewall.rules.arguments.arguments import JsonNumber

_ID = rb'"id"\s*:\s*(?:(-?\d{1,256})|"([^"\\]{0,256})")\s*'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"\s*'
_HEAD = re.compile(
    rb"\s*\{\s*(?:" + _VERSION + rb",\s*)?(?:" + _ID + rb",\s*)?(?:" + _VERSION + rb",\s*)?"
    rb'"(?:result|error)"\s*:'
)
_TAIL = re.compile(_ID + rb"(?:,\s*" + _VERSION + rb")?\}\s*$")

UNAVAILABLE = 503  # as for our own server: outside the ranges that JSON-RPC and MCP keep


def read(raw: bytes) -> dict[str, Any]:
    """Return a message's members; none for what is no single message."""
    try:
        value = parse(raw)
    except NacreError:
        return {}
    return value if isinstance(value, dict) else {}


def id_of(raw: bytes) -> Id | None:
    """Return the id that a message has."""
    id_ = read(raw).get("id")
    return id_ if isinstance(id_, str) else None


def waiting_ids(raw: bytes) -> list[Id]:
    """Return the ids of the requests in a message or a batch of them."""
    return [id_ for part, id_ in _identified(raw) if "method" in part]


def answered_ids(raw: bytes) -> list[Id]:
    """Return the ids of the answers in a message or a batch of them."""
    return [id_ for part, id_ in _identified(raw) if "method" not in part]


def _identified(raw: bytes) -> list[tuple[dict[str, Any], Id]]:
    try:
        value = parse(raw)
    except NacreError:
        return []
    each = value if isinstance(value, list) else [value]
    parts = [part for part in each if isinstance(part, dict)]
    return [(part, part["id"]) for part in parts if isinstance(part.get("id"), str)]


async def answered_by(raw: bytes) -> list[Id]:
    """Return the ids of the answers in a message or a batch, without reading a large one here."""
    if len(raw) < LARGE_RESULT_BYTES:
        return answered_ids(raw)
    id_ = _answer_at_an_end(raw)
    return await asyncio.to_thread(answered_ids, raw) if id_ is None else [id_]


def _answer_at_an_end(raw: bytes) -> Id | None:
    """Return the id of an answer that shows at its beginning and end that it is one."""
    head = _HEAD.match(raw)
    if head is None:
        return None
    found = head if head[1] is not None or head[2] is not None else _TAIL.search(raw[-1000:])
    if found is None:
        return None
    number, text = found[1], found[2]
    return text.decode("utf-8", "replace") if number is None else JsonNumber(number.decode())


def name_of(id_: Id) -> str:
    """Return a text for an id; 1 is not "1"."""
    return f"#{id_}" if isinstance(id_, JsonNumber) else f"'{id_}"


def is_response(raw: bytes) -> bool:
    """Tell whether a message answers one of the other side."""
    members = read(raw)
    return bool(members) and "method" not in members


def opens(raw: bytes) -> bool:
    """Tell whether a message opens a conversation of the older generation."""
    return b"initialize" in raw and read(raw).get("method") == "initialize"


def cancellation(id_: Id) -> bytes:
    """Return what a client says that gives a request up."""
    spelled = str(id_) if isinstance(id_, JsonNumber) else json.dumps(id_)
    said = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":'
    return f"{said}{spelled}}}}}".encode()


def addressed(raw: bytes, id_: Id | None) -> bytes:
    """Return an error that names no request as the answer to the one it came for."""
    members = read(raw)
    error = members.get("error")
    if id_ is None or not isinstance(error, dict) or "method" in members:
        return raw
    known = members.get("id")
    if isinstance(known, JsonNumber) or known == id_:
        return raw
    try:
        plain = numbers(error)
    except NacreError:
        return raw
    code, text, data = plain.get("code"), plain.get("message"), plain.get("data")
    return refusals.error(
        id_,
        code if type(code) is int else UNAVAILABLE,
        text if isinstance(text, str) else "",
        data if isinstance(data, dict) else None,
    )
