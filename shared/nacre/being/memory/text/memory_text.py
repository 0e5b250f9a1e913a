"""How memories read: one line each, and the block that a recall gives back."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Protocol

from nacre.being.memory.text.text_blocks import shortened
from nacre.core.limits import RECALL_BYTES

_OPEN, _CLOSE = "<memory-recall>", "</memory-recall>"
_DAYS_SHOWN = 4
_ACTORS_BYTES = 160  # of a recall's 1200 for three memories
# A memory that holds the fence itself must not end it early.
_FENCE = re.compile(r"<(?=\s*/?\s*memory-recall)", re.IGNORECASE)


class Told(Protocol):
    """What was noted of an event: a scene, or the node that came of it."""

    @property
    def action(self) -> str:
        """Return what happened."""
        ...

    @property
    def actors(self) -> Sequence[str]:
        """Return who was involved."""
        ...

    @property
    def when(self) -> Sequence[str]:
        """Return the days, as YYYY-MM-DD."""
        ...

    @property
    def setting(self) -> str | None:
        """Return where or in what context."""
        ...

    @property
    def feeling(self) -> str | None:
        """Return the impression it left."""
        ...


@dataclass(frozen=True, slots=True)
class Fragment:
    """A memory in a recall, and what it can be traced by: `node ID` or `scene ID`.

    `similar` are memories that are close to it and say something else; they stay beside it.
    """

    text: str
    source: str
    similar: tuple["Fragment", ...] = ()


def scene_line(told: Told) -> str:
    """Return an event as one line: `[days] actors: action (setting) — feeling`."""
    return _line_of(told, ", ".join(told.when), ", ".join(told.actors))


def shown_line(told: Told) -> str:
    """Return the same, with many days as a span and many actors cut: what happened is seen."""
    days = ", ".join(told.when)
    if len(told.when) > _DAYS_SHOWN:
        days = f"{min(told.when)} to {max(told.when)}, {len(told.when)} days"
    return _line_of(told, days, shortened(", ".join(told.actors), _ACTORS_BYTES))


def _line_of(told: Told, days: str, actors: str) -> str:
    days = f"[{days}] " if days else ""
    actors = f"{actors}: " if actors else ""
    setting = f" ({told.setting})" if told.setting else ""
    feeling = f" — {told.feeling}" if told.feeling else ""
    return one_line(f"{days}{actors}{told.action}{setting}{feeling}")


def one_line(text: str) -> str:
    """Return the text with every run of blanks as one space."""
    return " ".join(text.split())


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun: "1 scene", "2 scenes"."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def recall_block(fragments: Sequence[Fragment], message: str) -> str:
    """Return the block for a message, its fragments shuffled as the message has it.

    The same message and fragments give the same bytes; nothing gives nothing.
    """
    if not fragments:
        return ""
    seed = int.from_bytes(sha256(message.encode(errors="replace")).digest())
    shuffled = Random(seed).sample(fragments, len(fragments))  # noqa: S311  no secret hangs on it
    shuffled = [each for first in shuffled for each in (first, *first.similar)]
    frame = [_OPEN, *(_line("", each.source) for each in shuffled), _CLOSE]
    room = _shares([_fenced(each.text) for each in shuffled], RECALL_BYTES - _size(frame))
    lines = [
        _line(shortened(_fenced(each.text), size), each.source)
        for each, size in zip(shuffled, room, strict=True)
    ]
    return "\n".join([_OPEN, *lines, _CLOSE])


def _line(text: str, source: str) -> str:
    return f"- {text} [{source}]"


def _fenced(text: str) -> str:
    return _FENCE.sub("&lt;", text)


def _size(lines: Sequence[str]) -> int:
    return len("\n".join(lines).encode())


def _shares(texts: Sequence[str], room: int) -> list[int]:
    """Return how many bytes each text gets: what short ones leave goes to the longer ones."""
    sizes = [len(text.encode()) for text in texts]
    shares = [0] * len(texts)
    for done, place in enumerate(sorted(range(len(texts)), key=lambda each: sizes[each])):
        shares[place] = min(sizes[place], room // (len(texts) - done))
        room -= shares[place]
    return shares
