"""What `update_memory` does: every action on every target, as plain values."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from nacre.being.memory.store.entries import Entry
from nacre.being.memory.store.letters import TRUST, Letter, Letters
from nacre.being.memory.store.profile import Outcome, Profile
from nacre.being.memory.store.targets import TARGETS, Target
from nacre.core.errors import InvalidArgumentError
from nacre.core.limits import MAX_ANSWER_BYTES, PREVIEW_LENGTH

_FRAME = 2000  # bytes for everything around the one long part of an answer
ROOM = MAX_ANSWER_BYTES - _FRAME
"""Bytes of JSON that the long part of an answer may have."""


def head(text: str, room: int = ROOM) -> str:
    """Return the text, or as much of its beginning as is JSON of so many bytes."""
    while (size := _size(text)) > room:
        text = text[: min(len(text) - 1, len(text) * room // size)]
    return text


def taken(entries: Iterable[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], bool]:
    """Return as many of the entries as an answer holds, and whether these are all."""
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


class Updates:
    """Reads and writes the entries of all targets; answers are what the model is shown."""

    def __init__(self, profile: Profile, letters: Letters) -> None:
        self._profile = profile
        self._letters = letters

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
    ) -> dict[str, Any]:
        """Do the action and return what came of it; raises InvalidInputError, naming what."""
        if location is not None and target != "partner_map":
            raise InvalidArgumentError("argument 'location' belongs to partner_map")
        if to is not None and (target != LETTERS or action != "append"):
            raise InvalidArgumentError("argument 'to' belongs to append of party_message")
        if target == LETTERS:
            answer = _letter_answer(self._letters, being_id, action, content, key, to)
        else:
            chosen = TARGETS[target]
            if action == "get":
                answer = _read(self._profile, being_id, chosen, content, key)
            else:
                outcome = _write(self._profile, being_id, chosen, action, content, key, location)
                answer = _written(outcome)
        return {"success": True, "target": target, "action": action, **answer}


def _write(
    profile: Profile,
    being_id: str,
    target: Target,
    action: Action,
    content: str | None,
    key: str | None,
    location: str | None,
) -> Outcome:
    if action == "delete":
        return profile.delete(being_id, target, _needed("key", key, action))
    text = _needed("content", content, action)
    if action == "append":
        return profile.append(being_id, target, text, key=key, location=location)
    return profile.update(being_id, target, _needed("key", key, action), text, location=location)


def _written(outcome: Outcome) -> dict[str, Any]:
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
    profile: Profile, being_id: str, target: Target, content: str | None, key: str | None
) -> dict[str, Any]:
    if key is None:
        return _listed(_shown(profile, being_id, target, content or ""))
    entry = profile.get(being_id, target, key)
    if entry is None:
        return _absent(key)
    details = {"version": entry.version, "updated_at": entry.updated_at, **_extras(entry)}
    return {"key": entry.key, **details, **_part(entry.text or "", content)}


def _shown(profile: Profile, being_id: str, target: Target, after: str) -> Iterator[dict[str, Any]]:
    start = None
    while True:
        page = profile.page(being_id, target, keys_in=(after, None), limit=_AT_ONCE, start=start)
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
    """Return the text from a place on, as much as an answer holds, and where the rest begins."""
    first = int(place[:9]) if place and place.isascii() and place.isdigit() else 0
    shown = head(text[first:])
    end = first + len(shown)
    if end >= len(text):
        return {"content": shown}
    return {"content": shown, "characters_left": len(text) - end, "next": str(end)}


def _listed(entries: Iterator[Mapping[str, Any]]) -> dict[str, Any]:
    shown, are_all = taken(entries)
    if are_all or not shown:
        return {"entries": shown}
    return {"entries": shown, "next": shown[-1]["key"]}


def _letter_answer(
    letters: Letters,
    being_id: str,
    action: Action,
    content: str | None,
    key: str | None,
    to: str | None,
) -> dict[str, Any]:
    if action == "get" and key is None:
        return _listed(_letters(letters, being_id, content or ""))
    if action == "append":
        text = _needed("content", content, action)
        letter = letters.send(being_id, _needed("to", to, action), text)
        return {"key": letter.letter_id, "to": letter.partner}
    wanted = _needed("key", key, action)
    found: Letter | None
    if action == "get":
        found = letters.get(being_id, wanted)
    elif action == "update":
        if (content or "").strip().casefold() != _READ:
            raise InvalidArgumentError(
                f"argument 'content': a received message can only be marked as '{_READ}'"
            )
        found = letters.mark_read(being_id, wanted)
    else:
        found = letters.delete(being_id, wanted)
    if found is None:
        return _absent(wanted)
    whole = {"before" if action == "delete" else "content": head(found.content)}
    return {**_of(found), **(whole if action != "update" else {"read": True})}


def _letters(letters: Letters, being_id: str, before: str) -> Iterator[dict[str, Any]]:
    every = [*letters.received(being_id), *letters.sent(being_id)]
    for letter in sorted(every, key=lambda each: each.letter_id, reverse=True):
        if not before or letter.letter_id < before:
            yield {**_of(letter), "preview": " ".join(letter.content.split())[:PREVIEW_LENGTH]}


def _of(letter: Letter) -> dict[str, Any]:
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
