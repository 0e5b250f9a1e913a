"""The server's responses on their way to a client of the reverse proxy, message by message."""

import asyncio
from collections.abc import Callable, Mapping

from nacre.core.errors import NacreError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import MAX_ERROR_BODY_BYTES, MAX_WIRE_BYTES, PROXY_REPLIES
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Hold, Release
from nacre.firewall.proxy.http.decisions import decide_response
from nacre.firewall.proxy.http.forwarded_headers import (
    PLAIN_TEXT,
    STREAM_HEADERS,
    headers_to_client,
)
from nacre.firewall.proxy.http.http_server import Reply
from nacre.firewall.proxy.http.proxy_sessions import (
    OWN_PREFIX,
    ProxySession,
    ProxySessions,
    new_session_id,
)
from nacre.firewall.proxy.upstream.legacy_sse import endpoint_address
from nacre.firewall.proxy.upstream.message_ids import (
    UNAVAILABLE,
    id_key,
    is_initialize,
    is_response,
    message_id,
    request_ids,
    with_id,
)
from nacre.firewall.proxy.upstream.remote_server import (
    SESSION,
    RemoteServer,
    not_mcp_text,
    status_text,
)
from nacre.http_client.connection import Response
from nacre.http_client.errors import HttpError
from nacre.http_client.server_sent_events import Event, ResponseEvents
from nacre.protocol.http.http_messages import JSON, STREAM

SESSION_PARAMETER = "nacre"  # names the session in the URL for messages of the older transport
_REFUSED = "the server's answer was refused: it answers nothing that was asked"
_TOO_LONG = f"the server's answer is longer than {MAX_WIRE_BYTES} bytes"


@dataclass(slots=True)
class Exchange:
    """One request of a client and its reply.

    `raw` is the message that went to the server. A `resumable` stream can continue later.
    """

    session: ProxySession
    caller: str
    path: str
    reply: Reply
    headers: dict[str, str]
    raw: bytes = b""
    resumable: bool = False


