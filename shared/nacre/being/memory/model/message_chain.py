"""The chain of messages: how a batch that overlaps what is known is recognised.

Each hash covers the message and the hash before it, so one hash stands for a whole history.
A marker keeps the last hashes; its own id follows from the last of them.
"""

import hashlib
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from nacre.being.memory.model.types import Marker
from nacre.core.limits import MARKER_TAIL

START = ""  # the hash before the first message


@dataclass(frozen=True, slots=True)
class Said:
    """A message as it came: who said what."""

    role: str
    content: str


def link(before: str, said: Said) -> str:
    """Return the hash of a message after the history that `before` stands for."""
    text = json.dumps([before, said.role, said.content], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def links(before: str, batch: Sequence[Said]) -> list[str]:
    """Return the hash after each message of the batch."""
    result = []
    for said in batch:
        before = link(before, said)
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


def overlap(marker: Marker, batch: Sequence[Said]) -> int:
    """Return how many messages at the head of the batch are the end of the marker's history.

    The longest overlap counts: a client that sends its last messages again sends as many
    of them as it can.
    """
    tail = marker.tail
    whole = (START, *tail) if marker.count == len(tail) else tail
    for first in range(max(0, len(whole) - 1 - len(batch)), len(whole) - 1):
        length = len(whole) - 1 - first
        before = whole[first]
        for said, expected in zip(batch[:length], whole[first + 1 :], strict=True):
            before = link(before, said)
            if before != expected:
                break
        else:
            return length
    return 0
