"""The ids of requests and responses in messages."""

import asyncio
import json
import re
from typing import Any

from nacre.core.errors import NacreError
from nacre.core.limits import LARGE_RESULT_BYTES
from nacre.firewall.enforce import refusals
from nacre.firewall.enforce.json_edits import numbers
from nacre.firewall.enforce.message import Id, parse
from nacre.firewall.rules.arguments.arguments import JsonNumber

_ID = rb'"id"\s*:\s*(?:(-?\d{1,256})|"([^"\\]{0,256})")\s*'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"\s*'
_HEAD = re.compile(
    rb"\s*\{\s*(?:" + _VERSION + rb",\s*)?(?:" + _ID + rb",\s*)?(?:" + _VERSION + rb",\s*)?"
    rb'"(?:result|error)"\s*:'
)
_TAIL = re.compile(_ID + rb"(?:,\s*" + _VERSION + rb")?\}\s*$")

UNAVAILABLE = 503  # as of our own server: outside the ranges that JSON-RPC and MCP reserve


def members_of(raw: bytes) -> dict[str, Any]:
    """Return the members of a message; none for a batch or invalid JSON."""
    try:
        value = parse(raw)
    except NacreError:
        return {}
    return value if isinstance(value, dict) else {}


def message_id(raw: bytes) -> Id | None:
    """Return the id of a message, or None."""
    id_ = members_of(raw).get("id")
    return id_ if isinstance(id_, str) else None


def request_ids(raw: bytes) -> list[Id]:
    """Return the ids of the requests in a message or a batch."""
    return [id_ for message, id_ in _messages_with_ids(raw) if "method" in message]


def response_ids(raw: bytes) -> list[Id]:
    """Return the ids of the responses in a message or a batch."""
    return [id_ for message, id_ in _messages_with_ids(raw) if "method" not in message]


def _messages_with_ids(raw: bytes) -> list[tuple[dict[str, Any], Id]]:
    try:
        value = parse(raw)
    except NacreError:
        return []
    values = value if isinstance(value, list) else [value]
    messages = [message for message in values if isinstance(message, dict)]
    return [(message, message["id"]) for message in messages if isinstance(message.get("id"), str)]


async def find_response_ids(raw: bytes) -> list[Id]:
    """Return the ids of the responses, without parsing a large message in this thread."""
    if len(raw) < LARGE_RESULT_BYTES:
        return response_ids(raw)
    id_ = id_of_large_response(raw)
    return await asyncio.to_thread(response_ids, raw) if id_ is None else [id_]


def id_of_large_response(raw: bytes) -> Id | None:
    """Return the id of a large message whose first or last bytes show that it is a response."""
    head = _HEAD.match(raw)
    if head is None:
        return None
    match = head if head[1] is not None or head[2] is not None else _TAIL.search(raw[-1000:])
    if match is None:
        return None
    number, text = match[1], match[2]
    return text.decode("utf-8", "replace") if number is None else JsonNumber(number.decode())


def id_key(id_: Id) -> str:
    """Return a dictionary key for an id, in which 1 differs from "1"."""
    return f"#{id_}" if isinstance(id_, JsonNumber) else f"'{id_}"


def is_response(raw: bytes) -> bool:
    """Tell whether a message is a response."""
    members = members_of(raw)
    return bool(members) and "method" not in members


def is_initialize(raw: bytes) -> bool:
    """Tell whether a message is an `initialize` request, which opens a session."""
    return b"initialize" in raw and members_of(raw).get("method") == "initialize"


def cancellation(id_: Id) -> bytes:
    """Return the notification that cancels a request."""
    json_id = str(id_) if isinstance(id_, JsonNumber) else json.dumps(id_)
    head = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":'
    return f"{head}{json_id}}}}}".encode()


def with_id(raw: bytes, id_: Id | None) -> bytes:
    """Return an error response with the id of this request, if it has no matching id yet."""
    members = members_of(raw)
    error = members.get("error")
    if id_ is None or not isinstance(error, dict) or "method" in members:
        return raw
    error_id = members.get("id")
    if isinstance(error_id, JsonNumber) or error_id == id_:
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
