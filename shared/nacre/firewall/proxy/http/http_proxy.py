"""A reverse proxy before a remote server: everything that passes has been decided.

It speaks both generations of streamable HTTP and the older transport with two addresses,
each as the server does, and lets messages through one by one as they come.
"""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from time import monotonic

from nacre.core.errors import NacreError, NotFoundError, TooLargeError
from nacre.core.limits import CHANGED_LIST_SECONDS
from nacre.firewall.enforce.guard import Guard
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Hold
from nacre.firewall.proxy.http.conversations import OWN, Talk, Talks
from nacre.firewall.proxy.http.forwarded_headers import (
    SESSION,
    STREAMED,
    downwards,
    upwards,
    version_of,
)
from nacre.firewall.proxy.http.http_server import Reply
from nacre.firewall.proxy.http.response_relay import NAMED, Exchange, Relay
from nacre.firewall.proxy.http.responses import Answers
from nacre.firewall.proxy.upstream.connection import UpstreamError
from nacre.firewall.proxy.upstream.event_stream import BEAT, Event
from nacre.firewall.proxy.upstream.message_ids import cancellation, id_of, is_response
from nacre.firewall.proxy.upstream.upstream_client import Upstream
from nacre.protocol.http.allowed_origins import Fences
from nacre.protocol.http.error_map import explain
from nacre.protocol.http.http_messages import JSON, STREAM, HttpRequest
from nacre.protocol.replies import refusal

_BEAT_SECONDS = 15.0  # proxies and clients give up a silent connection after thirty or more
_POLL_SECONDS = 1.0
_LOOK_SECONDS = 0.02
_ALLOWED = {"allow": "POST, GET, DELETE"}


