"""What a model is shown of memories and messages: data, in JSON, each text within a bound."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nacre.limits import (
    ASKED_BYTES,
    ASKED_MESSAGE_BYTES,
    ASKED_MESSAGES,
    ASKED_TEXT_BYTES,
)
from nacre.memory.blocks import shortened
from nacre.memory.model import Message
from nacre.memory.rendering import Told, one_line
from nacre.patrol.recalled import without_recalls

_READ = ("user", "assistant")
_DAYS, _ACTORS = 8, 12  # of one memory: enough to tell it from others


@dataclass(frozen=True, slots=True)
class Shown:
    """A message that is worth reading, and the part of it that a model is shown."""

    message: Message
    text: str


def readable(messages: Sequence[Message]) -> list[Shown]:
    """Return what people and assistants said, without what was only recalled.

    What tools gave back is left out: it is long, it is the world's and not the Being's, and
    whoever wrote it would have a word in what the Being remembers.
    """
    shown = []
    for message in messages:
        if message.role.casefold() in _READ:
            text = without_recalls(message.content)
            if text:
                shown.append(Shown(message, shortened(text, ASKED_MESSAGE_BYTES)))
    return shown


def portions(messages: Sequence[Message]) -> Iterator[tuple[Message, ...]]:
    """Yield the messages that are read, in their order, as many at a time as one question holds.

    The same messages always fall into the same portions.
    """
    portion: list[Message] = []
    size = 0
    for shown in readable(messages):
        length = len(shown.text.encode())
        if portion and (size + length > ASKED_BYTES or len(portion) == ASKED_MESSAGES):
            yield tuple(portion)
            portion, size = [], 0
        portion.append(shown.message)
        size += length
    if portion:
        yield tuple(portion)


def as_data(**values: object) -> str:
    """Return values as JSON: no text in it can end the place where it stands."""
    return json.dumps(values, ensure_ascii=False, indent=1)


def facts(told: Told) -> dict[str, object]:
    """Return a memory for a model."""
    found: dict[str, object] = {
        "days": list(told.when[:_DAYS]),
        "actors": list(told.actors[:_ACTORS]),
        "what": shortened(told.action, ASKED_TEXT_BYTES),
    }
    if told.setting:
        found["where"] = shortened(told.setting, ASKED_TEXT_BYTES)
    if told.feeling:
        found["feeling"] = shortened(told.feeling, ASKED_TEXT_BYTES)
    return found


def briefly(lines: Sequence[str], *, room: int = ASKED_BYTES) -> list[str]:
    """Return lines that fit together, each cut to an even share of the room."""
    share = max(80, room // max(1, len(lines)))
    return [shortened(one_line(line), share) for line in lines[: room // 80]]
