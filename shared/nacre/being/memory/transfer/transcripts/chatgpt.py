"""The export of ChatGPT (2023 to 2026): `conversations.json`, an array of trees of messages.

A tree has a branch for each edited question and each repeated answer. All branches are read,
because the person has seen them all; a message is in several branches only once.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from nacre.being.memory.conversations.captured_message import CapturedMessage
from nacre.being.memory.transfer.transcripts.parts import (
    ROLES,
    Hints,
    LeftOut,
    conversations,
    mapping,
    sequence,
    text_or_none,
)
from nacre.being.memory.transfer.transcripts.times import first_time

CLIENT = "chatgpt"

_SPOKEN = ("text", "multimodal_text")  # other contents are of tools, or settings
_TRANSCRIPT = "audio_transcription"


def recognizes(record: dict[str, object]) -> bool:
    """Return whether a record is of this format."""
    return isinstance(record.get("mapping"), dict)


def read(values: Iterable[object], hints: Hints) -> Iterator[CapturedMessage | LeftOut]:
    """Return the messages of conversations, in the order in which they follow each other."""
    return conversations(values, recognizes, partial(_conversation, hints=hints))


def _conversation(record: dict[str, Any], hints: Hints) -> Iterator[CapturedMessage]:
    nodes = mapping(record.get("mapping"))
    session = text_or_none(record.get("conversation_id")) or text_or_none(record.get("id"))
    started = first_time(record.get("create_time"), record.get("update_time")) or hints.changed
    at = started
    for key in _in_order(nodes):
        message = mapping(mapping(nodes[key]).get("message"))
        role = ROLES.get(str(mapping(message.get("author")).get("role")))
        at = first_time(message.get("create_time")) or at
        if role is None or not _is_shown(message):
            continue
        text = _text(mapping(message.get("content")))
        if text:
            yield CapturedMessage(
                client=CLIENT,
                session=session or hints.session,
                message_id=text_or_none(message.get("id")) or key,
                role=role,
                text=text,
                at=at,
            )


def _in_order(nodes: dict[str, Any]) -> Iterator[str]:
    """Yield the keys of a tree, each message before those that answer it.

    A tree from outside may have loops and children that do not exist.
    """
    children: dict[str, list[str]] = {}
    roots = []
    for key, node in nodes.items():
        parent = mapping(node).get("parent")
        if isinstance(parent, str) and parent in nodes and parent != key:
            children.setdefault(parent, []).append(key)
        else:
            roots.append(key)
    visited: set[str] = set()
    # Keys that no root reaches are in a loop: each then begins where the file has it first.
    for first in (*roots, *nodes):
        waiting = [first]
        while waiting:
            key = waiting.pop()
            if key not in visited:
                visited.add(key)
                yield key
                waiting += reversed(children.get(key, ()))


def _is_shown(message: dict[str, Any]) -> bool:
    metadata = mapping(message.get("metadata"))
    return (
        message.get("recipient", "all") == "all"
        and message.get("channel") in (None, "final")
        and not metadata.get("is_visually_hidden_from_conversation")
        and not metadata.get("is_user_system_message")
    )


def _text(content: dict[str, Any]) -> str:
    if content.get("content_type") not in _SPOKEN:
        return ""
    texts = []
    for part in sequence(content.get("parts")):
        if isinstance(part, dict):
            part = part.get("text") if part.get("content_type") == _TRANSCRIPT else None
        if isinstance(part, str) and part.strip():
            texts.append(part.strip())
    return "\n\n".join(texts)
