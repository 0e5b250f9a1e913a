"""What `search_history` and `trigger_patrol` do: tell what was said, and take in more of it."""

from collections.abc import Iterable
from typing import Any, Protocol

from nacre.limits import HISTORY_SCAN_BYTES, MAX_ANSWER_BYTES
from nacre.memory.chain import Said
from nacre.memory.history import Findings, History, folded
from nacre.memory.model import Message
from nacre.memory.trigger import PatrolTrigger

_HEADER = 500  # bytes of an answer that are not messages
_BEFORE = 200  # characters shown before the first match
_NOTHING = "nothing to do: no scene and no message waits"
_LATER = "stored and queued: memories are made of them when the patrol runs, in the background"


class Spoken(Protocol):
    """A message as a tool is given it."""

    @property
    def role(self) -> str: ...
    @property
    def content(self) -> str: ...


class Recounting:
    """Searches the history and adds to it; answers are what the model is shown."""

    def __init__(self, history: History, trigger: PatrolTrigger) -> None:
        self._history = history
        self._trigger = trigger

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

    def take(
        self, being_id: str, messages: Iterable[Spoken], *, marker_id: str | None = None
    ) -> dict[str, Any]:
        """Store messages and ask for a patrol, if there is anything for one to do."""
        batch = [Said(message.role, message.content) for message in messages]
        added = self._history.add(being_id, batch, marker_id=marker_id, for_patrol=True)
        scenes, unread = self._trigger.pending(being_id)
        is_work = scenes > 0 or unread > 0
        if is_work:
            self._trigger.ask(being_id)
        reasons = [added.remark, _LATER if is_work else _NOTHING]
        return {
            "status": "queued" if is_work else "ok",
            "scenes_created": 0,
            "nodes_created": 0,
            "marker_id": added.marker_id or "",
            "messages_stored": added.stored,
            "messages_known": added.known,
            "pending_scenes": scenes,
            "pending_messages": unread,
            "reasons": [reason for reason in reasons if reason],
        }


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
