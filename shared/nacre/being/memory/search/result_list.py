"""Search results as text: memories one line each, messages with the part that matches."""

from collections.abc import Mapping, Sequence
from typing import Any

from nacre.being.memory.model.lineage import lineage_of_text, origins_of, standing_of
from nacre.being.memory.model.types import Message
from nacre.being.memory.search.candidates import Memory
from nacre.being.memory.search.search import SearchHit, SearchKind, SearchResult
from nacre.being.memory.store.history import MessageHits, folded
from nacre.being.memory.text.memory_text import counted, shown_line
from nacre.being.memory.text.reported import reported_by, reporters
from nacre.being.memory.text.text_blocks import shortened
from nacre.core.limits import (
    HISTORY_SCAN_BYTES,
    MAX_ANSWER_BYTES,
    MAX_LINE_BYTES,
)
from nacre.core.origins import external_servers, texts_of

_SEARCHED: Mapping[SearchKind, str] = {
    "vector": "vector search",
    "words": "keyword search (no vectors)",
    "scan": "keyword search (no index)",
    "date": "date",
}
_SHOWN = ("vector", "words", "tokens")  # the channels in the text; programs get all of them
_TRUSTED = ("user", "agent")  # classes that need no mention
_HEADER = 500  # bytes of an answer that are not messages
_BEFORE = 200  # characters shown before the first match


def found_text(answer: SearchResult, *, more: str = "") -> str:
    """Return the memories of a search, one line each, below a line that says how it searched.

    `more` is the line at the end that says how to get more, if there are more.
    """
    memories = counted(len(answer.hits), "memory", "memories") if answer.hits else "no memories"
    header = "; ".join([f"{memories} by {_SEARCHED[answer.kind]}", *answer.remarks])
    lines = [f"{place}. {_hit(hit)}" for place, hit in enumerate(answer.hits, start=1)]
    if more:
        lines.append(more)
    return within([header, *lines])


def memory_line(memory: Memory, notes: str = "") -> str:
    """Return a memory in one line, with its id and unusual properties in brackets."""
    parts = [f"{memory.kind} {memory.id}"]
    if memory.record.status not in ("active", "pending"):
        parts.append(memory.record.status)
    if (standing := standing_of(memory.record)) not in _TRUSTED:
        parts.append(f"trust {standing}")
    if reported := reported_by(memory.record):
        parts.append(reported)
    if notes:
        parts.append(notes)
    return f"{shortened(shown_line(memory.record), MAX_LINE_BYTES)} [{'; '.join(parts)}]"


def within(lines: Sequence[str]) -> str:
    """Return the lines that fit in one answer, and a count of those left out."""
    room = MAX_ANSWER_BYTES
    for place, line in enumerate(lines):
        room -= len(line.encode()) + 1
        if room < 0:
            return "\n".join([*lines[:place], f"… {len(lines) - place} more lines left out"])
    return "\n".join(lines)


def message_list(hits: MessageHits, query: str) -> str:
    """Return messages with their times, below a line that counts them."""
    count = len(hits.messages)
    header = f"{count or 'No'} message{'' if count == 1 else 's'}, newest first"
    if hits.more:
        header += f'; older ones match too: go on with before="{hits.before}"'
    if hits.truncated:
        size = HISTORY_SCAN_BYTES // (1024 * 1024)
        header += f"; truncated: the search stopped after {size} MB"
        header += f'; go on with before="{hits.before}"'
    room = (MAX_ANSWER_BYTES - _HEADER) // max(1, count)
    return "\n\n".join([header, *(_message(message, query, room) for message in hits.messages)])


def trace(answer: SearchResult) -> dict[str, Any]:
    """Return the hits for programs, with the scores of every channel."""
    return {
        "search": answer.kind,
        "remarks": list(answer.remarks),
        "memories": [
            {
                "kind": hit.memory.kind,
                "id": hit.memory.id,
                "score": round(hit.score, 4),
                "weak": hit.is_weak,
                **_lineage(hit.memory),
                **({"newer": hit.newer} if hit.newer else {}),
                "channels": _rounded(hit.channels),
                "parts": _rounded(hit.parts),
            }
            for hit in answer.hits
        ],
    }


def _lineage(memory: Memory) -> dict[str, Any]:
    """Return where a memory comes from, for programs."""
    record = memory.record
    servers = external_servers(lineage_of_text(record))
    return {
        "origins": list(texts_of(origins_of(record))),
        **({"reported_by": list(servers)} if servers else {}),
    }


def _message(message: Message, query: str, room: int) -> str:
    reported = reporters(message.origins) if message.origins else ""
    frame = f"[{message.ts}] {message.role}{reported and f' ({reported})'}: "
    return frame + _excerpt(message.content, query, room - len(frame) - 2)


def _excerpt(text: str, query: str, room: int) -> str:
    """Return the text, or its part around the first match, in at most `room` bytes."""
    if len(text.encode()) <= room:
        return text
    # Folding may change lengths a little, but the place is close enough.
    place = max(0, folded(text).find(folded(query)) - _BEFORE) if query else 0
    room -= 8  # two ellipses and the halves of letters that are cut off
    part = text[place:].encode()[:room].decode(errors="ignore")
    return f"{'…' if place else ''}{part}{'…' if place + len(part) < len(text) else ''}"


def _hit(hit: SearchHit) -> str:
    earlier = "" if hit.newer is None else f"earlier; now: {hit.newer}; "
    if not hit.channels:
        return memory_line(hit.memory, earlier.removesuffix("; "))
    channels = ", ".join(
        f"{name} {score:.2f}" for name, score in hit.channels.items() if name in _SHOWN
    )
    weak = "weak; " if hit.is_weak else ""
    return memory_line(hit.memory, f"{earlier}{weak}score {hit.score:.2f}: {channels}")


def _rounded(scores: Mapping[str, float]) -> dict[str, float]:
    return {name: round(score, 4) for name, score in scores.items()}
