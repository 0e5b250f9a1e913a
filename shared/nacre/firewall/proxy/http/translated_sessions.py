"""Clients of a reverse proxy in front of a server of another generation.

Each works through a bridge, as a client on standard input does. Clients of the stateless generation
that describe themselves in the same way, in headers too, share one, so unique ids replace theirs.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from nacre.core.bounded_cache import BoundedCache
from nacre.core.errors import MalformedMessageError, NacreError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import PROXY_BACKLOG_BYTES, PROXY_CONVERSATIONS
from nacre.firewall.content.digests import digest
from nacre.firewall.enforce.guard import Guard
from nacre.firewall.enforce.json_edits import with_value
from nacre.firewall.enforce.message import Key, Wire, key_or_none
from nacre.firewall.enforce.mirrored_headers import checked_mirrors
from nacre.firewall.proxy.generations.steps import (
    cancellation,
    encoded,
    encoded_key,
    error_code,
    key,
    params_of,
    plain,
    wire_of,
)
from nacre.firewall.proxy.http.forwarded_headers import LAST_EVENT, STREAM_HEADERS
from nacre.firewall.proxy.http.http_server import Reply
from nacre.firewall.proxy.http.proxy_sessions import OWN_PREFIX, new_session_id
from nacre.firewall.proxy.http.stdio_bridge import StdioBridge
from nacre.firewall.proxy.upstream.message_ids import UNAVAILABLE
from nacre.firewall.proxy.upstream.remote_server import SESSION, RemoteServer
from nacre.http_client.server_sent_events import HEARTBEAT, Event
from nacre.protocol.http.http_messages import JSON, HttpRequest
from nacre.protocol.messages import Failure, refusal
from nacre.protocol.versions import (
    META_CAPABILITIES,
    META_CLIENT,
    META_LOG_LEVEL,
    META_SUBSCRIPTION,
)

_HEARTBEAT_SECONDS = 15.0
_LINE_ENDS = bytes.maketrans(b"\r\n", b"  ")
_OF_ONE_REQUEST = frozenset(
    (
        *("accept", "content-type", SESSION, LAST_EVENT, "date", "traceparent", "tracestate"),
        *("baggage", "b3", "x-request-id", "x-correlation-id", "x-amzn-trace-id"),
    )
)
_LOST = "the server has ended the session; connect again"
# The statuses of errors in the newer generation; the others come with 200.
_STATUSES: Mapping[int | None, int] = {
    -32601: 404,
    -32020: 400,
    -32021: 400,
    -32022: 400,
    UNAVAILABLE: UNAVAILABLE,
}


class _Unread:
    """The messages that a client has not read yet.

    The bridge serves other clients too and waits for none: notifications are dropped while too much
    is unread.
    """

    def __init__(self) -> None:
        self._messages: asyncio.Queue[tuple[bytes, bool]] = asyncio.Queue()
        self._size = 0

    def put(self, raw: bytes, *, is_last: bool = False, is_notification: bool = False) -> None:
        """Add a message; nobody waits for a notification."""
        if is_notification and self._size >= PROXY_BACKLOG_BYTES:
            return
        self._size += len(raw)
        self._messages.put_nowait((raw, is_last))

    async def next(self) -> tuple[bytes, bool] | None:
        """Return the next message and whether it is the last; None if none comes for a while."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_HEARTBEAT_SECONDS):
                raw, is_last = await self._messages.get()
                self._size -= len(raw)
                return raw, is_last
        return None


@dataclass(eq=False)
class _Post:
    """One request of a client that waits for its answer, and the messages before that."""

    id: Key  # the client's own
    token: object  # for progress, the client's own
    wants_logs: bool
    messages: _Unread = field(default_factory=_Unread)


