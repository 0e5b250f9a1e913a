"""A reverse proxy in front of a remote server: every message that passes has been decided.

It speaks both generations of streamable HTTP and the older transport with two URLs, each as the
server does, and passes messages on one by one. A client of a generation that the server does not
speak is translated.
"""

import asyncio
import hashlib
from collections.abc import Callable, Mapping

from nacre.core.errors import NacreError, NotFoundError, TooLargeError
from nacre.core.limits import MAX_ERROR_BODY_BYTES
from nacre.firewall.enforce.guard import Guard
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Hold
from nacre.firewall.proxy.generations.negotiation import refuses_generation
from nacre.firewall.proxy.http.decisions import read_request, wait_for_list
from nacre.firewall.proxy.http.forwarded_headers import (
    LAST_EVENT,
    PLAIN_TEXT,
    STREAM_HEADERS,
    VERSION,
    headers_to_client,
    headers_to_server,
    version_header,
)
from nacre.firewall.proxy.http.http_server import Reply
from nacre.firewall.proxy.http.proxy_sessions import OWN_PREFIX, ProxySession, ProxySessions
from nacre.firewall.proxy.http.response_relay import SESSION_PARAMETER, Exchange, ResponseRelay
from nacre.firewall.proxy.http.translated_sessions import (
    TranslatedSessions,
    may_be_newer,
    read_post,
)
from nacre.firewall.proxy.upstream.message_ids import (
    cancellation,
    is_initialize,
    is_response,
    members_of,
    message_id,
)
from nacre.firewall.proxy.upstream.remote_server import SESSION, RemoteServer
from nacre.http_client.connection import Response
from nacre.http_client.errors import HttpError
from nacre.http_client.server_sent_events import HEARTBEAT, Event
from nacre.protocol.http.allowed_origins import Fences
from nacre.protocol.http.error_map import explain
from nacre.protocol.http.http_messages import JSON, STREAM, HttpRequest
from nacre.protocol.messages import refusal
from nacre.protocol.versions import MODERN

_HEARTBEAT_SECONDS = 15.0  # proxies and clients close a connection after thirty silent seconds
_POLL_SECONDS = 1.0
_DISCOVER = b"server/discover"
# With these, servers refuse what is of another generation: no version, no session, no such method.
_REFUSALS = frozenset((400, 404, 405, 406, 422))
_ALLOWED = {"allow": "POST, GET, DELETE"}


