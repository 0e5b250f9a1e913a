"""Conversations of Cursor (0.40 to 2.x): rows of the SQLite file `state.vscdb`.

A value here is a row: its key, and its value as JSON. Since 0.43 a conversation is a row
`composerData:ID`, with its messages inside or, later, in rows `bubbleId:ID:MESSAGE`; older
versions keep all of a folder's conversations in one row.
"""

from collections.abc import Callable, Iterator
from typing import Any

from nacre.being.memory.conversations.captured_message import CapturedMessage
from nacre.being.memory.transfer.transcripts.parts import (
    Hints,
    LeftOut,
    mapping,
    sequence,
    text_or_none,
)
from nacre.being.memory.transfer.transcripts.times import first_time

CLIENT = "cursor"

CONVERSATION, MESSAGE = "composerData:", "bubbleId:"
OLD_CHATS = "workbench.panel.aichat.view.aichat.chatdata"
_ROLES = {1: "user", 2: "assistant", "user": "user", "ai": "assistant"}

Row = Callable[[str], object]
"""Return the JSON value of a key, or None."""


def read_conversation(
    number: int, conversation_id: str, value: object, row: Row, hints: Hints
) -> Iterator[CapturedMessage | LeftOut]:
    """Yield the messages of one conversation; `row` reads the rows of its messages."""
    record = mapping(value)
    if not record:
        yield LeftOut(number, "a conversation that is not JSON")
        return
    at = first_time(record.get("createdAt"), record.get("lastUpdatedAt")) or hints.changed
    headers = sequence(record.get("fullConversationHeadersOnly"))
    missing = 0
    for header in map(mapping, headers or sequence(record.get("conversation"))):
        message_id = text_or_none(header.get("bubbleId"))
        bubble = header
        if headers:
            bubble = mapping(row(f"{MESSAGE}{conversation_id}:{message_id}"))
            missing += not bubble
        timing = mapping(bubble.get("timingInfo"))
        at = first_time(bubble.get("createdAt"), *map(timing.get, _TIMES)) or at
        folders = sequence(bubble.get("workspaceUris"))
        message = _message(bubble, conversation_id, message_id, folders, hints)
        if message is not None:
            yield CapturedMessage(**message, at=at)
    if missing:
        yield LeftOut(number, "a conversation that lacks some of its messages")


_TIMES = ("clientRpcSendTime", "clientStartTime", "clientEndTime")


def read_old_chats(value: object, hints: Hints) -> Iterator[CapturedMessage | LeftOut]:
    """Yield the messages of a folder in the form before 0.43."""
    for number, tab in enumerate(map(mapping, sequence(mapping(value).get("tabs"))), start=1):
        session = text_or_none(tab.get("tabId")) or f"{hints.session}-{number}"
        at = first_time(tab.get("lastSendTime")) or hints.changed
        for bubble in map(mapping, sequence(tab.get("bubbles"))):
            message = _message(bubble, session, text_or_none(bubble.get("id")), [], hints)
            if message is not None:
                yield CapturedMessage(**message, at=at)


def _message(
    bubble: dict[str, Any], session: str, message_id: str | None, folders: list[Any], hints: Hints
) -> dict[str, Any] | None:
    kind = bubble.get("type")
    role = _ROLES.get(kind) if isinstance(kind, int | str) else None
    text = text_or_none(bubble.get("text")) or text_or_none(bubble.get("rawText"))
    if role is None or text is None:
        return None
    return {
        "client": CLIENT,
        "session": session,
        "message_id": message_id,
        "role": role,
        "text": text.strip(),
        "project": hints.project or text_or_none(folders[0] if folders else None),
    }
