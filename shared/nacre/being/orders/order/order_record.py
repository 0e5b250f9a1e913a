"""What is kept of an order that was answered: its messages, perhaps a scene, and its turn."""

from contextlib import suppress
from dataclasses import dataclass
from random import Random

from nacre.being.memory.model.types import moment
from nacre.being.orders.order.order_notes import OrderNoting
from nacre.being.orders.order.reply import Reply
from nacre.being.orders.order.request import GivenOrder
from nacre.being.orders.sessions.session import Session, Turn
from nacre.being.orders.sessions.store import SessionStore
from nacre.core.clock import Clock
from nacre.core.errors import NacreError

_UNKEPT = "(The session could not be kept: its next order does not know of this one.)"


@dataclass(frozen=True, slots=True)
class Keeping:
    """Keeps what was said in the memory and in the session."""

    noting: OrderNoting
    sessions: SessionStore
    clock: Clock
    rng: Random

    def keep(self, order: GivenOrder, before: Session | None, reply: Reply) -> list[str]:
        """Keep what was said, and return what the client should know of that.

        The answer is there, so it is given whatever becomes of this.
        """
        principal, key = order.principal, order.key
        caller = order.caller()
        marker = before.marker_id if before else None
        with suppress(NacreError):
            marker = self.noting.keep(
                principal.being_id,
                message=order.message,
                answer=reply.text,
                session_id=key.session_id,
                marker_id=marker,
                has_noted=reply.has_noted,
                caller=caller,
            )
        if not key.is_kept:
            return []
        turn = Turn(
            turn_id=order.turn_id(self.rng),
            at=moment(self.clock()),
            message=order.message,
            answer=reply.text,
            files=tuple(each.name for each in order.attachments),
        )
        try:
            self.sessions.add(
                principal.being_id, key.session_id, turn, caller=caller, marker_id=marker
            )
        except NacreError:
            return [_UNKEPT]
        return []