class ReverseProxy:
    """Answers the requests of clients. `warn` gets messages for the proxy's owner."""

    def __init__(
        self,
        server: RemoteServer,
        new_guard: Callable[[str], Guard],
        *,
        fences: Fences,
        warn: Callable[[str], None],
        with_credentials: bool = False,
    ) -> None:
        self._server = server
        self._path = server.address.path
        self._sessions = ProxySessions(new_guard)
        self._fences = fences
        self._warn = warn
        self._with_credentials = with_credentials
        self._relay = ResponseRelay(server, self._sessions, warn, with_credentials=with_credentials)
        self._translated = TranslatedSessions(server, new_guard, warn)
        # Whether clients of each generation are translated; None while nobody knows.
        self._translates_newer: bool | None = None
        self._translates_older: bool | None = None

    async def watch(self) -> None:
        """Release held messages once they are decided, until cancelled."""
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            for session in self._sessions.holding():
                try:
                    for release in session.guard.poll():
                        await self._relay.release(session, release)
                except ConnectionError:
                    continue  # that client has gone
                except NacreError as error:
                    self._warn(str(error))

    def close(self) -> None:
        """Close the connections to the server."""
        self._translated.close()
        self._relay.close()
        self._server.close()

    async def handle(self, request: HttpRequest, reply: Reply) -> None:
        """Answer one request."""
        headers = self._cors_headers(request)
        try:
            self._fences.check(request.headers)
            if request.path != self._path:
                raise NotFoundError(f"not found; this proxy serves {self._path}")
            match request.method:
                case "POST" if not _is_json(request):
                    # A page of another site may send all else without asking the browser first.
                    refused = {**headers, "accept": JSON, "content-type": PLAIN_TEXT}
                    await reply.respond(415, refused, b"send messages as application/json")
                case "POST":
                    await self._post(request, reply, headers)
                case "GET":
                    await self._get(request, reply, headers)
                case "DELETE":
                    await self._delete(request, reply, headers)
                case "OPTIONS":
                    await reply.respond(204, {**headers, **_ALLOWED})
                case _:
                    await reply.respond(405, {**headers, **_ALLOWED})
        except NacreError as error:
            await self._refuse(error, reply, headers)

    async def _refuse(self, error: NacreError, reply: Reply, headers: dict[str, str]) -> None:
        if isinstance(error, HttpError):
            self._warn(str(error))
        if reply.has_begun:
            reply.abort()
            return
        failure = explain(error, modern=True)
        status = 404 if isinstance(error, NotFoundError) else failure.status
        body = refusal(None, failure, error).body
        await reply.respond(status, {**headers, "content-type": JSON}, body)

    # Methods. `headers` are those that every reply gets.

    async def _post(self, request: HttpRequest, reply: Reply, headers: dict[str, str]) -> None:
        caller = self._caller(request)
        if await self._was_translated(request, caller, reply, headers):
            return
        session = self._session(request, caller)
        with self._sessions.use(session):
            await self._decide(Exchange(session, caller, self._path, reply, headers), request)

    async def _decide(self, exchange: Exchange, request: HttpRequest) -> None:
        session, reply, headers = exchange.session, exchange.reply, exchange.headers
        body = await read_request(session.guard, bytes(request.body))
        if session.guard.delays(body):
            session.headers = self._server_headers(request)
            async for listing in wait_for_list(session.guard, body):
                self._relay.send_to_server(session, listing)
        match session.guard.from_client(body, request.headers):
            case Forward(raw, _, mirrors):
                if raw is not body and _settles(session, body, "server", raw):
                    await reply.respond(202, headers)
                else:
                    if mirrors is None:  # the message is not a request
                        mirrors = {**version_header(request.headers), **session.guard.mirrors(raw)}
                    exchange.raw = raw
                    await self._forward(exchange, request, mirrors)
            case Answer(raw, status):
                if _settles(session, body, "client", raw):
                    await reply.respond(202, headers)
                else:
                    await self._relay.send_message(exchange, status, raw)
            case Hold(ask):
                exchange.raw = body
                await self._hold(exchange, request, ask)
            case Drop():
                await reply.respond(202, headers)

    async def _hold(self, exchange: Exchange, request: HttpRequest, ask: bytes | None) -> None:
        """Hold the client's request until it is approved or denied."""
        session, reply = exchange.session, exchange.reply
        id_ = message_id(exchange.raw)
        assert id_ is not None
        self._sessions.watch(session)
        if session.address is not None:
            if ask is not None and session.stream is not None:
                await session.stream.send(Event(b"message").encode(ask))
            session.headers = self._server_headers(request)
            session.parked.append(id_)
            await reply.respond(202, exchange.headers)
            return
        decision = session.hold(id_)
        try:
            await reply.begin(200, {**exchange.headers, **STREAM_HEADERS})
            if ask is not None:
                await reply.send(Event(b"message").encode(ask))
            while not decision.done():
                await asyncio.wait((decision,), timeout=_HEARTBEAT_SECONDS)
                if not decision.done():
                    await reply.send(HEARTBEAT)
        except BaseException:
            # The client has gone and would not learn the result, so the call must not be made.
            session.guard.from_client(cancellation(id_))
            raise
        to, raw = decision.result()
        if to == "client":
            await self._relay.send_message(exchange, 200, raw)
            return
        exchange.raw = raw
        await self._forward(exchange, request, session.guard.mirrors(raw))

    async def _forward(
        self, exchange: Exchange, request: HttpRequest, mirrors: Mapping[str, str]
    ) -> None:
        session = exchange.session
        session.headers = self._server_headers(request)
        try:
            response = await self._server.send(
                "POST", {**session.headers, **mirrors}, exchange.raw, address=session.address
            )
            try:
                differs = await self._differs(exchange, request, response)
                if not differs:
                    await self._relay.handle(exchange, response)
            finally:
                response.close()
            if differs:
                self._relay.lose(exchange, "it is made again in the server's generation")
                await self._translate(request, exchange.caller, exchange.reply, exchange.headers)
        except asyncio.CancelledError:
            if not exchange.resumable:
                self._relay.lose(exchange, "the client went away")
            raise
        except (HttpError, TooLargeError) as error:
            self._warn(str(error))
            await self._relay.fail(exchange, str(error))

    # Clients of another generation than the server.

    async def _differs(self, exchange: Exchange, request: HttpRequest, response: Response) -> bool:
        """Tell whether the server refuses a message as one of another generation."""
        is_newer = request.headers.get(VERSION) == MODERN
        translates = self._translates_newer if is_newer else self._translates_older
        # If another request has settled it, this one was sent before.
        if translates is False or exchange.session.address is not None:
            return False
        is_ok = response.status == 200
        if not (is_ok or response.status in _REFUSALS):
            return False
        if is_newer != may_be_newer(exchange.raw) or not (is_newer or is_initialize(exchange.raw)):
            return False  # headers and message differ, or nothing tells what the client speaks
        error: object = None
        if response.content_type == JSON and (not is_ok or _DISCOVER in exchange.raw):
            error = members_of(await response.peek(MAX_ERROR_BODY_BYTES)).get("error")
        if isinstance(error, dict):
            return refuses_generation(error, is_newer=is_newer)
        if is_ok and translates is None:  # it has taken the message, and will take the next one
            self._translates_newer = False if is_newer else self._translates_newer
            self._translates_older = self._translates_older if is_newer else False
        # A wrong URL is no sign of a generation.
        return is_newer and response.status in (400, 405, 406)

    async def _was_translated(
        self, request: HttpRequest, caller: str, reply: Reply, headers: dict[str, str]
    ) -> bool:
        """Answer a message of a client that is translated; return False for others."""
        session_id = request.headers.get(SESSION)
        session = self._translated.find(caller, session_id)
        if session is not None:
            wire = read_post(request)
            if wire.kind == "request":
                await session.answer(wire, reply, headers, is_shared=False)
            else:
                session.send(wire.raw)
                await reply.respond(202, headers)
            return True
        body, version = bytes(request.body), request.headers.get(VERSION)
        is_newer = self._translates_newer is True and version == MODERN and may_be_newer(body)
        is_older = self._translates_older is True and is_initialize(body)
        if is_newer or is_older:
            await self._translate(request, caller, reply, headers)
        return is_newer or is_older

    async def _translate(
        self, request: HttpRequest, caller: str, reply: Reply, headers: dict[str, str]
    ) -> None:
        """Answer a message of a client whose generation the server has refused."""
        wire, sent = read_post(request), self._server_headers(request)
        if wire.kind != "request":
            await reply.respond(202, headers)
        elif wire.is_modern:
            shared = self._translated.shared(caller, wire, sent)
            await shared.answer(wire, reply, headers, is_shared=True)
            if self._translates_newer is None:
                self._translates_newer = shared.translates
        else:
            session_id, session = self._translated.begin(caller, sent)
            await session.answer(wire, reply, {**headers, SESSION: session_id}, is_shared=False)
            if self._translates_older is None:
                self._translates_older = session.translates
            if not session.translates:
                self._translated.forget(caller, session_id)

    async def _get(self, request: HttpRequest, reply: Reply, headers: dict[str, str]) -> None:
        caller = self._caller(request)
        translated = self._translated.find(caller, request.headers.get(SESSION))
        if translated is not None:
            await translated.listen(reply, headers)
            return
        session = self._session(request, caller)
        with self._sessions.use(session):
            exchange = Exchange(session, caller, self._path, reply, headers, resumable=True)
            await self._stream(exchange, request)

    async def _stream(self, exchange: Exchange, request: HttpRequest) -> None:
        """Answer a GET with the server's stream."""
        session, reply, headers = exchange.session, exchange.reply, exchange.headers
        sent = {**self._server_headers(request), **version_header(request.headers)}
        session.headers = {name: sent[name] for name in sent if name != LAST_EVENT}
        response = await self._server.send("GET", sent, seconds=0)
        try:
            if response.status != 200 or response.content_type != STREAM:
                await self._relay.explain(exchange, response)
                return
            headers.update(headers_to_client(response.headers, with_credentials=False))
            await reply.begin(200, {**headers, **STREAM_HEADERS})
            session.stream = reply
            await self._relay.relay_stream(exchange, response)
        finally:
            response.close()
            if session.stream is reply:
                session.stream = None
                for id_ in session.parked:  # their client has gone
                    session.guard.from_client(cancellation(id_))
                if session.address is not None and session.id is not None:
                    self._sessions.forget(exchange.caller, session.id)

    async def _delete(self, request: HttpRequest, reply: Reply, headers: dict[str, str]) -> None:
        caller = self._caller(request)
        session_id = request.headers.get(SESSION, "")
        status = 200
        if self._translated.forget(caller, session_id):
            pass
        elif not session_id.startswith(OWN_PREFIX):
            sent = {**self._server_headers(request), **version_header(request.headers)}
            response = await self._server.send("DELETE", sent)
            response.close()
            status = response.status
        if status < 300:
            self._sessions.forget(caller, session_id)
        await reply.respond(status, headers)

    # Callers and their sessions.

    def _caller(self, request: HttpRequest) -> str:
        """Return the name under which a client's calls are decided and recorded."""
        token = request.headers.get("authorization") if self._with_credentials else None
        if token is None:
            return "local"
        return f"bearer:{hashlib.sha256(token.encode()).hexdigest()[:16]}"

    def _session(self, request: HttpRequest, caller: str) -> ProxySession:
        id_ = request.query.get(SESSION_PARAMETER)
        if id_ is None:
            return self._sessions.find_or_begin(caller, request.headers.get(SESSION))
        session = self._sessions.find(caller, id_)
        if session is None:
            raise NotFoundError("this conversation has ended; connect again")
        return session

    def _server_headers(self, request: HttpRequest) -> dict[str, str]:
        headers = headers_to_server(request.headers, with_credentials=self._with_credentials)
        if headers.get(SESSION, "").startswith(OWN_PREFIX):
            del headers[SESSION]
        if request.method == "POST":
            headers["content-type"] = JSON
        return headers

    def _cors_headers(self, request: HttpRequest) -> dict[str, str]:
        headers = dict(self._fences.cors_headers(request.headers))
        if headers:
            headers["access-control-expose-headers"] += f", {SESSION}"
            headers["access-control-allow-methods"] = _ALLOWED["allow"]
            headers["access-control-allow-headers"] += f", {SESSION}, {LAST_EVENT}"
        return headers


def _is_json(request: HttpRequest) -> bool:
    content_type, _, _ = request.headers.get("content-type", "").partition(";")
    return content_type.strip().lower() == JSON


def _settles(session: ProxySession, body: bytes, to: str, raw: bytes) -> bool:
    """Tell whether the client's message decides about a call that is held."""
    return bool(session.held) and is_response(body) and session.settle(to, raw)
