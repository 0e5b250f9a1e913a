"""The actions of `update_memory` on all targets, with answers as plain values."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Literal

from nacre.being.memory.memory_actions import MEMORIES, MemoryActions
from nacre.being.memory.store.entries import Entries, Outcome
from nacre.being.memory.store.entry_items import Entry
from nacre.being.memory.store.letters import TRUST, Letter, Letters
from nacre.being.memory.store.targets import TARGETS, Target
from nacre.core.errors import InvalidArgumentError
from nacre.core.limits import MAX_ANSWER_BYTES, PREVIEW_LENGTH
from nacre.core.origins import Origin

_FRAME = 2000  # bytes for everything around the one long part of an answer
ROOM = MAX_ANSWER_BYTES - _FRAME
"""The most bytes of JSON in the long part of an answer."""


def head(text: str, room: int = ROOM) -> str:
    """Return the longest beginning of the text that is at most `room` bytes of JSON."""
    while (size := _size(text)) > room:
        text = text[: min(len(text) - 1, len(text) * room // size)]
    return text


def fitting(entries: Iterable[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], bool]:
    """Return the first entries that fit in an answer, and whether these are all."""
    room = ROOM
    result: list[Mapping[str, Any]] = []
    for entry in entries:
        room -= _size(entry) + 2
        if room < 0:
            return result, False
        result.append(entry)
    return result, True


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


Action = Literal["get", "append", "update", "delete"]

LETTERS = "party_message"

_AT_ONCE = 100  # entries read for a list at a time
_READ = "read"


class TargetActions:
    """Reads and writes the entries of all targets, and returns the answers for the model."""

    def __init__(self, entries: Entries, letters: Letters, memories: MemoryActions) -> None:
        self._entries = entries
        self._letters = letters
        self._memories = memories

    def apply(
        self,
        being_id: str,
        target: str,
        action: Action,
        *,
        content: str | None = None,
        key: str | None = None,
        location: str | None = None,
        to: str | None = None,
        origins: Collection[Origin] = (),
        collected: set[Origin] | None = None,
    ) -> dict[str, Any]:
        """Do the action and return its answer; raises InvalidInputError that names the argument.

        `origins` and `collected` are for memories; see `MemoryActions`.
        """
        if location is not None and target != "partner_map":
            raise InvalidArgumentError("argument 'location' belongs to partner_map")
        if to is not None and (target != LETTERS or action != "append"):
            raise InvalidArgumentError("argument 'to' belongs to append of party_message")
        if target == LETTERS:
            answer = _letter_answer(self._letters, being_id, action, content, key, to)
        elif target == MEMORIES:
            answer = self._memories.apply(
                being_id, action, content=content, key=key, origins=origins, collected=collected
            )
        else:
            definition = TARGETS[target]
            if action == "get":
                answer = _read(self._entries, being_id, definition, content, key)
            else:
                outcome = _write(
                    self._entries, being_id, definition, action, content, key, location
                )
                answer = _outcome_answer(outcome)
        return {"success": True, "target": target, "action": action, **answer}


def _write(
    entries: Entries,
    being_id: str,
    target: Target,
    action: Action,
    content: str | None,
    key: str | None,
    location: str | None,
) -> Outcome:
    if action == "delete":
        return entries.delete(being_id, target, _needed("key", key, action))
    text = _needed("content", content, action)
    if action == "append":
        return entries.append(being_id, target, text, key=key, location=location)
    return entries.update(being_id, target, _needed("key", key, action), text, location=location)


def _outcome_answer(outcome: Outcome) -> dict[str, Any]:
    before = None if outcome.before is None else head(outcome.before)
    is_cut = before != outcome.before
    return {
        "success": outcome.success,
        "key": outcome.key,
        "version": outcome.version,
        "before": before,
        "before_is_cut": True if is_cut else None,
        "remark": outcome.remark,
    }


def _read(
    entries: Entries, being_id: str, target: Target, content: str | None, key: str | None
) -> dict[str, Any]:
    if key is None:
        return _list_answer(_list(entries, being_id, target, content or ""))
    entry = entries.get(being_id, target, key)
    if entry is None:
        return _absent(key)
    details = {"version": entry.version, "updated_at": entry.updated_at, **_extras(entry)}
    return {"key": entry.key, **details, **_part(entry.text or "", content)}


def _list(entries: Entries, being_id: str, target: Target, after: str) -> Iterator[dict[str, Any]]:
    start = None
    while True:
        page = entries.page(being_id, target, keys_in=(after, None), limit=_AT_ONCE, start=start)
        for entry in page.entries:
            if entry.key != after:
                yield {
                    "key": entry.key,
                    "preview": entry.preview,
                    "version": entry.version,
                    **_extras(entry),
                }
        if (start := page.next) is None:
            return


def _extras(entry: Entry) -> dict[str, Any]:
    extras: dict[str, Any] = {}
    if entry.location is not None:
        extras["location"] = entry.location
    if not entry.enabled:
        extras["enabled"] = False
    return extras


def _part(text: str, place: str | None) -> dict[str, Any]:
    """Return the text from a place on, as much as fits in an answer, and where the rest begins."""
    start = int(place[:9]) if place and place.isascii() and place.isdigit() else 0
    part = head(text[start:])
    end = start + len(part)
    if end >= len(text):
        return {"content": part}
    return {"content": part, "characters_left": len(text) - end, "next": str(end)}


def _list_answer(entries: Iterator[Mapping[str, Any]]) -> dict[str, Any]:
    first, are_all = fitting(entries)
    if are_all or not first:
        return {"entries": first}
    return {"entries": first, "next": first[-1]["key"]}


def _letter_answer(
    letters: Letters,
    being_id: str,
    action: Action,
    content: str | None,
    key: str | None,
    to: str | None,
) -> dict[str, Any]:
    if action == "get" and key is None:
        return _list_answer(_letters(letters, being_id, content or ""))
    if action == "append":
        text = _needed("content", content, action)
        sent = letters.send(being_id, _needed("to", to, action), text)
        return {"key": sent.letter_id, "to": sent.partner}
    letter_id = _needed("key", key, action)
    letter: Letter | None
    if action == "get":
        letter = letters.get(being_id, letter_id)
    elif action == "update":
        if (content or "").strip().casefold() != _READ:
            raise InvalidArgumentError(
                f"argument 'content': a received message can only be marked as '{_READ}'"
            )
        letter = letters.mark_read(being_id, letter_id)
    else:
        letter = letters.delete(being_id, letter_id)
    if letter is None:
        return _absent(letter_id)
    if action == "update":
        return {**_fields(letter), "read": True}
    return {**_fields(letter), "before" if action == "delete" else "content": head(letter.content)}


def _letters(letters: Letters, being_id: str, before: str) -> Iterator[dict[str, Any]]:
    every = [*letters.received(being_id), *letters.sent(being_id)]
    for letter in sorted(every, key=lambda letter: letter.letter_id, reverse=True):
        if not before or letter.letter_id < before:
            yield {**_fields(letter), "preview": " ".join(letter.content.split())[:PREVIEW_LENGTH]}


def _fields(letter: Letter) -> dict[str, Any]:
    if letter.is_sent:
        return {"key": letter.letter_id, "to": letter.partner, "sent_at": letter.sent_at}
    return {
        "key": letter.letter_id,
        "from": letter.partner,
        "trust": TRUST,
        "sent_at": letter.sent_at,
        "read": letter.is_read,
    }


def _absent(key: str) -> dict[str, Any]:
    return {"success": False, "key": key[:200], "remark": "there is no entry of this key"}


def _needed(name: str, value: str | None, action: Action) -> str:
    if value is None or not value.strip():
        raise InvalidArgumentError(f"argument '{name}' is needed for {action}")
    return value
