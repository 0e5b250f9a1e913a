"""A conversation with a remote server over streamable HTTP: posts, streams, resumption."""

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
from nacre.firewall.proxy.upstream.connection import UpstreamAnswer, UpstreamError
from nacre.firewall.proxy.upstream.event_stream import EventReader
from nacre.firewall.proxy.upstream.http_errors import status_text
from nacre.firewall.proxy.upstream.message_ids import (
    addressed,
    answered_by,
    is_response,
    opens,
    read,
)
from nacre.firewall.proxy.upstream.upstream_client import Upstream
from nacre.firewall.rules.arguments.arguments import JsonNumber
from nacre.protocol.http.http_messages import JSON, STREAM

SESSION = "mcp-session-id"
_POSTED = {"accept": f"{JSON}, {STREAM}", "content-type": JSON}
_LISTENING = {"accept": STREAM}

Deliver = Callable[[bytes], Awaitable[None]]


class NotStreamableError(UpstreamError):
    """The server does not speak streamable HTTP at this address, as far as its answer says."""


class StreamableRemote:
    """One conversation. `deliver` gets what the server says, message by message.

    `begins` hears that a session begins anew; `may_go_on` tells whether a request that the last
    session did not take may be made in the new one.
    """

    def __init__(
        self,
        upstream: Upstream,
        deliver: Deliver,
        mirrors: Callable[[bytes], Mapping[str, str]],
        say: Callable[[str], None],
        *,
        begins: Callable[[], None],
        may_go_on: Callable[[bytes], Awaitable[bool]],
    ) -> None:
        self._begins = begins
        self._may_go_on = may_go_on
        self._upstream = upstream
        self._deliver = deliver
        self._mirrors = mirrors
        self._say = say
        self._session: str | None = None
        self._version: Mapping[str, str] = {}
        self._opening: bytes | None = None
        self._greeting: bytes | None = None
        self._reopening = asyncio.Lock()
        self._listener: asyncio.Task[None] | None = None

    async def post(self, raw: bytes, ids: Sequence[Id]) -> None:
        """Send a message and deliver what comes for it; raises UnavailableError.

        `ids` are those of its requests: one, none, or several of a batch.
        """
        id_ = ids[0] if len(ids) == 1 else None
        session = self._session
        answer = await self._send(raw)
        if session is not None and not opens(raw) and await _has_lost_session(answer):
            answer.close()
            await self._reopen(session)
            if not await self._may_go_on(raw):
                return
            answer = await self._send(raw)
        try:
            await self._take(answer, id_)
        finally:
            answer.close()
        if opens(raw):
            self._opening = raw
        elif not ids and read(raw).get("method") == "notifications/initialized":
            self._greeting = raw
            self._version = self._mirrors(raw)
            self._listen()

    async def close(self) -> None:
        """End the conversation, and tell a server that keeps one."""
        if self._listener is not None:
            self._listener.cancel()
        if self._session is not None:
            headers = {SESSION: self._session, **self._version}
            (await self._upstream.send("DELETE", headers)).close()

    async def _send(self, raw: bytes) -> UpstreamAnswer:
        session = {} if self._session is None or opens(raw) else {SESSION: self._session}
        headers = {**_POSTED, **session, **self._mirrors(raw)}
        answer = await self._upstream.send("POST", headers, raw)
        if opens(raw) and answer.status == 200:
            self._session = answer.headers.get(SESSION)
        return answer

    async def _take(self, answer: UpstreamAnswer, id_: Id | None) -> None:
        authority = self._upstream.address.authority
        if answer.status == 200 and answer.kind == STREAM:
            await self._follow(answer, id_)
        elif answer.status == 200 and answer.kind == JSON:
            body = await answer.whole()
            if body.strip():
                await self._deliver(body)
        elif answer.status in (200, 202, 204):
            if id_ is None:
                return
            if answer.kind and answer.status == 200:
                raise NotStreamableError(
                    f"{authority} answers with {answer.kind[:60]}, which is not MCP; look at --url"
                )
            raise UpstreamError(f"{authority} took the request and gave no answer")
        else:
            await self._refused(answer, id_)

    async def _refused(self, answer: UpstreamAnswer, id_: Id | None) -> None:
        """Deliver the error that a server gives with an HTTP status, or raise one for it."""
        text = status_text(self._upstream.address.authority, answer.status)
        if answer.kind == JSON and id_ is not None and answer.status not in (401, 403):
            body = addressed(await answer.whole(MAX_ERROR_BODY_BYTES), id_)
            if is_response(body):
                await self._deliver(body)
                return
        if answer.status in (400, 404, 405):
            raise NotStreamableError(text)
        raise UpstreamError(text)

    # Streams.

    async def _follow(self, answer: UpstreamAnswer, id_: Id | None) -> None:
        """Deliver a stream's messages until the answer is there; resume it where it breaks."""
        wait, fruitless, last = UPSTREAM_RETRY_SECONDS, 0, b""
        while True:
            cursor = _Cursor(last, wait)
            failure: UnavailableError | None = None
            try:
                if await self._events(answer, cursor, id_):
                    return
            except UpstreamError as error:
                failure = error
            finally:
                answer.close()
            if id_ is None:
                return
            fruitless = 0 if cursor.last != last else fruitless + 1
            last, wait = cursor.last, cursor.wait
            if not last or fruitless >= UPSTREAM_RETRIES:
                raise failure or UpstreamError(
                    f"{self._upstream.address.authority} ended the stream before its answer"
                )
            await asyncio.sleep(wait * 2**fruitless)
            answer = await self._resume(last)

    async def _resume(self, last: bytes) -> UpstreamAnswer:
        session = {} if self._session is None else {SESSION: self._session}
        headers = {**_LISTENING, **session, **self._version}
        if last:
            headers["last-event-id"] = last.decode("latin-1")
        answer = await self._upstream.send("GET", headers, seconds=0)
        if answer.status != 200 or answer.kind != STREAM:
            answer.close()
            raise UpstreamError(status_text(self._upstream.address.authority, answer.status))
        return answer

    async def _events(self, answer: UpstreamAnswer, cursor: "_Cursor", id_: Id | None) -> bool:
        """Deliver what comes; True once the request is answered."""
        reader = EventReader(MAX_WIRE_BYTES)
        while piece := await answer.piece():
            for event in reader.feed(piece):
                cursor.last = event.id or cursor.last
                if event.retry is not None:
                    cursor.wait = min(float(event.retry[:9]) / 1000, 60.0)
                if event.too_long:
                    raise UnavailableError(
                        f"the server's answer is longer than {MAX_WIRE_BYTES} bytes"
                    )
                if not event.data or not event.is_message:
                    continue
                await self._deliver(event.data)
                if id_ is not None and id_ in await answered_by(event.data):
                    return True
        return False

    def _listen(self) -> None:
        if self._listener is not None:
            self._listener.cancel()
        self._listener = asyncio.get_running_loop().create_task(self._pushed())

    async def _pushed(self) -> None:
        """Deliver what a server says by itself, for as long as it offers a stream for that."""
        cursor, fruitless = _Cursor(b"", UPSTREAM_RETRY_SECONDS), 0
        while fruitless < UPSTREAM_RETRIES:
            before = cursor.last
            try:
                answer = await self._resume(cursor.last)
            except UpstreamError:
                return  # most servers offer none
            try:
                await self._events(answer, cursor, None)
            except UnavailableError as error:
                self._say(str(error))
            finally:
                answer.close()
            fruitless = 0 if cursor.last != before else fruitless + 1
            await asyncio.sleep(cursor.wait * 2**fruitless)

    # Sessions that a server has forgotten.

    async def _reopen(self, lost: str) -> None:
        """Begin anew as the client did: it cannot know, and would be refused for ever."""
        async with self._reopening:
            if self._session != lost or self._opening is None:
                return
            self._say("the server has ended the session; a new one begins")
            answer = await self._send(self._opening)
            try:
                if answer.status != 200 or self._session == lost:
                    text = status_text(self._upstream.address.authority, answer.status)
                    raise UpstreamError(f"{text}: the session has ended, and no new one begins")
                # What it says has been said: the client has its answer from the first time.
                while await answer.piece() and answer.kind != STREAM:
                    pass
            finally:
                answer.close()
            self._begins()
            if self._greeting is not None:
                (await self._send(self._greeting)).close()
                self._listen()


class _Cursor:
    """How far a stream has come, and how long to wait before it is taken up again."""

    __slots__ = ("last", "wait")

    def __init__(self, last: bytes, wait: float) -> None:
        self.last = last
        self.wait = wait


async def _has_lost_session(answer: UpstreamAnswer) -> bool:
    """Tell whether a server knows nothing of the session: 404, or as some servers put it, 400."""
    if answer.status != 400 or answer.kind != JSON:
        return answer.status == 404
    members = read(await answer.peek(MAX_ERROR_BODY_BYTES))
    error, id_ = members.get("error"), members.get("id")
    said = error.get("message") if isinstance(error, dict) else None
    return isinstance(said, str) and "session" in said.lower() and not isinstance(id_, JsonNumber)
