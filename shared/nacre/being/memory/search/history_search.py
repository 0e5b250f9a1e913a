"""What `search_history` does: tell what was said."""

from nacre.being.memory.model.types import Message
from nacre.being.memory.store.history import Findings, History, folded
from nacre.core.limits import HISTORY_SCAN_BYTES, MAX_ANSWER_BYTES

_HEADER = 500  # bytes of an answer that are not messages
_BEFORE = 200  # characters shown before the first match


class Recounting:
    """Searches the history; answers are what the model is shown."""

    def __init__(self, history: History) -> None:
        self._history = history

    def search(
        self,
        being_id: str,
        *,
        limit: int,
        query: str | None = None,
        date_from: str | None = None,
        date_to: str | None = None,
        before: str | None = None,
    ) -> str:
        """Return the messages found, each with its time, below a line that counts them."""
        found = self._history.search(
            being_id,
            limit=limit,
            query=query,
            date_from=date_from,
            date_to=date_to,
            before=before,
        )
        return _listed(found, query or "")


def _listed(found: Findings, query: str) -> str:
    count = len(found.messages)
    header = f"{count or 'No'} message{'' if count == 1 else 's'}, newest first"
    if found.more:
        header += f'; older ones match too: go on with before="{found.before}"'
    if found.truncated:
        size = HISTORY_SCAN_BYTES // (1024 * 1024)
        header += f"; truncated: the search stopped after {size} MB"
        header += f'; go on with before="{found.before}"'
    room = (MAX_ANSWER_BYTES - _HEADER) // max(1, count)
    return "\n\n".join([header, *(_shown(message, query, room) for message in found.messages)])


def _shown(message: Message, query: str, room: int) -> str:
    frame = f"[{message.ts}] {message.role}: "
    return frame + _excerpt(message.content, query, room - len(frame) - 2)


def _excerpt(text: str, query: str, room: int) -> str:
    """Return the text, or the part of it around the first match, in so many bytes."""
    if len(text.encode()) <= room:
        return text
    # Folding may change lengths a little; the place is near enough.
    place = max(0, folded(text).find(folded(query)) - _BEFORE) if query else 0
    room -= 8  # two ellipses and the halves of letters that are cut off
    part = text[place:].encode()[:room].decode(errors="ignore")
    return f"{'…' if place else ''}{part}{'…' if place + len(part) < len(text) else ''}"
