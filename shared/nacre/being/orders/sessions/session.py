"""A conversation over several orders: its latest turns, and in a few lines what went before."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random

from nacre.being.memory.model.types import session_key_hash
from nacre.being.memory.text.memory_text import one_line
from nacre.being.memory.text.text_blocks import shortened
from nacre.core.errors import InvalidArgumentError
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
    """One order of a session, and its answer; both as long as they may be in it."""

    turn_id: str
    at: str
    message: str
    answer: str
    files: tuple[str, ...] = ()  # the names of what came along

    @property
    def size(self) -> int:
        """How many bytes the model is shown of it."""
        return sum(len(text.encode()) for text in (self.message, self.answer, *self.files))


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What is kept of a session; one that has just begun holds nothing."""

    session_id: str
    turns: tuple[Turn, ...] = ()
    summary: tuple[str, ...] = ()  # a line for each turn that went before these
    count: int = 0  # of all turns ever
    marker_id: str | None = None  # where it stands in the history

    def with_turn(self, turn: Turn) -> "Session":
        """Return the session after another turn; one that it has already changes nothing."""
        if any(each.turn_id == turn.turn_id for each in self.turns):
            return self
        turns, summary = [*self.turns, _bounded(turn)], list(self.summary)
        size = sum(each.size for each in turns)
        while len(turns) > SESSION_TURNS or (len(turns) > 1 and size > SESSION_BYTES):
            size -= turns[0].size
            summary.append(_line(turns.pop(0)))
        while sum(len(line.encode()) + 1 for line in summary) > SESSION_SUMMARY_BYTES:
            summary.pop(0)
        return replace(self, turns=tuple(turns), summary=tuple(summary), count=self.count + 1)


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Under which key an order is carried out, and whether its session is kept."""

    key: str
    session_id: str
    is_kept: bool


def session_of(
    principal: Principal, given: str | None, *, now: datetime, rng: Random
) -> SessionKey:
    """Return the session of an order: of the key that was given, or one for this order alone.

    It belongs to the caller: the same key of another one is another session.
    """
    if given is None:
        key = f"mcp-{int(now.timestamp() * 1000)}-{rng.getrandbits(24):06x}"
        return SessionKey(key, session_key_hash(identity(principal), key), is_kept=False)
    if not given.strip() or len(given) > MAX_SESSION_KEY or not given.isprintable():
        raise InvalidArgumentError(
            f"argument 'sessionKey' has 1 to {MAX_SESSION_KEY} printable characters; leave it out"
            " for an order that stands alone"
        )
    return SessionKey(given, session_key_hash(identity(principal), given), is_kept=True)


def identity(principal: Principal) -> str:
    """Return who a session belongs to: a client through all the tokens it is given, or a token."""
    return f"client {principal.client}" if principal.client else f"token {principal.subject}"


def said_before(session: Session) -> list[dict[str, str]]:
    """Return the turns of a session as messages."""
    messages: list[dict[str, str]] = []
    for turn in session.turns:
        along = f"\n\n[came along: {', '.join(turn.files)}]" if turn.files else ""
        messages.append({"role": "user", "content": turn.message + along})
        messages.append({"role": "assistant", "content": turn.answer})
    return messages


def halved(messages: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Return the newer half of what was said, beginning with what somebody asked."""
    turns = len(messages) // 2
    return list(messages[(turns - turns // 2) * 2 :])


def _bounded(turn: Turn) -> Turn:
    # An answer may be empty of text, which models' APIs refuse.
    return replace(
        turn,
        message=shortened(turn.message, SESSION_TEXT_BYTES),
        answer=shortened(turn.answer, SESSION_TEXT_BYTES),
    )


def _line(turn: Turn) -> str:
    half = SESSION_LINE_BYTES // 2 - 10
    asked, answered = (shortened(one_line(text), half) for text in (turn.message, turn.answer))
    return f"- {asked} -> {answered}"