class TranslatedSession:
    """The messages of one client, or of several that share a session, through one bridge."""

    def __init__(self, guard: Guard, server: RemoteServer, warn: Callable[[str], None]) -> None:
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._posts: dict[Key, _Post] = {}
        self._stream: _Unread | None = None
        self._warn = warn
        self._number = 0
        self._bridge = StdioBridge(guard, server, write=self._written, warn=warn)
        self._running = asyncio.get_running_loop().create_task(self._run())

    @property
    def translates(self) -> bool | None:
        """Tell whether the two sides are of different generations; None while nobody knows."""
        return self._bridge.translates

    @property
    def has_ended(self) -> bool:
        """True if the server has ended the session."""
        return self._running.done()

    async def answer(
        self, wire: Wire, reply: Reply, headers: dict[str, str], *, is_shared: bool
    ) -> None:
        """Answer a client's request, and pass on what comes before the answer."""
        id_, post = self._add(wire, is_shared=is_shared)
        try:
            await self._answered(post, reply, headers, wire)
        except BaseException:
            # The client has gone, and its stream with it, which cancels a call in its generation.
            if is_shared and self._posts.pop(id_, None) is not None:
                self.send(cancellation(id_))
            raise
        finally:
            self._posts.pop(id_, None)

    def send(self, raw: bytes) -> None:
        """Take a message that has no answer."""
        self._lines.put_nowait(raw.translate(_LINE_ENDS))

    async def listen(self, reply: Reply, headers: dict[str, str]) -> None:
        """Send a client the messages that belong to none of its requests, until it disconnects."""
        stream = self._stream = _Unread()
        try:
            await reply.begin(200, {**headers, **STREAM_HEADERS})
            while not self.has_ended and self._stream is stream:
                message = await stream.next()
                await reply.send(
                    HEARTBEAT if message is None else Event(b"message").encode(message[0])
                )
            await reply.end()
        finally:
            if self._stream is stream:
                self._stream = None

    def close(self) -> None:
        """End the session."""
        self._lines.put_nowait(None)
        self._running.cancel()

    def _add(self, wire: Wire, *, is_shared: bool) -> tuple[Key, _Post]:
        client_id = key(wire.id)
        id_ = client_id
        raw = wire.raw
        meta = wire.meta
        if is_shared:
            self._number += 1
            id_ = self._number
            raw = with_value(raw, ("id",), encoded_key(id_))
            if "progressToken" in meta:
                raw = with_value(raw, ("params", "_meta", "progressToken"), encoded_key(id_))
        elif client_id in self._posts:
            raise MalformedMessageError("a request with this 'id' is still running")
        post = _Post(client_id, meta.get("progressToken"), META_LOG_LEVEL in meta)
        self._posts[id_] = post
        self.send(raw)
        return id_, post

    async def _answered(
        self, post: _Post, reply: Reply, headers: dict[str, str], wire: Wire
    ) -> None:
        while True:
            message = await post.messages.next()
            if message is None:
                if not reply.is_open:
                    await reply.begin(200, {**headers, **STREAM_HEADERS})
                await reply.send(HEARTBEAT)
                continue
            raw, is_last = message
            if is_last and not reply.is_open:
                status = _status(raw, wire)
                await reply.respond(status, {**headers, "content-type": JSON}, raw)
                return
            if not reply.is_open:
                await reply.begin(200, {**headers, **STREAM_HEADERS})
            await reply.send(Event(b"message").encode(raw))
            if is_last:
                await reply.end()
                return

    async def _run(self) -> None:
        try:
            await self._bridge.run(self._read())
        except (NacreError, ConnectionError) as error:
            self._warn(str(error) or _LOST)
        finally:
            for post in self._posts.values():
                body = refusal(post.id, Failure(UNAVAILABLE, _LOST)).body
                post.messages.put(body, is_last=True)

    async def _read(self) -> AsyncIterator[bytes]:
        while (line := await self._lines.get()) is not None:
            yield line

    # From the server.

    async def _written(self, raw: bytes) -> None:
        wire = wire_of(raw)
        if wire is None or wire.method is None:
            self._finish(raw, wire)
            return
        id_, raw = self._addressed(wire)
        post = self._posts.get(id_) if id_ is not None else self._carrier(wire)
        unread = self._stream if post is None else post.messages
        if unread is not None:
            unread.put(raw, is_notification=wire.kind == "notification")

    def _finish(self, raw: bytes, wire: Wire | None) -> None:
        id_ = None if wire is None or wire.id is None else key(wire.id)
        post = None if id_ is None else self._posts.get(id_)
        if post is None and wire is None and self._posts:
            # A batch of answers, or an error without an id, is for the only client there is.
            post = next(iter(self._posts.values()))
        if post is None:
            return
        if id_ is not None and id_ != post.id:
            raw = with_value(raw, ("id",), encoded_key(post.id))
        post.messages.put(raw, is_last=True)

    def _addressed(self, wire: Wire) -> tuple[Key | None, bytes]:
        """Return the request that a message belongs to, and the message as its client knows it."""
        params = params_of(wire)
        if wire.method == "notifications/progress" and isinstance(params.get("progressToken"), str):
            return self._by_token(wire, params["progressToken"])
        subscription = wire.meta.get(META_SUBSCRIPTION)
        id_ = key_or_none(subscription)
        if id_ is not None:
            post = self._posts.get(id_)
            if post is not None and post.id != id_:
                path = ("params", "_meta", META_SUBSCRIPTION)
                return id_, with_value(wire.raw, path, encoded_key(post.id))
            return id_, wire.raw
        return None, wire.raw

    def _by_token(self, wire: Wire, token: Any) -> tuple[Key | None, bytes]:
        if self._number:  # the tokens are the unique ids
            id_ = key_or_none(token)
            post = None if id_ is None else self._posts.get(id_)
            if post is None or not isinstance(post.token, str):
                return id_, wire.raw
            spelled = encoded(plain(post.token))
            return id_, with_value(wire.raw, ("params", "progressToken"), spelled)
        ids = (id_ for id_, post in self._posts.items() if post.token == token)
        return next(ids, None), wire.raw

    def _carrier(self, wire: Wire) -> _Post | None:
        """Return the request whose stream carries a message that names none."""
        posts = [*self._posts.values()]
        if self._number:  # of several clients, none may hear what is another's
            return posts[0] if len(posts) == 1 and posts[0].wants_logs else None
        if wire.kind == "request":
            return next(iter(posts), None)
        return None if self._stream is not None else next(iter(posts), None)


