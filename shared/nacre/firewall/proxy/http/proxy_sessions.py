"""The sessions of a reverse proxy, each with the guard that decides about its requests."""

import asyncio
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from nacre.core.bounded_cache import BoundedCache
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import PROXY_CONVERSATIONS
from nacre.firewall.enforce.guard import Guard
from nacre.firewall.enforce.message import Id
from nacre.firewall.proxy.http.http_server import Reply
from nacre.firewall.proxy.upstream.message_ids import id_key, message_id
from nacre.http_client.address import Address
from nacre.http_client.server_sent_events import Event

OWN_PREFIX = "nacre-"  # of the session ids that clients of a server without sessions get


@dataclass(eq=False)
class ProxySession:
    """One session of a client with the server behind the proxy."""

    guard: Guard
    id: str | None = None
    # The client's requests that wait for an approval.
    held: dict[str, "asyncio.Future[tuple[str, bytes]]"] = field(default_factory=dict)
    # The stream on which each request of the server arrived.
    request_streams: dict[str, Reply] = field(default_factory=dict)
    # Requests that wait for an approval while their responses are expected on the stream.
    parked: list[Id] = field(default_factory=list)
    # The stream for the server's own messages, and the older transport's URL for messages.
    stream: Reply | None = None
    address: Address | None = None
    # The headers of the latest request, for messages that the guard itself sends.
    headers: Mapping[str, str] = field(default_factory=dict)
    # How many ids a client finds it by, and how many requests of clients use it now.
    ids: int = 0
    uses: int = 0

    def hold(self, id_: Id) -> "asyncio.Future[tuple[str, bytes]]":
        """Return a future for the decision: the side that gets a message, and the message."""
        decision = asyncio.get_running_loop().create_future()
        self.held[id_key(id_)] = decision
        return decision

    def settle(self, to: str, raw: bytes) -> bool:
        """Decide a held request of the client; return False if the message belongs to none."""
        if not self.held:
            return False
        id_ = message_id(raw)
        decision = self.held.pop(id_key(id_), None) if id_ is not None else None
        if decision is None:
            return False
        if not decision.done():
            decision.set_result((to, raw))
        return True

    async def send_held(self, raw: bytes) -> None:
        """Send the client a message of the server that was held."""
        id_ = message_id(raw)
        reply = self.request_streams.pop(id_key(id_), None) if id_ is not None else None
        if reply is None or not reply.is_open:
            reply = self.stream
        if reply is not None and reply.is_open:
            await reply.send(Event(b"message").encode(raw))


class ProxySessions:
    """The sessions, by caller and session id; `new_guard` takes the caller's name."""

    def __init__(self, new_guard: Callable[[str], Guard]) -> None:
        self._new_guard = new_guard
        self._guards: BoundedCache[str, Guard] = BoundedCache(PROXY_CONVERSATIONS)
        self._sessions: BoundedCache[tuple[str, str], ProxySession] = BoundedCache(
            PROXY_CONVERSATIONS
        )
        self._holding: set[ProxySession] = set()

    def find_or_begin(self, caller: str, session_id: str | None) -> ProxySession:
        """Return the session with an id, or a new one.

        A session with an unknown id began before this process. Its negotiated version is lost,
        but the policy still decides about each of its calls.
        """
        session = None if session_id is None else self.find(caller, session_id)
        if session is None:
            session = ProxySession(self._guard(caller).for_another_conversation())
            if session_id is not None:
                self.register(caller, session_id, session)
        elif session_id is not None:
            self._sessions.use((caller, session_id))
        return session

    def find(self, caller: str, session_id: str) -> ProxySession | None:
        """Return the session with an id, or None."""
        return self._sessions.get((caller, session_id))

    def register(self, caller: str, session_id: str, session: ProxySession) -> None:
        """Give a session its id; the oldest sessions are forgotten above the limit."""
        if self.find(caller, session_id) is not session:
            self.forget(caller, session_id)
            if len(self._sessions) >= PROXY_CONVERSATIONS:
                self.forget(*next(iter(self._sessions)))
            session.ids += 1
        session.id = session_id
        session.guard.begin_session()
        self._sessions[caller, session_id] = session

    def forget(self, caller: str, session_id: str) -> None:
        """End a session."""
        session = self._sessions.pop((caller, session_id), None)
        if session is not None:
            session.ids -= 1
            self._end_if_unused(session)

    @contextmanager
    def use(self, session: ProxySession) -> Iterator[None]:
        """Keep the open requests of a session, whose answers may arrive, until the block ends."""
        session.uses += 1
        try:
            yield
        finally:
            session.uses -= 1
            self._end_if_unused(session)

    def _end_if_unused(self, session: ProxySession) -> None:
        if not session.ids and not session.uses:
            session.guard.end_requests()

    def watch(self, session: ProxySession) -> None:
        """Add a session to those that `holding` yields while they hold messages."""
        self._holding.add(session)

    def holding(self) -> Iterator[ProxySession]:
        """Yield the watched sessions that hold messages."""
        for session in list(self._holding):
            if session.guard.holds:
                yield session
            else:
                self._holding.discard(session)

    def _guard(self, caller: str) -> Guard:
        guard = self._guards.use(caller)
        if guard is None:
            guard = self._guards[caller] = self._new_guard(caller)
        return guard


def new_session_id() -> str:
    """Return a new session id that nobody can guess."""
    return OWN_PREFIX + secrets.token_urlsafe(24)
