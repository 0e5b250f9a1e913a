"""uvicorn's HTTP/1.1 with limits for heads, bodies, unread answers and connections."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from nacre.core.limits import (
    BODY_BYTES_A_SECOND,
    BODY_SECONDS,
    CLOSING_SECONDS,
    HEAD_SECONDS,
    RETRY_AFTER_SECONDS,
    TURNED_AWAY_SECONDS,
    UNREAD_ANSWER_SECONDS,
)
from nacre.protocol.http.asgi import ADMITTED
from nacre.protocol.http.connection_limit import Crowd
from nacre.protocol.http.strict_http import StrictConnection, refusal


class BoundedProtocol(H11Protocol):
    """One client's connection.

    uvicorn closes a connection that is idle between two requests; this adds every other wait.
    """

    conn: StrictConnection

    def __init__(self, crowd: Crowd, **parts: Any) -> None:
        super().__init__(**parts)
        self.conn = StrictConnection()
        self._crowd = crowd
        self._state: object = h11.IDLE
        self._since = crowd.time()  # when the client's present turn began
        self._received = 0  # bytes in that turn
        self._has_asked = False
        self._unread_since: float | None = None
        self._closing_since: float | None = None
        self._is_turned_away = False

    # What asyncio calls.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Register the connection, if there is room."""
        super().connection_made(transport)
        self._crowd.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the place of the connection."""
        self._crowd.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Receive bytes of the client."""
        if self._is_turned_away or self.transport.is_closing():
            return
        if self._received == 0 and self._state is h11.IDLE:
            self._since = self._crowd.time()
        self._received += len(data)
        super().data_received(data)

    def pause_writing(self) -> None:
        """Stop writing: the client reads more slowly."""
        self._unread_since = self._crowd.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Resume writing."""
        self._unread_since = None
        super().resume_writing()

    # What uvicorn calls.

    def handle_events(self) -> None:
        """Read requests; each new part of one restarts its timeout."""
        super().handle_events()
        if self.conn.their_state is not self._state:
            self._has_asked = True
            self._state = self.conn.their_state
            self._since, self._received = self._crowd.time(), 0

    def send_400_response(self, msg: str) -> None:
        """Refuse an unreadable request, with the status that says why."""
        self._refuse(self.conn.status)

    # What the crowd calls.

    @property
    def address(self) -> str:
        """The network address of the client."""
        return self.client[0] if self.client else ""

    @property
    def waits_since(self) -> float | None:
        """The time since which a client without a token has sent nothing."""
        if self._state is h11.IDLE:
            return self._since
        is_stranger = ADMITTED not in self.scope["state"]
        return self._since if self._state is h11.SEND_BODY and is_stranger else None

    def drop(self) -> None:
        """Close at once."""
        self.transport.abort()

    def turn_away(self, status: int) -> None:
        """Tell the client when to try again, and read no request."""
        self._is_turned_away = True
        self.transport.write(refusal(status, ("retry-after", str(RETRY_AFTER_SECONDS))))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(TURNED_AWAY_SECONDS, self.transport.abort)

    def end_if_late(self, now: float) -> str | None:
        """Close the connection of a client that takes too long; return its slow part."""
        if self.transport.is_closing():
            self._closing_since = self._closing_since or now
            is_late = now - self._closing_since > CLOSING_SECONDS
            return self._aborted("to close") if is_late else None
        if self._unread_since is not None:
            is_late = now - self._unread_since > UNREAD_ANSWER_SECONDS
            return self._aborted("to read its answer") if is_late else None
        waited = now - self._since
        if self._state is h11.SEND_BODY:
            if self.flow.read_paused:  # we are the slow ones
                self._since, self._received = now, 0
            elif waited > BODY_SECONDS + self._received / BODY_BYTES_A_SECOND:
                self._refuse(408)
                return "a body"
        elif self._awaits_head() and waited > HEAD_SECONDS:
            self._refuse(408)
            return "a head"
        return None

    def _awaits_head(self) -> bool:
        # Between two requests uvicorn's own timer counts, until the first byte of the next.
        is_first = not self._has_asked
        return self._state is h11.IDLE and (self._received > 0 or is_first)

    def _refuse(self, status: int) -> None:
        # In the middle of an answer there is nothing left to say.
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(refusal(status))
            self.transport.close()
        else:
            self.transport.abort()

    def _aborted(self, turn: str) -> str:
        self.transport.abort()
        return turn
