"""Memories and messages as a model sees them: JSON data with limited texts."""

import json
import re
from collections.abc import Iterator, Sequence

from nacre.being.memory.model.types import Message, SceneText
from nacre.being.memory.text.memory_text import one_line
from nacre.being.memory.text.text_blocks import shortened
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import (
    ASKED_BYTES,
    ASKED_MESSAGE_BYTES,
    ASKED_MESSAGES,
    ASKED_TEXT_BYTES,
)

# Clients pass the block on unchanged, as escaped HTML, or inside JSON. A tag is on one line, and
# its name may have been retyped.
_TAG = re.compile(
    r"""(?:<|&lt;|\\u003c|\uff1c|\[) \s{0,4} (?P<end>\\?/)? \s{0,4}
        memory [-_\s\u2010-\u2015]? recall (?![\w-]) [^<>\[\]\n]{0,200}?
        (?:/?>|&gt;|\\u003e|\uff1e|\])""",
    re.IGNORECASE | re.VERBOSE,
)
# A line that names its memory was recalled, even if the tags around it are lost.
_TRACED = re.compile(
    r"^[^\n]* \[ (?:node|scene) [ ] [0-9A-Za-z-]{26,36} \] [^\S\n]* $ \n?",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)


def without_recalls(text: str) -> str:
    """Return the text without recalled memories.

    Text after an opening tag without an end is removed, and so is text before an end tag without a
    beginning: a shortened conversation may lose a line, but no memory is learned from itself.
    """
    parts: list[str] = []
    place = 0
    is_inside = False
    for tag in _TAG.finditer(text):
        if tag["end"] is not None:
            is_inside = False
        elif not is_inside:
            parts.append(text[place : tag.start()])
            is_inside = True
        place = tag.end()
    if not is_inside:
        parts.append(text[place:])
    return _TRACED.sub("", "".join(parts)).strip()


_READ = ("user", "assistant")
_DAYS, _ACTORS = 8, 12  # the most of one memory; enough to tell it from others


@dataclass(frozen=True, slots=True)
class ReadableMessage:
    """A message with text to read, and the part of the text that a model is shown."""

    message: Message
    text: str


def readable(messages: Sequence[Message]) -> list[ReadableMessage]:
    """Return the messages of people and assistants, without recalled memories.

    Results of tools are left out: they are long, and their authors could otherwise write into the
    memory of the Being.
    """
    readable_messages = []
    for message in messages:
        if message.role.casefold() in _READ:
            text = without_recalls(message.content)
            if text:
                readable_messages.append(
                    ReadableMessage(message, shortened(text, ASKED_MESSAGE_BYTES))
                )
    return readable_messages


def portions(messages: Sequence[Message]) -> Iterator[tuple[Message, ...]]:
    """Yield the readable messages in order, in portions that fit one question.

    The same messages always give the same portions.
    """
    portion: list[Message] = []
    size = 0
    for entry in readable(messages):
        length = len(entry.text.encode())
        if portion and (size + length > ASKED_BYTES or len(portion) == ASKED_MESSAGES):
            yield tuple(portion)
            portion, size = [], 0
        portion.append(entry.message)
        size += length
    if portion:
        yield tuple(portion)


def as_data(**values: object) -> str:
    """Return values as JSON, so that no text can be mistaken for its surroundings."""
    return json.dumps(values, ensure_ascii=False, indent=1)


def facts(scene: SceneText) -> dict[str, object]:
    """Return the facts of a memory for a model."""
    values: dict[str, object] = {
        "days": list(scene.when[:_DAYS]),
        "actors": list(scene.actors[:_ACTORS]),
        "what": shortened(scene.action, ASKED_TEXT_BYTES),
    }
    if scene.setting:
        values["where"] = shortened(scene.setting, ASKED_TEXT_BYTES)
    if scene.feeling:
        values["feeling"] = shortened(scene.feeling, ASKED_TEXT_BYTES)
    return values


def briefly(lines: Sequence[str], *, size: int = ASKED_BYTES) -> list[str]:
    """Return lines that fit the size together, each cut to an equal share."""
    share = max(80, size // max(1, len(lines)))
    return [shortened(one_line(line), share) for line in lines[: size // 80]]
