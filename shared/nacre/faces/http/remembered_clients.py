"""The state of legacy clients that the laptop server keeps while it runs.

Legacy clients declare their capabilities once, in `initialize`, and answer requests of the server
in a separate POST. Without session ids, a client is identified by its token and the name that it
gave. Capabilities that are unknown are not used.
"""

import asyncio
import secrets
from collections.abc import Callable
from typing import Any

from nacre.core.bounded_cache import BoundedCache
from nacre.core.errors import ClientCapabilityError, UnansweredError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import ASK_SECONDS, REMEMBERED_PEERS
from nacre.protocol.caller import Peer
from nacre.protocol.changes import Seen
from nacre.protocol.context import capability_of
from nacre.protocol.http.http_messages import HttpCall, subject_of
from nacre.protocol.messages import RequestId, Response
from nacre.protocol.principal import Principal


class LocalPeers:
    """Legacy clients of one server process, and the requests that wait for them."""

    def __init__(self) -> None:
        self._peers: BoundedCache[tuple[str, str], Peer] = BoundedCache(REMEMBERED_PEERS)
        self._waiting: dict[tuple[str, RequestId], asyncio.Future[Response]] = {}
        self._running: dict[tuple[str, RequestId], list[Running]] = {}

    def of(self, key: tuple[str, str]) -> Peer:
        """Return the record of the client that sends the request."""
        peer = self._peers.use(key)
        if peer is None:
            peer = self._peers[key] = Peer(seen=Seen())
        return peer

    def deliver(self, principal: Principal | None, response: Response) -> bool:
        """Hand a client's answer to the call that waits for it; return False if none does."""
        waiting = self._waiting.get((subject_of(principal), response.id))
        if waiting is None or waiting.done():
            return False
        waiting.set_result(response)
        return True

    def begin(self, call: HttpCall, give_up: Callable[[], object]) -> "Running":
        """Let the call be given up by its client, until `end`."""
        key = (subject_of(call.caller.principal), call.message.id)
        running = Running(key, call.caller.peer, give_up)
        self._running.setdefault(key, []).append(running)
        return running

    def end(self, running: "Running") -> None:
        """Forget a call."""
        same = self._running[running.key]
        same.remove(running)
        if not same:
            del self._running[running.key]

    def give_up(self, key: tuple[str, str], request_id: RequestId) -> None:
        """End the call that the client has cancelled.

        Without sessions two clients of one program and one token may use the same id at the same
        time. Then nobody can tell whose call it is, and neither is ended.
        """
        peer = self._peers.get(key)
        running = self._running.get((key[0], request_id), [])
        calls = [call for call in running if call.peer is peer]
        if len(calls) == 1:
            calls[0].give_up()

    def expect(self, principal: Principal | None) -> "Expected":
        """Return a new request id and the answer that will carry it."""
        return Expected(self._waiting, subject_of(principal))


@dataclass(slots=True, eq=False)  # not frozen: see HttpRequest
class Running:
    """One call of a client, and what ends it."""

    key: tuple[str, RequestId]
    peer: Peer
    give_up: Callable[[], object]


class Expected:
    """One request to a client, whose id nobody can guess, until it is answered."""

    def __init__(
        self, waiting: dict[tuple[str, RequestId], asyncio.Future[Response]], subject: str
    ) -> None:
        self.id = f"nacre-{secrets.token_hex(16)}"
        self._waiting = waiting
        self._key = (subject, self.id)
        self._future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        waiting[self._key] = self._future

    async def result(self, method: str) -> dict[str, Any]:
        """Return the client's result; raises when it refuses or stays silent."""
        try:
            response = await asyncio.wait_for(self._future, ASK_SECONDS)
        except TimeoutError:
            raise UnansweredError(ASK_SECONDS) from None
        finally:
            del self._waiting[self._key]
        if response.result is None:
            raise ClientCapabilityError(capability_of(method))
        return response.result
