"""The parts that readers of transcripts share: messages, omitted records, and text in blocks."""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from nacre.being.memory.conversations.captured_message import CapturedMessage
from nacre.core.lazy_dataclasses import dataclass

ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "gemini": "assistant",
    "model": "assistant",
}
"""The roles of people and models in all formats. Messages of other roles are left out."""

NOT_A_RECORD = "not a JSON object, like a line that was half written"
NO_CONVERSATION = "not a conversation"


def unknown_type(kind: object) -> str:
    """Return the reason for a record of an unknown type."""
    return f"a record of the unknown type {str(kind)[:40]!r}"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A record that is not a message: its number in the file, and the reason."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Hints:
    """Defaults for facts that a conversation does not state, taken from its file's place."""

    session: str
    changed: datetime
    project: str | None = None


def mapping(value: object) -> dict[str, Any]:
    """Return the value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """Return the value if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def text_or_none(value: object) -> str | None:
    """Return the value if it is a text that is not blank, else None."""
    return value if isinstance(value, str) and value.strip() else None


def joined(content: object, kinds: Iterable[str]) -> str:
    """Return the text of a content: a text, or blocks of which those of some kinds count."""
    if isinstance(content, str):
        return content
    blocks = [mapping(block) for block in sequence(content)]
    texts = [block.get("text") for block in blocks if block.get("type", "text") in kinds]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text.strip())


_BLOCK = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|memory-recall|nacre-context)\b[^>]*>.*?</\1>",
    re.DOTALL,
)


def without_injected(text: str) -> str:
    """Return the text without blocks that clients add to the messages of a person."""
    return _BLOCK.sub("", text).strip() if "</" in text else text.strip()


def numbered(values: Iterable[object]) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield each value that is a JSON object, else None, with its number from 1."""
    for number, value in enumerate(values, start=1):
        yield number, value if isinstance(value, dict) else None


def conversations(
    values: Iterable[object],
    recognizes: Callable[[dict[str, Any]], bool],
    messages_of: Callable[[dict[str, Any]], Iterator[CapturedMessage]],
) -> Iterator[CapturedMessage | LeftOut]:
    """Yield the messages of an export that has a conversation in each record."""
    for number, record in numbered(values):
        if record is None:
            yield LeftOut(number, NOT_A_RECORD)
        elif not recognizes(record):
            yield LeftOut(number, NO_CONVERSATION)
        else:
            yield from messages_of(record)