class ReverseProxy:
    """Answers the requests of clients. `say` hears what its owner should know."""

    def __init__(
        self,
        upstream: Upstream,
        new_guard: Callable[[str], Guard],
        *,
        fences: Fences,
        say: Callable[[str], None],
        with_credentials: bool = False,
    ) -> None:
        self._upstream = upstream
        self._path = upstream.address.path
        self._talks = Talks(new_guard)
        self._fences = fences
        self._say = say
        self._with_credentials = with_credentials
        self._relay = Relay(upstream, self._talks, say)
        self._answers = Answers(
            upstream, self._talks, self._relay, say, with_credentials=with_credentials
        )

    async def watch(self) -> None:
        """Look after what is held, until cancelled."""
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            for talk in self._talks.held():
                try:
                    for release in talk.guard.poll():
                        await self._relay.release(talk, release)
                except ConnectionError:
                    continue  # that client has gone
                except NacreError as error:
                    self._say(str(error))

    def close(self) -> None:
        """Let go of the server."""
        self._relay.close()
        self._upstream.close()

    async def handle(self, request: HttpRequest, reply: Reply) -> None:
        """Answer one request."""
        shared = self._cors(request)
        try:
            self._fences.check(request.headers)
            if request.path != self._path:
                raise NotFoundError(f"not found; this proxy serves {self._path}")
            match request.method:
                case "POST" if not _is_json(request):
                    # A page of another site may send all else without asking the browser first.
                    told = {**shared, "accept": JSON, "content-type": "text/plain; charset=utf-8"}
                    await reply.whole(415, told, b"send messages as application/json")
                case "POST":
                    await self._post(request, reply, shared)
                case "GET":
                    await self._get(request, reply, shared)
                case "DELETE":
                    await self._delete(request, reply, shared)
                case "OPTIONS":
                    await reply.whole(204, {**shared, **_ALLOWED})
                case _:
                    await reply.whole(405, {**shared, **_ALLOWED})
        except NacreError as error:
            await self._refuse(error, reply, shared)

    async def _refuse(self, error: NacreError, reply: Reply, shared: dict[str, str]) -> None:
        if isinstance(error, UpstreamError):
            self._say(str(error))
        if reply.has_begun:
            reply.break_off()
            return
        failure = explain(error, modern=True)
        status = 404 if isinstance(error, NotFoundError) else failure.status
        await reply.whole(
            status, {**shared, "content-type": JSON}, refusal(None, failure, error).body
        )

    # What clients ask for.

    async def _post(self, request: HttpRequest, reply: Reply, shared: dict[str, str]) -> None:
        caller = self._caller(request)
        talk = self._talk(request, caller)
        body = bytes(request.body)
        until = monotonic() + CHANGED_LIST_SECONDS
        while talk.guard.delays(body) and monotonic() < until:
            if (first := talk.guard.first(body)) is not None:
                talk.headers = self._headers(request)
                self._relay.ask(talk, first)
            await asyncio.sleep(_LOOK_SECONDS)
        verdict = talk.guard.from_client(body, request.headers)
        exchange = Exchange(talk, caller, self._path, reply, shared)
        match verdict:
            case Forward(raw, _, mirrors):
                if raw is not body and _settles(talk, body, "server", raw):
                    await reply.whole(202, shared)
                else:
                    exchange.raw = raw
                    named = mirrors if mirrors is not None else _named(talk, request, raw)
                    await self._forward(exchange, request, named)
            case Answer(raw, status):
                if _settles(talk, body, "client", raw):
                    await reply.whole(202, shared)
                else:
                    await self._relay.answer(exchange, status, raw)
            case Hold(ask):
                exchange.raw = body
                await self._hold(exchange, request, ask)
            case Drop():
                await reply.whole(202, shared)

    async def _hold(self, exchange: Exchange, request: HttpRequest, ask: bytes | None) -> None:
        """Keep the client's request until somebody has decided about it."""
        talk, reply = exchange.talk, exchange.reply
        id_ = id_of(exchange.raw)
        assert id_ is not None
        self._talks.watch(talk)
        if talk.address is not None:
            if ask is not None and talk.stream is not None:
                await talk.stream.send(Event(b"message").encode(ask))
            talk.headers = self._headers(request)
            talk.parked.append(id_)
            await reply.whole(202, exchange.headers)
            return
        waiting = talk.hold(id_)
        try:
            await reply.begin(200, {**exchange.headers, **STREAMED})
            if ask is not None:
                await reply.send(Event(b"message").encode(ask))
            while not waiting.done():
                await asyncio.wait((waiting,), timeout=_BEAT_SECONDS)
                if not waiting.done():
                    await reply.send(BEAT)
        except BaseException:
            # Nobody is there any more to be told what came of it, so it must not be made.
            talk.guard.from_client(cancellation(id_))
            raise
        to, raw = waiting.result()
        if to == "client":
            await self._relay.answer(exchange, 200, raw)
            return
        exchange.raw = raw
        await self._forward(exchange, request, talk.guard.mirrors(raw))

    async def _forward(
        self, exchange: Exchange, request: HttpRequest, mirrors: Mapping[str, str]
    ) -> None:
        talk = exchange.talk
        headers = self._headers(request)
        talk.headers = headers
        try:
            answer = await self._upstream.send(
                "POST", {**headers, **mirrors}, exchange.raw, address=talk.address
            )
            try:
                await self._answers.pass_on(exchange, answer)
            finally:
                answer.close()
        except asyncio.CancelledError:
            if not exchange.resumable:
                self._relay.lost(exchange, "the client went away")
            raise
        except (UpstreamError, TooLargeError) as error:
            self._say(str(error))
            await self._relay.fail(exchange, str(error))

    async def _get(self, request: HttpRequest, reply: Reply, shared: dict[str, str]) -> None:
        caller = self._caller(request)
        talk = self._talk(request, caller)
        headers = {**self._headers(request), **version_of(request.headers)}
        talk.headers = {name: headers[name] for name in headers if name != "last-event-id"}
        answer = await self._upstream.send("GET", headers, seconds=0)
        exchange = Exchange(talk, caller, self._path, reply, shared, resumable=True)
        try:
            if answer.status != 200 or answer.kind != STREAM:
                await self._answers.explain(exchange, answer)
                return
            exchange.headers.update(downwards(answer.headers, with_credentials=False))
            await reply.begin(200, {**exchange.headers, **STREAMED})
            talk.stream = reply
            await self._relay.stream(exchange, answer)
        finally:
            answer.close()
            if talk.stream is reply:
                talk.stream = None
                for id_ in talk.parked:  # nobody is there to be told what came of them
                    talk.guard.from_client(cancellation(id_))
                if talk.address is not None and talk.session is not None:
                    self._talks.forget(caller, talk.session)

    async def _delete(self, request: HttpRequest, reply: Reply, shared: dict[str, str]) -> None:
        caller = self._caller(request)
        session = request.headers.get(SESSION, "")
        status = 200
        if not session.startswith(OWN):
            headers = {**self._headers(request), **version_of(request.headers)}
            answer = await self._upstream.send("DELETE", headers)
            answer.close()
            status = answer.status
        if status < 300:
            self._talks.forget(caller, session)
        await reply.whole(status, shared)

    # Whose.

    def _caller(self, request: HttpRequest) -> str:
        """Return the name under which a client's calls are decided and recorded."""
        token = request.headers.get("authorization") if self._with_credentials else None
        if token is None:
            return "local"
        return f"bearer:{hashlib.sha256(token.encode()).hexdigest()[:16]}"

    def _talk(self, request: HttpRequest, caller: str) -> Talk:
        token = request.query.get(NAMED)
        if token is None:
            return self._talks.of(caller, request.headers.get(SESSION))
        talk = self._talks.find(caller, token)
        if talk is None:
            raise NotFoundError("this conversation has ended; connect again")
        return talk

    def _headers(self, request: HttpRequest) -> dict[str, str]:
        headers = upwards(request.headers, with_credentials=self._with_credentials)
        if headers.get(SESSION, "").startswith(OWN):
            del headers[SESSION]
        if request.method == "POST":
            headers["content-type"] = JSON
        return headers

    def _cors(self, request: HttpRequest) -> dict[str, str]:
        shared = dict(self._fences.cors_headers(request.headers))
        if shared:
            shared["access-control-expose-headers"] += f", {SESSION}"
            shared["access-control-allow-methods"] = _ALLOWED["allow"]
            shared["access-control-allow-headers"] += f", {SESSION}, last-event-id"
        return shared


def _is_json(request: HttpRequest) -> bool:
    kind, _, _ = request.headers.get("content-type", "").partition(";")
    return kind.strip().lower() == JSON


def _settles(talk: Talk, body: bytes, to: str, raw: bytes) -> bool:
    """Tell whether the client has just answered about a call that was held."""
    return bool(talk.held) and is_response(body) and talk.settle(to, raw)


def _named(talk: Talk, request: HttpRequest, raw: bytes) -> dict[str, str]:
    """Return the mirrors of a message that is no request."""
    return {**version_of(request.headers), **talk.guard.mirrors(raw)}