class TranslatedSessions:
    """The translated sessions of a reverse proxy, by their callers."""

    def __init__(
        self,
        server: RemoteServer,
        new_guard: Callable[[str], Guard],
        warn: Callable[[str], None],
    ) -> None:
        self._server = server
        self._new_guard = new_guard
        self._warn = warn
        self._sessions: BoundedCache[tuple[str, str], TranslatedSession] = BoundedCache(
            PROXY_CONVERSATIONS
        )

    def find(self, caller: str, session_id: str | None) -> TranslatedSession | None:
        """Return the session of an older client."""
        if session_id is None or not session_id.startswith(OWN_PREFIX):
            return None
        return self._use((caller, session_id))

    def shared(self, caller: str, wire: Wire, headers: Mapping[str, str]) -> TranslatedSession:
        """Return the session of newer clients that describe themselves as this request does."""
        introduction = [wire.meta.get(META_CAPABILITIES), wire.meta.get(META_CLIENT)]
        # The server gets the headers of the session, such as a key, so no other client may use it.
        name = (caller, digest([*introduction, _passed_on(headers)]))
        return self._use(name) or self._begin(name, headers)

    def begin(self, caller: str, headers: Mapping[str, str]) -> tuple[str, TranslatedSession]:
        """Begin the session of an older client; return its id, too."""
        session_id = new_session_id()
        return session_id, self._begin((caller, session_id), headers)

    def forget(self, caller: str, session_id: str) -> bool:
        """End a session; return False if there is none."""
        session = self._sessions.pop((caller, session_id), None)
        if session is None:
            return False
        session.close()
        return True

    def close(self) -> None:
        """End all sessions."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()

    def _use(self, name: tuple[str, str]) -> TranslatedSession | None:
        session = self._sessions.use(name)
        if session is not None and session.has_ended:
            del self._sessions[name]
            return None
        return session

    def _begin(self, name: tuple[str, str], headers: Mapping[str, str]) -> TranslatedSession:
        if len(self._sessions) >= PROXY_CONVERSATIONS:
            self.forget(*next(iter(self._sessions)))
        guard = self._new_guard(name[0]).for_another_conversation()
        guard.begin_session()
        session = TranslatedSession(
            guard, self._server.with_headers(_passed_on(headers)), self._warn
        )
        self._sessions[name] = session
        return session


def read_post(request: HttpRequest) -> Wire:
    """Return the message of a client; raises an error for one whose headers contradict it."""
    wire = wire_of(bytes(request.body))
    if wire is None:
        raise MalformedMessageError("the message cannot be read, or is a batch")
    if wire.kind == "request" and wire.is_modern:
        checked_mirrors(wire.raw, request.headers, {})
    return wire


def may_be_newer(raw: bytes) -> bool:
    """Tell whether a message can be of the stateless generation, whose requests say so."""
    wire = wire_of(raw)
    return wire is not None and (wire.is_modern or wire.kind != "request")


def _passed_on(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a client's request that go with all requests of its session."""
    return {name: value for name, value in headers.items() if name not in _OF_ONE_REQUEST}


def _status(raw: bytes, request: Wire) -> int:
    wire = wire_of(raw)
    if wire is None or wire.error is None:
        return 200
    code = error_code(wire.error)
    is_told = request.is_modern or request.method == "initialize" or code == UNAVAILABLE
    return _STATUSES.get(code, 200) if is_told else 200