class ResponseRelay:
    """Answers clients with the server's responses, as far as their guards allow."""

    def __init__(
        self,
        server: RemoteServer,
        sessions: ProxySessions,
        warn: Callable[[str], None],
        *,
        with_credentials: bool,
    ) -> None:
        self._server = server
        self._sessions = sessions
        self._warn = warn
        self._with_credentials = with_credentials
        self._tasks: set[asyncio.Task[None]] = set()

    # HTTP responses.

    async def handle(self, exchange: Exchange, response: Response) -> None:
        """Answer a client's message with the server's response."""
        self._set_session_id(exchange, response)
        if response.status != 200 or response.content_type not in (JSON, STREAM):
            await self.explain(exchange, response)
            return
        self._add_headers(exchange, response)
        if response.content_type == JSON:
            await self._relay_body(exchange, 200, await response.read())
            return
        if not exchange.reply.is_open:
            await exchange.reply.begin(200, {**exchange.headers, **STREAM_HEADERS})
        await self.relay_stream(exchange, response)

    def _add_headers(self, exchange: Exchange, response: Response) -> None:
        headers = headers_to_client(response.headers, with_credentials=self._with_credentials)
        exchange.headers.update(headers)

    def _set_session_id(self, exchange: Exchange, response: Response) -> None:
        """Use the server's session id, or a new one if the server has no sessions."""
        session, session_id = exchange.session, response.headers.get(SESSION)
        if session.address is not None:
            return
        if session_id is None and session.id is None and response.status == 200:
            session_id = new_session_id() if is_initialize(exchange.raw) else None
        if session_id is None:
            return
        if session_id != session.id:
            self._sessions.register(exchange.caller, session_id, session)
        exchange.headers[SESSION] = session_id

    async def explain(self, exchange: Exchange, response: Response) -> None:
        """Answer with a response that is neither a message nor a stream of messages."""
        status, authority = response.status, self._server.address.authority
        self._add_headers(exchange, response)
        if status in (401, 403) and not self._with_credentials:
            raise HttpError(status_text(authority, status))
        is_notification = bool(exchange.raw) and not request_ids(exchange.raw)
        if status in (202, 204) or (status == 200 and is_notification):
            if exchange.session.address is None:  # else the answer comes on the stream
                self.lose(exchange, "the server has only taken note of it")
            await self._send_nothing(exchange, 202 if status == 200 else status)
        elif status >= 400 and response.content_type == JSON and exchange.raw:
            body = with_id(await response.read(MAX_ERROR_BODY_BYTES), message_id(exchange.raw))
            if is_response(body):
                await self._relay_body(exchange, status, body)
            else:
                await self._send_status(exchange, response)
        elif status == 200 and response.content_type:
            raise HttpError(not_mcp_text(authority, response.content_type))
        else:
            await self._send_status(exchange, response)

    async def _send_status(self, exchange: Exchange, response: Response) -> None:
        """Answer with the server's HTTP error, but not with its unchecked text."""
        status = response.status
        text = status_text(self._server.address.authority, status)
        self._warn(text)
        self.lose(exchange, text)
        if exchange.reply.is_open:
            exchange.reply.abort()
            return
        headers = {**exchange.headers, "content-type": PLAIN_TEXT}
        await exchange.reply.respond(status if status >= 400 else 502, headers, text.encode())

    # Messages.

    async def _relay_body(self, exchange: Exchange, status: int, body: bytes) -> None:
        """Answer with the message that is the body of a response."""
        if not body.strip():
            await self._send_nothing(exchange, status)
            return
        match await decide_response(exchange.session.guard, body):
            case Forward(raw, answer):
                if answer is not None:
                    self.send_to_server(exchange.session, answer)
                await self.send_message(exchange, status, raw)
            case Answer(raw):
                self.send_to_server(exchange.session, raw)
                await self.fail(exchange, _REFUSED)
            case Drop() | Hold():
                if status < 300 and not request_ids(exchange.raw):
                    await self._send_nothing(exchange, 202)  # nobody waits for the message
                else:
                    await self.fail(exchange, _REFUSED)

    async def send_message(self, exchange: Exchange, status: int, raw: bytes) -> None:
        """Send the client one message: as a whole body, or on the stream that waits for it."""
        reply, stream = exchange.reply, exchange.session.stream
        if reply.is_open:
            await reply.send(_event(raw))
            await reply.end()
        elif exchange.session.address is not None and stream is not None and stream.is_open:
            await stream.send(_event(raw))
            await reply.respond(202, exchange.headers)
        else:
            await reply.respond(status, {**exchange.headers, "content-type": JSON}, raw)

    async def _send_nothing(self, exchange: Exchange, status: int) -> None:
        """Answer without a message."""
        if exchange.reply.is_open:
            await exchange.reply.end()
        else:
            await exchange.reply.respond(status, exchange.headers)

    async def fail(self, exchange: Exchange, text: str) -> None:
        """Tell the client that no answer comes, if it still waits for one."""
        raw = self.lose(exchange, text)
        if raw is not None:
            await self.send_message(exchange, UNAVAILABLE, raw)
        elif exchange.reply.is_open:
            await exchange.reply.end()
        else:
            headers = {**exchange.headers, "content-type": PLAIN_TEXT}
            await exchange.reply.respond(UNAVAILABLE, headers, text.encode())

    def lose(self, exchange: Exchange, text: str) -> bytes | None:
        """Let the guard expect no answer, and return the error that the client gets instead."""
        ids = request_ids(exchange.raw)
        errors = [
            error
            for id_ in ids
            if (error := exchange.session.guard.close_request(id_, text, code=UNAVAILABLE))
            is not None
        ]
        if not errors:
            return None
        return errors[0] if len(ids) < 2 else b"[%b]" % b",".join(errors)

    async def relay_stream(self, exchange: Exchange, response: Response) -> None:
        """Send the events of a stream on, one by one; the reply has begun."""
        try:
            async for event in ResponseEvents(response):
                await self._relay_event(exchange, event)
                while len(self._tasks) >= PROXY_REPLIES:
                    await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        except HttpError as error:
            self._warn(str(error))
            if not exchange.resumable:
                await self.fail(exchange, str(error))
                return
            exchange.reply.abort()
            return
        if exchange.resumable:
            await exchange.reply.end()
        else:
            await self.fail(exchange, "the server ended the stream without an answer")

    async def release(self, session: ProxySession, release: Release) -> None:
        """Send a message on that was held."""
        if session.settle(release.to, release.raw):
            return
        if release.to == "client":
            await session.send_held(release.raw)
        else:
            self.send_to_server(session, release.raw)

    def close(self) -> None:
        """Cancel the messages that are on their way to the server."""
        for task in list(self._tasks):
            task.cancel()

    # Events.

    async def _relay_event(self, exchange: Exchange, event: Event) -> None:
        if event.too_long:
            if exchange.raw:
                exchange.resumable = False
                raise HttpError(_TOO_LONG)
            self._warn(_TOO_LONG)
        elif event.name == b"endpoint" and not exchange.raw:
            await self._replace_endpoint(exchange, event)
        elif not event.is_message:
            return  # no client acts on it, and no guard has checked it
        else:
            exchange.resumable |= bool(event.id)
            if event.data:
                await self._relay_message(exchange, event, event.data)
            else:
                await exchange.reply.send(event.encode())

    async def _relay_message(self, exchange: Exchange, event: Event, raw: bytes) -> None:
        reply, session = exchange.reply, exchange.session
        match await decide_response(session.guard, raw):
            case Forward(allowed, answer):
                if answer is not None:
                    self.send_to_server(session, answer)
                await reply.send(event.encode(allowed))
            case Answer(answer):
                self.send_to_server(session, answer)
            case Hold(ask):
                id_ = message_id(raw)
                if id_ is not None:
                    session.request_streams[id_key(id_)] = reply
                self._sessions.watch(session)
                if ask is not None:
                    await reply.send(event.encode(ask))
            case Drop():
                pass

    async def _replace_endpoint(self, exchange: Exchange, event: Event) -> None:
        """Store the older transport's URL for messages, and send the client one of the proxy."""
        session = exchange.session
        session.address = endpoint_address(self._server, event)
        if session.id is None:
            self._sessions.register(exchange.caller, new_session_id(), session)
        url = f"{exchange.path}?{SESSION_PARAMETER}={session.id}"
        await exchange.reply.send(Event(b"endpoint").encode(url.encode()))

    # To the server.

    def send_to_server(self, session: ProxySession, raw: bytes) -> None:
        """Send a message of the guard to the server; no client gets its answer."""
        task = asyncio.get_running_loop().create_task(self._send(session, raw))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, session: ProxySession, raw: bytes) -> None:
        headers: Mapping[str, str] = {**session.headers, **session.guard.mirrors(raw)}
        id_ = session.id
        if id_ is not None and session.address is None and not id_.startswith(OWN_PREFIX):
            headers = {**headers, SESSION: id_}
        try:
            response = await self._server.send("POST", headers, raw, address=session.address)
            try:
                # On the older transport the answer comes on the stream.
                if request_ids(raw) and session.address is None:
                    if response.status != 200:
                        raise HttpError(f"a list was refused with HTTP {response.status}")
                    await self._take_answer(session, response)
            finally:
                response.close()
        except NacreError as error:
            self._warn(str(error))
            for id_ in request_ids(raw):
                session.guard.close_request(id_, str(error), code=UNAVAILABLE)

    async def _take_answer(self, session: ProxySession, response: Response) -> None:
        """Let the guard read the answer to a request that it made."""
        if response.content_type == JSON:
            self._take_message(session, await response.read())
            return
        async for event in ResponseEvents(response):
            if event.is_message and event.data:
                self._take_message(session, event.data)

    def _take_message(self, session: ProxySession, raw: bytes) -> None:
        verdict = session.guard.from_server(raw)
        if isinstance(verdict, Answer):
            self.send_to_server(session, verdict.raw)


def _event(raw: bytes) -> bytes:
    return Event(b"message").encode(raw.replace(b"\r", b" "))
