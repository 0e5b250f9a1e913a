"""The record of an answered order: its messages, perhaps a scene, and a turn of its session.

A task whose worker dies runs again. The reply of the first attempt is stored with the task, so
that nobody pays for it twice, no tool is called twice, and the client, the session and the
history agree on one answer.
"""

from contextlib import suppress
from random import Random
from typing import Any
from unicodedata import normalize

from nacre.being.memory.model.message_chain import ChatMessage
from nacre.being.memory.model.types import Message, SceneDraft, moment
from nacre.being.memory.patrol_trigger import PatrolTrigger
from nacre.being.memory.store.history import History
from nacre.being.memory.store.scenes import Scenes
from nacre.being.memory.text.memory_text import one_line
from nacre.being.memory.text.text_blocks import shortened
from nacre.being.memory.writer_origins import WriterOrigins
from nacre.being.orders.order.request import OrderRequest
from nacre.being.orders.sessions.session import Session, Turn
from nacre.being.orders.sessions.store import SessionStore
from nacre.core.clock import Clock
from nacre.core.errors import InvalidInputError, NacreError, UnavailableError
from nacre.core.lazy_dataclasses import asdict, dataclass, field
from nacre.core.limits import LEAST_EXTRACTED_IMPORTANCE, MAX_CHAT_BYTES, ORDER_SCENE_BYTES
from nacre.protocol.context import TaskRun
from nacre.protocol.holder import holder_of
from nacre.text.analysis import terms

_REPLY = "reply"
_NOTES_TOOL = "update_notes"
_MIN_TERMS = 3  # a greeting is not worth a memory
_SESSION_FAILED = "(The session could not be kept: its next order does not know of this one.)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The reply to an order, before it is recorded."""

    text: str
    remarks: list[str]  # lines for the client, which are not part of the conversation
    has_noted: bool  # whether the model itself has recorded what should stay
    media: list[dict[str, Any]] = field(default_factory=list, repr=False)


def earlier_reply(task: TaskRun | None) -> Reply | None:
    """Return the reply of an earlier attempt at the task."""
    fields = None if task is None else task.notes.get(_REPLY)
    return None if fields is None else Reply(**fields)


def save_reply(task: TaskRun | None, reply: Reply) -> None:
    """Store the reply for another attempt at the task, unless it has media or is too long.

    Raises LeaseLostError if another worker has the task; then that worker's reply counts.
    """
    if task is None or reply.media:
        return
    with suppress(InvalidInputError, UnavailableError):
        task.keep({_REPLY: asdict(reply)})


def has_noted(called: set[str]) -> bool:
    """Return whether the model itself has recorded what should stay."""
    return _NOTES_TOOL in called


@dataclass(frozen=True, slots=True)
class OrderRecorder:
    """Stores answered orders in the memory and in their sessions.

    The patrol reads the messages later and extracts scenes from them. Until then a scene of the
    order itself makes it searchable at once.
    """

    history: History
    scenes: Scenes
    trigger: PatrolTrigger
    sessions: SessionStore
    writers: WriterOrigins
    clock: Clock
    rng: Random

    def record(self, order: OrderRequest, session: Session | None, reply: Reply) -> list[str]:
        """Store the order, and return remarks for the client about parts that failed.

        The client gets its answer even if nothing can be stored.
        """
        marker_id = session.marker_id if session else None
        with suppress(NacreError):
            origins = self.writers.of_text(holder_of(order.context))
            marker_id = self._add_messages(order, reply, marker_id, origins)
        if not order.key.is_kept:
            return []
        turn = Turn(
            turn_id=order.turn_id(self.rng),
            at=moment(self.clock()),
            message=order.message,
            answer=reply.text,
            files=tuple(attachment.name for attachment in order.attachments),
        )
        try:
            self.sessions.add(
                order.principal.being_id,
                order.key.session_id,
                turn,
                caller=order.caller(),
                marker_id=marker_id,
            )
        except NacreError:
            return [_SESSION_FAILED]
        return []

    def _add_messages(
        self, order: OrderRequest, reply: Reply, marker_id: str | None, origins: tuple[str, ...]
    ) -> str | None:
        """Store the messages, and a scene unless the model has noted one; return the marker."""
        added = self.history.add(
            order.principal.being_id,
            [_message("user", order.message), _message("assistant", reply.text, origins)],
            marker_id=marker_id,
            session_key_hash=order.key.session_id,
            for_patrol=True,
        )
        if not reply.has_noted and added.messages and len(set(terms(order.message))) >= _MIN_TERMS:
            self._add_scene(order, reply, added.messages, origins)
        return added.marker_id

    def _add_scene(
        self,
        order: OrderRequest,
        reply: Reply,
        evidence: tuple[Message, ...],
        origins: tuple[str, ...],
    ) -> None:
        message, answer = (
            shortened(one_line(text), ORDER_SCENE_BYTES) for text in (order.message, reply.text)
        )
        scene = SceneDraft(
            action=f"Was told in an order: {message} Answered: {answer}",
            actors=(order.caller(),),
            when=(f"{self.clock():%Y-%m-%d}",),
            importance=LEAST_EXTRACTED_IMPORTANCE,
            evidence=tuple(message.message_id for message in evidence),
            origins=origins,
        )
        self.scenes.record(order.principal.being_id, [scene])
        self.trigger.after_scenes(order.principal.being_id)


def _message(role: str, text: str, origins: tuple[str, ...] = ()) -> ChatMessage:
    """Return a message within the history's limit; results of other servers may be longer."""
    return ChatMessage(role, shortened(normalize("NFC", text), MAX_CHAT_BYTES), origins)
