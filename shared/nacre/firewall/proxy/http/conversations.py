"""The conversations of a reverse proxy: which guard decides about which request."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from nacre.core.limits import PROXY_CONVERSATIONS
from nacre.firewall.enforce.guard import Guard
from nacre.firewall.enforce.message import Id
from nacre.firewall.proxy.http.http_server import Reply
from nacre.firewall.proxy.upstream.address import Address
from nacre.firewall.proxy.upstream.event_stream import Event
from nacre.firewall.proxy.upstream.message_ids import id_of, name_of

OWN = "nacre-"  # begins the ids of sessions that a server without any gets from us


@dataclass(eq=False)
class Talk:
    """One conversation of a client with the server behind."""

    guard: Guard
    session: str | None = None
    # Requests of the client that wait for somebody's word, and requests of the server likewise.
    held: dict[str, "asyncio.Future[tuple[str, bytes]]"] = field(default_factory=dict)
    asked_on: dict[str, Reply] = field(default_factory=dict)
    # Requests that are held while their answers are awaited on the stream.
    parked: list[Id] = field(default_factory=list)
    # The stream that the server pushes on, and where the older transport takes messages.
    stream: Reply | None = None
    address: Address | None = None
    # The headers of the latest request, for what the guard itself has to answer.
    headers: Mapping[str, str] = field(default_factory=dict)

    def hold(self, id_: Id) -> "asyncio.Future[tuple[str, bytes]]":
        """Return what will say whether the request goes to the server or what its client gets."""
        waiting = asyncio.get_running_loop().create_future()
        self.held[name_of(id_)] = waiting
        return waiting

    def settle(self, to: str, raw: bytes) -> bool:
        """Hand a held request of the client over; False when this belongs to none."""
        if not self.held:
            return False
        id_ = id_of(raw)
        waiting = self.held.pop(name_of(id_), None) if id_ is not None else None
        if waiting is None:
            return False
        if not waiting.done():
            waiting.set_result((to, raw))
        return True

    async def tell(self, raw: bytes) -> None:
        """Send the client a message of the server's that was held."""
        id_ = id_of(raw)
        reply = self.asked_on.pop(name_of(id_), None) if id_ is not None else None
        if reply is None or not reply.is_open:
            reply = self.stream
        if reply is not None and reply.is_open:
            await reply.send(Event(b"message").encode(raw))


class Talks:
    """The conversations, by caller and session; `new_guard` takes the caller's name."""

    def __init__(self, new_guard: Callable[[str], Guard]) -> None:
        self._new_guard = new_guard
        self._callers: OrderedDict[str, Guard] = OrderedDict()
        self._known: OrderedDict[tuple[str, str], Talk] = OrderedDict()
        self._holding: set[Talk] = set()

    def of(self, caller: str, session: str | None) -> Talk:
        """Return the conversation of a session, a new one where there is none.

        A session that is not known here began before this process did: what was agreed in it
        is lost, but each of its calls is decided all the same.
        """
        known = None if session is None else self._known.get((caller, session))
        if known is None:
            talk = Talk(self._guard(caller).beside())
            if session is not None:
                self.keep(caller, session, talk)
            return talk
        assert session is not None
        self._known.move_to_end((caller, session))
        return known

    def find(self, caller: str, session: str) -> Talk | None:
        """Return the conversation of a session, None where there is none."""
        return self._known.get((caller, session))

    def keep(self, caller: str, session: str, talk: Talk) -> None:
        """Know a conversation by its session from now on."""
        talk.session = session
        talk.guard.begin_session()
        self._known[caller, session] = talk
        while len(self._known) > PROXY_CONVERSATIONS:
            self._known.popitem(last=False)

    def forget(self, caller: str, session: str) -> None:
        """End a conversation."""
        self._known.pop((caller, session), None)

    def watch(self, talk: Talk) -> None:
        """Look at a conversation every second, because it holds something."""
        self._holding.add(talk)

    def held(self) -> Iterator[Talk]:
        """Yield the conversations that hold something."""
        for talk in list(self._holding):
            if talk.guard.holds:
                yield talk
            else:
                self._holding.discard(talk)

    def _guard(self, caller: str) -> Guard:
        guard = self._callers.get(caller)
        if guard is None:
            guard = self._callers[caller] = self._new_guard(caller)
            if len(self._callers) > PROXY_CONVERSATIONS:
                self._callers.popitem(last=False)
        else:
            self._callers.move_to_end(caller)
        return guard


def new_session() -> str:
    """Return the id of a session, which nobody can guess."""
    return OWN + secrets.token_urlsafe(24)
