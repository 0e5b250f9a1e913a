"""The laptop server: `POST /policy/evaluate`, as the evaluator function answers it on AWS."""

import asyncio
from collections.abc import Callable

from nacre.access.challenge import www_authenticate
from nacre.errors import ForbiddenError, TooLargeError, UnauthorizedError, UnavailableError
from nacre.faces.asgi import AsgiApp, Receive, Scope, Send, read, write
from nacre.faces.evaluating import Evaluator
from nacre.faces.policy import PATH, REFUSED
from nacre.protocol.fences import Fences
from nacre.protocol.http_messages import Header, HttpReply, HttpRequest
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
        try:
            request = await read(scope, receive)
        except TooLargeError:
            await write(send, _reply(413, b'{"decision":"deny","error":"too large"}', _CLOSING))
            return
        except ConnectionError:
            return
        # The store may have to be read, which blocks.
        await write(send, await asyncio.to_thread(answer, request))

    def answer(request: HttpRequest) -> HttpReply:
        try:
            fences.check(request.headers)
            principal = holder(request.headers.get("authorization"))
        except UnauthorizedError as error:
            return _reply(401, REFUSED, ("www-authenticate", www_authenticate(error) or "Bearer"))
        except ForbiddenError:
            return _reply(403, b'{"decision":"deny","error":"forbidden"}')
        except UnavailableError:
            return _reply(503, b'{"decision":"deny","error":"unavailable"}')
        if request.method != "POST":
            return _reply(405, b'{"decision":"deny","error":"use POST"}', ("allow", "POST"))
        return _reply(*evaluator.answer(bytes(request.body), principal.being_id, principal.subject))

    return serve


_CLOSING = ("connection", "close")


def _reply(status: int, body: bytes, *headers: Header) -> HttpReply:
    return HttpReply(status, (_TYPE, ("cache-control", "no-store"), *headers), body)
