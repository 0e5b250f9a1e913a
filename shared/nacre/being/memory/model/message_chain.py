"""The chain of messages, which recognises a batch that overlaps stored messages.

Each hash covers the message and the hash before it, so one hash stands for a whole history.
A marker holds the last hashes, and its id is made from the last of them.
"""

import hashlib
import json
import uuid
from collections.abc import Sequence

from nacre.being.memory.model.types import Marker
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import MARKER_TAIL

START = ""  # the hash before the first message


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message as a client sends it."""

    role: str
    content: str
    origins: tuple[str, ...] = ()  # see `Message`


def link(before: str, message: ChatMessage) -> str:
    """Return the hash of a message after the history that `before` stands for."""
    text = json.dumps([before, message.role, message.content], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def links(before: str, batch: Sequence[ChatMessage]) -> list[str]:
    """Return the hash after each message of the batch."""
    result = []
    for message in batch:
        before = link(before, message)
        result.append(before)
    return result


def marker_id_of(being_id: str, hash_: str) -> str:
    """Return the id of the marker of a history that ends with this hash."""
    return str(uuid.uuid5(uuid.UUID(being_id), f"marker:{hash_}"))


def marker_at(being_id: str, before: Marker | None, added: Sequence[str]) -> Marker:
    """Return the marker after these hashes were added to a history."""
    tail = (*(before.tail if before else ()), *added)[-MARKER_TAIL:]
    count = (before.count if before else 0) + len(added)
    return Marker(marker_id=marker_id_of(being_id, tail[-1]), tail=tail, count=count)


def overlap(marker: Marker, batch: Sequence[ChatMessage]) -> int:
    """Return how many messages at the head of the batch end the history of the marker.

    The longest overlap counts, because a client repeats as many messages as it can.
    """
    tail = marker.tail
    chain = (START, *tail) if marker.count == len(tail) else tail
    for first in range(max(0, len(chain) - 1 - len(batch)), len(chain) - 1):
        length = len(chain) - 1 - first
        before = chain[first]
        for message, expected in zip(batch[:length], chain[first + 1 :], strict=True):
            before = link(before, message)
            if before != expected:
                break
        else:
            return length
    return 0
