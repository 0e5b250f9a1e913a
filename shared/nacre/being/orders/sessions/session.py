"""A conversation over several orders: its latest turns, and a summary of the earlier ones."""

from collections.abc import Sequence
from datetime import datetime
from random import Random

from nacre.being.memory.model.types import session_key_hash
from nacre.being.memory.text.memory_text import one_line
from nacre.being.memory.text.text_blocks import shortened
from nacre.core.errors import InvalidArgumentError
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import (
    MAX_SESSION_KEY,
    SESSION_BYTES,
    SESSION_LINE_BYTES,
    SESSION_SUMMARY_BYTES,
    SESSION_TEXT_BYTES,
    SESSION_TURNS,
)
from nacre.protocol.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One order of a session and its answer, shortened to the limits of a session."""

    turn_id: str
    at: str
    message: str
    answer: str
    files: tuple[str, ...] = ()  # the names of the attachments

    @property
    def size(self) -> int:
        """The bytes that the turn takes in a prompt."""
        return sum(len(text.encode()) for text in (self.message, self.answer, *self.files))


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One session as it is stored; a new session is empty."""

    session_id: str
    turns: tuple[Turn, ...] = ()
    summary: tuple[str, ...] = ()  # a line for each turn that went before these
    count: int = 0  # of all turns, with those that are only in the summary
    marker_id: str | None = None  # of its messages in the history

    def with_turn(self, turn: Turn) -> "Session":
        """Return the session with one more turn; a turn that it has already changes nothing."""
        if any(earlier.turn_id == turn.turn_id for earlier in self.turns):
            return self
        turns, summary = [*self.turns, _shortened(turn)], list(self.summary)
        size = sum(turn.size for turn in turns)
        while len(turns) > SESSION_TURNS or (len(turns) > 1 and size > SESSION_BYTES):
            size -= turns[0].size
            summary.append(_line(turns.pop(0)))
        while sum(len(line.encode()) + 1 for line in summary) > SESSION_SUMMARY_BYTES:
            summary.pop(0)
        return replace(self, turns=tuple(turns), summary=tuple(summary), count=self.count + 1)


@dataclass(frozen=True, slots=True)
class SessionKey:
    """The key of an order's session, and whether that session is stored."""

    key: str
    session_id: str
    is_kept: bool


def session_key_for(
    principal: Principal, key: str | None, *, now: datetime, rng: Random
) -> SessionKey:
    """Return the key of an order's session: the given key, or a new one for this order alone.

    A session belongs to its caller: the same key from another caller means another session.
    """
    if key is None:
        key = f"mcp-{int(now.timestamp() * 1000)}-{rng.getrandbits(24):06x}"
        return SessionKey(key, session_key_hash(identity(principal), key), is_kept=False)
    if not key.strip() or len(key) > MAX_SESSION_KEY or not key.isprintable():
        raise InvalidArgumentError(
            f"argument 'sessionKey' has 1 to {MAX_SESSION_KEY} printable characters; leave it out"
            " for an order without a session"
        )
    return SessionKey(key, session_key_hash(identity(principal), key), is_kept=True)


def identity(principal: Principal) -> str:
    """Return the owner of a session: a client, whatever token it uses, or else a token.

    A client that is in two profiles owns two sessions, so that neither shows the other's results.
    """
    who = f"client {principal.client}" if principal.client else f"token {principal.subject}"
    return f"{who} in profile {principal.profile}" if principal.profile else who


def as_messages(session: Session) -> list[dict[str, str]]:
    """Return the turns of a session as messages."""
    messages: list[dict[str, str]] = []
    for turn in session.turns:
        files = f"\n\n[attachments: {', '.join(turn.files)}]" if turn.files else ""
        messages.append({"role": "user", "content": turn.message + files})
        messages.append({"role": "assistant", "content": turn.answer})
    return messages


def newer_half(messages: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Return the newer half of the messages, beginning with one of the user."""
    turns = len(messages) // 2
    return list(messages[(turns - turns // 2) * 2 :])


def _shortened(turn: Turn) -> Turn:
    return replace(
        turn,
        message=shortened(turn.message, SESSION_TEXT_BYTES),
        answer=shortened(turn.answer, SESSION_TEXT_BYTES),
    )


def _line(turn: Turn) -> str:
    half = SESSION_LINE_BYTES // 2 - 10
    message, answer = (shortened(one_line(text), half) for text in (turn.message, turn.answer))
    return f"- {message} -> {answer}"
