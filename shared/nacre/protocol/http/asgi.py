"""Conversion between ASGI messages and our HTTP requests and replies."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl

from nacre.core.errors import TooLargeError
from nacre.core.limits import DISCARD_SECONDS, MAX_BODY_BYTES, MAX_DISCARDED_BYTES, MAX_FORM_BYTES
from nacre.protocol.http.http_messages import HttpReply, HttpRequest

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
ADMITTED = "nacre.admitted"  # in the state of a request whose sender is known


class BodyTooLargeError(TooLargeError):
    """A body is too long; `more` says whether some of it is still to come."""

    def __init__(self, *, limit: int, more: bool) -> None:
        super().__init__("the request body", limit=limit)
        self.more = more


def head_of(scope: Scope) -> HttpRequest:
    """Return a request as its head says it, without the body."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return HttpRequest(
        method=scope["method"],
        path=scope["path"],
        query=_query(scope["query_string"]),
        headers=headers,
    )


def mark_admitted(scope: Scope) -> None:
    """Mark the sender of a request as known, so that a crowded server keeps the connection."""
    scope.setdefault("state", {})[ADMITTED] = True


def announced(request: HttpRequest) -> int:
    """Return the length of the body that the head announces; 0 if it announces none."""
    length = request.headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() and len(length) < 16 else 0


async def read_body(request: HttpRequest, receive: Receive, limit: int) -> None:
    """Read the body into the request; raises BodyTooLargeError once it is known to be too long.

    Raises ConnectionError when the client leaves before the body is complete.
    """
    if announced(request) > limit:
        raise BodyTooLargeError(limit=limit, more=True)
    # One buffer that grows: pieces and the whole of a large body would be in memory together.
    body = bytearray()
    while True:
        part = await receive()
        if part["type"] == "http.disconnect":
            raise ConnectionError
        body += part.get("body", b"")
        if len(body) > limit:
            raise BodyTooLargeError(limit=limit, more=bool(part.get("more_body")))
        if not part.get("more_body"):
            break
    request.body = body if len(body) > MAX_BODY_BYTES else bytes(body)


async def refuse(
    request: HttpRequest, receive: Receive, send: Send, reply: HttpReply, *, more: bool = True
) -> None:
    """Send an answer before the body was read, then throw away what still arrives of it.

    A client that is still sending when the connection closes often sees a broken pipe instead
    of the answer.
    """
    is_short = announced(request) <= MAX_FORM_BYTES and "transfer-encoding" not in request.headers
    closing = () if is_short else (("connection", "close"),)
    length = ("content-length", str(len(reply.body)))
    await send(head(reply.status, (*reply.headers, *closing, length)))
    await send(chunk(reply.body, more=True))
    if more:
        with suppress(TimeoutError):
            await asyncio.wait_for(_discard(receive), DISCARD_SECONDS)
    await send(chunk(b"", more=False))


async def _discard(receive: Receive) -> None:
    size = 0
    while size <= MAX_DISCARDED_BYTES:
        part = await receive()
        size += len(part.get("body", b""))
        if part["type"] == "http.disconnect" or not part.get("more_body"):
            return


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


async def write(send: Send, reply: HttpReply) -> None:
    """Send a complete reply."""
    length = ("content-length", str(len(reply.body)))
    await send(head(reply.status, (*reply.headers, length)))
    await send(chunk(reply.body, more=False))
