"""A session with a remote server over streamable HTTP: posts, streams and their resumption."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from nacre.core.errors import UnavailableError
from nacre.core.limits import (
    MAX_ERROR_BODY_BYTES,
    MAX_WIRE_BYTES,
    UPSTREAM_RETRIES,
    UPSTREAM_RETRY_SECONDS,
)
from nacre.firewall.enforce.message import Id
from nacre.firewall.proxy.upstream.legacy_sse import Deliver
from nacre.firewall.proxy.upstream.message_ids import (
    find_response_ids,
    is_initialize,
    is_response,
    members_of,
    with_id,
)
from nacre.firewall.proxy.upstream.remote_server import (
    SESSION,
    RemoteServer,
    not_mcp_text,
    status_text,
)
from nacre.firewall.rules.arguments.arguments import JsonNumber
from nacre.http_client.connection import Response
from nacre.http_client.errors import HttpError
from nacre.http_client.server_sent_events import ResponseEvents
from nacre.protocol.http.http_messages import JSON, STREAM

_POST_HEADERS = {"accept": f"{JSON}, {STREAM}", "content-type": JSON}
_MAX_RETRY_SECONDS = 60.0


class NotStreamableError(HttpError):
    """The response suggests that the server does not speak streamable HTTP at this URL."""


class StreamableSession:
    """One session. `deliver` gets the server's messages, one by one.

    `mirrored_headers` returns the headers that repeat parts of a message. `begin_session` is
    called when a lost session begins again; `may_resend` then decides whether a request that the
    lost session did not take may be sent in the new one.
    """

    def __init__(
        self,
        server: RemoteServer,
        deliver: Deliver,
        mirrored_headers: Callable[[bytes], Mapping[str, str]],
        warn: Callable[[str], None],
        *,
        begin_session: Callable[[], None],
        may_resend: Callable[[bytes], Awaitable[bool]],
    ) -> None:
        self._server = server
        self._deliver = deliver
        self._mirrored_headers = mirrored_headers
        self._warn = warn
        self._begin_session = begin_session
        self._may_resend = may_resend
        self._session: str | None = None
        self._version: Mapping[str, str] = {}
        self._initialize: bytes | None = None
        self._initialized: bytes | None = None
        self._reopening = asyncio.Lock()
        self._listener: asyncio.Task[None] | None = None

    async def post(self, raw: bytes, ids: Sequence[Id]) -> None:
        """Send a message and deliver the response; raises UnavailableError.

        `ids` are those of its requests: one, none, or several of a batch.
        """
        id_ = ids[0] if len(ids) == 1 else None
        session = self._session
        response = await self._send(raw)
        if session is not None and not is_initialize(raw) and await _has_lost_session(response):
            response.close()
            await self._reopen(session)
            if not await self._may_resend(raw):
                return
            response = await self._send(raw)
        try:
            await self._handle(response, id_)
        finally:
            response.close()
        if is_initialize(raw):
            self._initialize = raw
        elif not ids and members_of(raw).get("method") == "notifications/initialized":
            self._initialized = raw
            self._version = self._mirrored_headers(raw)
            self._start_listening()

    async def close(self) -> None:
        """End the session, also at a server that has one."""
        if self._listener is not None:
            self._listener.cancel()
        if self._session is not None:
            (await self._server.send("DELETE", self._session_headers())).close()

    def _session_headers(self) -> dict[str, str]:
        session = {} if self._session is None else {SESSION: self._session}
        return {**session, **self._version}

    async def _send(self, raw: bytes) -> Response:
        session = {} if self._session is None or is_initialize(raw) else {SESSION: self._session}
        headers = {**_POST_HEADERS, **session, **self._mirrored_headers(raw)}
        response = await self._server.send("POST", headers, raw)
        if is_initialize(raw) and response.status == 200:
            self._session = response.headers.get(SESSION)
        return response

    async def _handle(self, response: Response, id_: Id | None) -> None:
        authority = self._server.address.authority
        if response.status == 200 and response.content_type == STREAM:
            await self._follow(response, id_)
        elif response.status == 200 and response.content_type == JSON:
            body = await response.read()
            if body.strip():
                await self._deliver(body)
        elif response.status in (200, 202, 204):
            if id_ is None:
                return
            if response.content_type and response.status == 200:
                raise NotStreamableError(not_mcp_text(authority, response.content_type))
            raise HttpError(f"{authority} took the request and gave no answer")
        else:
            await self._handle_refusal(response, id_)

    async def _handle_refusal(self, response: Response, id_: Id | None) -> None:
        """Deliver the error in a response with an HTTP error status, or raise one."""
        text = status_text(self._server.address.authority, response.status)
        is_json = response.content_type == JSON
        if is_json and id_ is not None and response.status not in (401, 403):
            body = with_id(await response.read(MAX_ERROR_BODY_BYTES), id_)
            if is_response(body):
                await self._deliver(body)
                return
        if response.status in (400, 404, 405):
            raise NotStreamableError(text)
        raise HttpError(text)

    # Streams.

    async def _follow(self, response: Response, id_: Id | None) -> None:
        """Deliver a stream's messages up to the response, and resume a stream that breaks."""
        wait, fruitless, last_id = UPSTREAM_RETRY_SECONDS, 0, b""
        while True:
            position = _StreamPosition(last_id, wait)
            failure: UnavailableError | None = None
            try:
                if await self._deliver_events(response, position, id_):
                    return
            except HttpError as error:
                failure = error
            finally:
                response.close()
            if id_ is None:
                return
            fruitless = 0 if position.last_id != last_id else fruitless + 1
            last_id, wait = position.last_id, position.wait
            if not last_id or fruitless >= UPSTREAM_RETRIES:
                raise failure or HttpError(
                    f"{self._server.address.authority} ended the stream before its answer"
                )
            await asyncio.sleep(wait * 2**fruitless)
            response = await self._open_stream(last_id)

    async def _open_stream(self, last_id: bytes) -> Response:
        headers = {"accept": STREAM, **self._session_headers()}
        if last_id:
            headers["last-event-id"] = last_id.decode("latin-1")
        response = await self._server.send("GET", headers, seconds=0)
        if response.status != 200 or response.content_type != STREAM:
            response.close()
            raise HttpError(status_text(self._server.address.authority, response.status))
        return response

    async def _deliver_events(
        self, response: Response, position: "_StreamPosition", id_: Id | None
    ) -> bool:
        """Deliver the messages of a stream; return True once the request is answered."""
        async for event in ResponseEvents(response):
            position.last_id = event.id or position.last_id
            if event.retry is not None:
                position.wait = min(float(event.retry[:9]) / 1000, _MAX_RETRY_SECONDS)
            if event.too_long:
                raise UnavailableError(f"the server's answer is longer than {MAX_WIRE_BYTES} bytes")
            if not event.data or not event.is_message:
                continue
            await self._deliver(event.data)
            if id_ is not None and id_ in await find_response_ids(event.data):
                return True
        return False

    def _start_listening(self) -> None:
        if self._listener is not None:
            self._listener.cancel()
        self._listener = asyncio.get_running_loop().create_task(self._listen())

    async def _listen(self) -> None:
        """Deliver the messages that the server sends unasked, if it offers a stream for them."""
        position, fruitless = _StreamPosition(b"", UPSTREAM_RETRY_SECONDS), 0
        while fruitless < UPSTREAM_RETRIES:
            last_id = position.last_id
            try:
                response = await self._open_stream(last_id)
            except HttpError:
                return  # most servers offer none
            try:
                await self._deliver_events(response, position, None)
            except UnavailableError as error:
                self._warn(str(error))
            finally:
                response.close()
            fruitless = 0 if position.last_id != last_id else fruitless + 1
            await asyncio.sleep(position.wait * 2**fruitless)

    # Sessions that the server has lost.

    async def _reopen(self, lost_session: str) -> None:
        """Begin the session again: the client cannot know, and would be refused for ever."""
        async with self._reopening:
            if self._session != lost_session or self._initialize is None:
                return
            self._warn("the server has ended the session; a new one begins")
            response = await self._send(self._initialize)
            try:
                if response.status != 200 or self._session == lost_session:
                    text = status_text(self._server.address.authority, response.status)
                    raise HttpError(f"{text}: the session has ended, and no new one begins")
                # The result is dropped: the client got it in the first session.
                while await response.next_chunk() and response.content_type != STREAM:
                    pass
            finally:
                response.close()
            self._begin_session()
            if self._initialized is not None:
                (await self._send(self._initialized)).close()
                self._start_listening()


class _StreamPosition:
    """The last event of a stream, and the seconds to wait before the stream is resumed."""

    __slots__ = ("last_id", "wait")

    def __init__(self, last_id: bytes, wait: float) -> None:
        self.last_id = last_id
        self.wait = wait


async def _has_lost_session(response: Response) -> bool:
    """Tell whether the server does not know the session: it answers 404, or as some do, 400."""
    if response.status != 400 or response.content_type != JSON:
        return response.status == 404
    members = members_of(await response.peek(MAX_ERROR_BODY_BYTES))
    error, id_ = members.get("error"), members.get("id")
    text = error.get("message") if isinstance(error, dict) else None
    return isinstance(text, str) and "session" in text.lower() and not isinstance(id_, JsonNumber)
