"""How found memories are listed: what was searched, one line each, and where each came from."""

from collections.abc import Mapping, Sequence
from typing import Any

from nacre.being.memory.search.candidates import Remembered
from nacre.being.memory.search.search import Answer, Found, SearchKind
from nacre.being.memory.text.memory_text import counted, shown_line
from nacre.being.memory.text.text_blocks import shortened
from nacre.core.limits import MAX_ANSWER_BYTES, MAX_LINE_BYTES, MAX_SEARCH_MEMORIES

_SEARCHED: Mapping[SearchKind, str] = {
    "vector": "vector search",
    "words": "keyword search (no vectors)",
    "scan": "keyword search (no index)",
}
_MORE = f"… there are more: a larger limit (up to {MAX_SEARCH_MEMORIES}), or dates, show others"
_TRUSTED = ("user", "agent")  # the classes that need no mention


def found_text(answer: Answer, *, has_more: bool = False) -> str:
    """Return what a search found: a header that says how, then one line a memory."""
    memories = counted(len(answer.hits), "memory", "memories") if answer.hits else "no memories"
    header = "; ".join([f"{memories} by {_SEARCHED[answer.kind]}", *answer.remarks])
    lines = [f"{place}. {_hit(hit)}" for place, hit in enumerate(answer.hits, start=1)]
    if has_more:
        lines.append(_MORE)
    return within([header, *lines])


def memory_line(memory: Remembered, notes: str = "") -> str:
    """Return a memory's text, cut to a line, and in brackets its id and what is special."""
    parts = [f"{memory.kind} {memory.id}"]
    if memory.told.status not in ("active", "pending"):
        parts.append(memory.told.status)
    if memory.told.trust not in _TRUSTED:
        parts.append(f"trust {memory.told.trust}")
    if notes:
        parts.append(notes)
    return f"{shortened(shown_line(memory.told), MAX_LINE_BYTES)} [{'; '.join(parts)}]"


def within(lines: Sequence[str]) -> str:
    """Return the lines that one answer can carry; the last one counts those it cannot."""
    room = MAX_ANSWER_BYTES
    for place, line in enumerate(lines):
        room -= len(line.encode()) + 1
        if room < 0:
            return "\n".join([*lines[:place], f"… {len(lines) - place} more lines left out"])
    return "\n".join(lines)


def trace(answer: Answer) -> dict[str, Any]:
    """Return for programs what was found, with the score of every channel."""
    return {
        "search": answer.kind,
        "remarks": list(answer.remarks),
        "memories": [
            {
                "kind": hit.memory.kind,
                "id": hit.memory.id,
                "score": round(hit.score, 4),
                "channels": _rounded(hit.channels),
                "parts": _rounded(hit.parts),
            }
            for hit in answer.hits
        ],
    }


def _hit(hit: Found) -> str:
    channels = ", ".join(f"{name} {score:.2f}" for name, score in hit.channels.items())
    return memory_line(hit.memory, f"score {hit.score:.2f}: {channels}")


def _rounded(scores: Mapping[str, float]) -> dict[str, float]:
    return {name: round(score, 4) for name, score in scores.items()}
