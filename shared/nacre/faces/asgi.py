"""ASGI and our own HTTP values, turned into each other."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

from nacre.errors import TooLargeError
from nacre.limits import MAX_BODY_BYTES, MAX_DISCARDED_BYTES
from nacre.protocol.http_messages import HttpReply, HttpRequest

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]


def _short(_head: HttpRequest) -> int:
    return MAX_BODY_BYTES


async def read(
    scope: Scope, receive: Receive, most: Callable[[HttpRequest], int] = _short
) -> HttpRequest:
    """Return the request; raises TooLargeError for a body that is too long.

    `most` says how long one may be that is longer than MAX_BODY_BYTES. What is too long is
    thrown away as it comes, because a client that is still sending when the connection closes
    often sees a broken pipe instead of the answer.
    """
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    request = HttpRequest(
        method=scope["method"],
        path=scope["path"],
        query=_query(scope["query_string"]),
        headers=headers,
    )
    # One buffer that grows: pieces and the whole of a large body would be in memory together.
    body, size, limit = bytearray(), 0, MAX_BODY_BYTES
    while True:
        part = await receive()
        if part["type"] == "http.disconnect":
            raise ConnectionError
        piece = part.get("body", b"")
        size += len(piece)
        if size > MAX_BODY_BYTES >= size - len(piece):  # it has just become long
            limit = most(request)
        if size <= limit:
            body += piece
        else:
            body.clear()
        if size > limit + MAX_DISCARDED_BYTES or not part.get("more_body"):
            break
    if size > limit:
        raise TooLargeError("the request body", limit=limit)
    request.body = body if size > MAX_BODY_BYTES else bytes(body)
    return request


def _query(raw: bytes) -> Mapping[str, str]:
    query: dict[str, str] = {}
    for name, value in parse_qsl(raw.decode("latin-1")):
        # As API Gateway has it: a parameter that is sent twice holds both values.
        query[name] = f"{query[name]},{value}" if name in query else value
    return query


def head(status: int, headers: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """Return the message that starts an answer."""
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    return {"type": "http.response.start", "status": status, "headers": pairs}


def chunk(body: bytes, *, more: bool) -> dict[str, Any]:
    """Return the message that carries a part of an answer, or its end."""
    return {"type": "http.response.body", "body": body, "more_body": more}


async def write(send: Send, done: HttpReply) -> None:
    """Send a whole answer."""
    length = ("content-length", str(len(done.body)))
    await send(head(done.status, (*done.headers, length)))
    await send(chunk(done.body, more=False))
