"""The laptop server: `POST /policy/evaluate`, as the evaluator function answers it on AWS."""

import asyncio
from collections.abc import Callable

from nacre.core.errors import ForbiddenError, UnauthorizedError, UnavailableError
from nacre.core.limits import MAX_BODY_BYTES
from nacre.faces.evaluator.evaluation import Evaluator
from nacre.faces.evaluator.evaluator_function import PATH, REFUSED
from nacre.protocol.http.allowed_origins import Fences
from nacre.protocol.http.asgi import (
    AsgiApp,
    BodyTooLargeError,
    Receive,
    Scope,
    Send,
    head_of,
    mark_admitted,
    read_body,
    refuse,
    write,
)
from nacre.protocol.http.challenge import www_authenticate
from nacre.protocol.http.http_messages import Header, HttpReply, HttpRequest
from nacre.protocol.principal import Principal

_TYPE = ("content-type", "application/json")

Holder = Callable[[str | None], Principal]
"""From the Authorization header to whose token it is; raises UnauthorizedError."""


def policy_endpoint(
    evaluator: Evaluator, *, holder: Holder, fences: Fences, elsewhere: AsgiApp
) -> AsgiApp:
    """Return the endpoint; other paths are answered by `elsewhere`."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH:
            await elsewhere(scope, receive, send)
            return
        request = head_of(scope)
        # The store may have to be read, which blocks.
        caller = await asyncio.to_thread(_meet, request, holder, fences)
        if isinstance(caller, HttpReply):
            await refuse(request, receive, send, caller)
            return
        mark_admitted(scope)
        try:
            await read_body(request, receive, MAX_BODY_BYTES)
        except BodyTooLargeError as error:
            too_large = _reply(413, b'{"decision":"deny","error":"too large"}')
            await refuse(request, receive, send, too_large, more=error.more)
            return
        except ConnectionError:
            return
        await write(send, await asyncio.to_thread(answer, request, caller))

    def answer(request: HttpRequest, caller: Principal) -> HttpReply:
        body = bytes(request.body)
        return _reply(*evaluator.answer(body, caller.being_id, caller.subject, caller.profile))

    return serve


def _meet(head: HttpRequest, holder: Holder, fences: Fences) -> HttpReply | Principal:
    """Return whose request it is, or its refusal."""
    try:
        fences.check(head.headers)
        principal = holder(head.headers.get("authorization"))
    except UnauthorizedError as error:
        return _reply(401, REFUSED, ("www-authenticate", www_authenticate(error) or "Bearer"))
    except ForbiddenError:
        return _reply(403, b'{"decision":"deny","error":"forbidden"}')
    except UnavailableError:
        return _reply(503, b'{"decision":"deny","error":"unavailable"}')
    if head.method != "POST":
        return _reply(405, b'{"decision":"deny","error":"use POST"}', ("allow", "POST"))
    return principal


def _reply(status: int, body: bytes, *headers: Header) -> HttpReply:
    return HttpReply(status, (_TYPE, ("cache-control", "no-store"), *headers), body)
