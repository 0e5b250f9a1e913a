"""What a model is shown of memories and messages: data, in JSON, each text within a bound."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nacre.being.memory.model.types import Message
from nacre.being.memory.text.memory_text import Told, one_line
from nacre.being.memory.text.text_blocks import shortened
from nacre.core.limits import (
    ASKED_BYTES,
    ASKED_MESSAGE_BYTES,
    ASKED_MESSAGES,
    ASKED_TEXT_BYTES,
)

# Clients pass the block on as it was, as escaped HTML, or inside JSON. A tag never ends a line
# in between, and its name may have been typed again.
_TAG = re.compile(
    r"""(?:<|&lt;|\\u003c|\uff1c|\[) \s{0,4} (?P<end>\\?/)? \s{0,4}
        memory [-_\s\u2010-\u2015]? recall (?![\w-]) [^<>\[\]\n]{0,200}?
        (?:/?>|&gt;|\\u003e|\uff1e|\])""",
    re.IGNORECASE | re.VERBOSE,
)
# A line that names its memory was recalled even where the tags around it are lost.
_TRACED = re.compile(
    r"^[^\n]* \[ (?:node|scene) [ ] [0-9A-Za-z-]{26,36} \] [^\S\n]* $ \n?",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)


def without_recalls(text: str) -> str:
    """Return the text without the blocks of recalls.

    What follows a tag that nothing ends, and what stands before an end that nothing began, is
    taken for part of a block: a conversation that was cut loses a line rather than teach a
    memory to itself.
    """
    kept: list[str] = []
    place = 0
    is_inside = False
    for tag in _TAG.finditer(text):
        if tag["end"] is not None:
            is_inside = False
        elif not is_inside:
            kept.append(text[place : tag.start()])
            is_inside = True
        place = tag.end()
    if not is_inside:
        kept.append(text[place:])
    return _TRACED.sub("", "".join(kept)).strip()


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
