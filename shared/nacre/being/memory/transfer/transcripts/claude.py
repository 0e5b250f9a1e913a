"""The export of Claude (2024 to 2026): `conversations.json`, an array with `chat_messages`."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from nacre.being.memory.conversations.captured_message import CapturedMessage
from nacre.being.memory.transfer.transcripts.parts import (
    ROLES,
    Hints,
    LeftOut,
    conversations,
    joined,
    mapping,
    sequence,
    text_or_none,
)
from nacre.being.memory.transfer.transcripts.times import first_time

CLIENT = "claude"


def recognizes(record: dict[str, object]) -> bool:
    """Return whether a record is of this format."""
    return isinstance(record.get("chat_messages"), list)


def read(values: Iterable[object], hints: Hints) -> Iterator[CapturedMessage | LeftOut]:
    """Return the messages of conversations; the text of attached files is left out."""
    return conversations(values, recognizes, partial(_conversation, hints=hints))


def _conversation(record: dict[str, Any], hints: Hints) -> Iterator[CapturedMessage]:
    session = text_or_none(record.get("uuid")) or hints.session
    project = text_or_none(mapping(record.get("project")).get("name"))
    at = first_time(record.get("created_at"), record.get("updated_at")) or hints.changed
    for value in sequence(record.get("chat_messages")):
        message = mapping(value)
        at = first_time(message.get("created_at"), message.get("updated_at")) or at
        role = ROLES.get(str(message.get("sender")))
        # `text` also has a remark for each block that an export cannot show.
        text = joined(sequence(message.get("content")), ("text",)) or message.get("text")
        if role is not None and isinstance(text, str) and text.strip():
            yield CapturedMessage(
                client=CLIENT,
                session=session,
                message_id=text_or_none(message.get("uuid")),
                role=role,
                text=text.strip(),
                at=at,
                project=project,
            )
