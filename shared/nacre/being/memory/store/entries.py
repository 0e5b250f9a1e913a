"""The entries of targets in the item store, each under its key."""

from collections.abc import Callable
from random import Random
from typing import assert_never

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import write_counted
from nacre.being.memory.model.fields import checked_date, checked_name, checked_text
from nacre.being.memory.model.types import moment
from nacre.being.memory.store.entry_items import (
    Entry,
    body_key,
    entry_writes,
    is_stored_apart,
    key_and_version,
    new_entry,
    version_key,
    version_writes,
)
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.memory.store.targets import (
    PARTNER_RULES,
    REQUIRED_SOUL_FIELDS,
    SOUL_FIELDS,
    Append,
    Target,
    parse_rule,
)
from nacre.core.clock import Clock
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.core.ids import ulids
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.ports.items.table import Compare, Delete, Key, Range, Table, Write

_SLUG = 50  # characters of a content that become its key
_TOGGLES = {"enabled": True, "disabled": False}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a write; `before` is the former text."""

    success: bool
    key: str
    version: int | None = None
    before: str | None = None
    remark: str | None = None


@dataclass(frozen=True, slots=True)
class EntryPage:
    """Some entries of a target in the order of their keys; `next` is where to continue."""

    entries: tuple[Entry, ...]
    next: str | None


class Entries:
    """The entries of every target but `party_message`, for each Being."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._clock = clock
        self._rng = rng

    # Reading.

    def page(
        self,
        being_id: str,
        target: Target,
        *,
        keys_in: tuple[str | None, str | None] = (None, None),
        newest_first: bool = False,
        limit: int | None = None,
        start: str | None = None,
    ) -> EntryPage:
        """Return the entries between two keys, both inclusive; long texts are not loaded."""
        low, high = keys_in
        within = Range(
            low=target.prefix + (low or ""),
            high=target.prefix + ("\U0010ffff" if high is None else high),
        )
        page = self._table.query(
            keys.home(being_id),
            keys=within,
            descending=newest_first,
            limit=limit,
            start=start,
        )
        return EntryPage(tuple(map(Entry.from_item, page.items)), page.next)

    def get(self, being_id: str, target: Target, key: str) -> Entry | None:
        """Return an entry with its text, or None; `KEY@3` asks for its third version."""
        key, version = key_and_version(target, checked_name(key, "key"))
        entry = self._find(being_id, target, key)
        if version is None or (entry is not None and entry.version == version):
            return entry
        item = self._table.get(Key(keys.home(being_id), version_key(target, key, version)))
        return None if item is None else Entry.from_item(item)

    def with_text(self, being_id: str, target: Target, entry: Entry) -> Entry:
        """Return the entry with its text, which is loaded if it is stored apart."""
        if entry.text is not None:
            return entry
        item = self._table.get(body_key(being_id, target, entry.key))
        # A missing text was deleted a moment ago, together with its entry.
        return replace(entry, text="" if item is None else str(item["text"]))

    # Writing.

    def append(
        self,
        being_id: str,
        target: Target,
        content: str,
        *,
        key: str | None = None,
        location: str | None = None,
        unless: str | None = None,
    ) -> Outcome:
        """Append to the entry of this key as `Target.append` says, or create it.

        An entry that contains the text `unless` stays as it is.
        """
        content = checked_text(content, "content", limit=target.limit)
        if target.append == "new":
            return self._append_new(being_id, target, content, key)
        chosen = self._key_for(target, key, content)
        mode = target.appends_to(chosen)

        def edit(before: Entry | None) -> Entry:
            if before is None:
                return self._new_version(target, chosen, content, None, location)
            if unless is not None and unless in (before.text or ""):
                return before
            text = _joined(mode, before.text or "", content)
            limit = target.limit_of(chosen)
            text = checked_text(text, "content after appending", limit=limit)
            return self._new_version(target, chosen, text, before, location)

        return self._edit(being_id, target, chosen, edit)

    def update(
        self,
        being_id: str,
        target: Target,
        key: str,
        content: str,
        *,
        location: str | None = None,
    ) -> Outcome:
        """Replace the text of the entry, or create it; the outcome says which."""
        content = checked_text(content, "content", limit=target.limit)
        chosen = self._key_for(target, key, content)
        if target.keyed_by == "id" and self._find(being_id, target, chosen) is None:
            outcome = self._append_new(being_id, target, content, None)
            return replace(outcome, remark=f"there was no entry '{chosen}': stored as a new one")

        def edit(before: Entry | None) -> Entry:
            return self._new_version(target, chosen, content, before, location)

        outcome = self._edit(being_id, target, chosen, edit)
        if outcome.version == 1 and outcome.before is None and outcome.remark is None:
            return replace(outcome, remark="there was no entry of this key: it was made")
        return outcome

    def revise(
        self, being_id: str, target: Target, key: str, change: Callable[[str], str]
    ) -> Outcome:
        """Apply a function to the text of an entry, and delete the entry if the result is blank."""

        def edit(before: Entry | None) -> Entry:
            if before is None:
                raise NotFoundError(f"there is no entry '{key[:50]}'")
            return self._new_version(target, key, change(before.text or ""), before, None)

        before = self._find(being_id, target, key)
        if before is not None and not change(before.text or "").strip():
            return retry_on_conflict(lambda: self._delete(being_id, target, key))
        return self._edit(being_id, target, key, edit)

    def delete(self, being_id: str, target: Target, key: str) -> Outcome:
        """Delete the entry; a target that keeps versions keeps the last text as one."""
        chosen = checked_name(key, "key")
        if target.keyed_by == "field" and chosen in REQUIRED_SOUL_FIELDS:
            return Outcome(False, chosen, remark=f"'{chosen}' can be replaced but not deleted")
        return retry_on_conflict(lambda: self._delete(being_id, target, chosen))

    def new_entries(
        self, being_id: str, target: Target, contents: list[str], field: str
    ) -> tuple[list[Entry], list[Write]]:
        """Return new entries with ids as keys, and the writes that create them."""
        now = self._clock()
        entries = [
            new_entry(
                key,
                checked_text(content, f"{field}.{place}", limit=target.limit),
                version=1,
                updated_at=moment(now),
            )
            for place, (key, content) in enumerate(
                zip(ulids(now, self._rng, len(contents)), contents, strict=True)
            )
        ]
        writes: list[Write] = []
        for entry in entries:
            writes += entry_writes(being_id, target, entry, None)
        return entries, writes

    def _append_new(self, being_id: str, target: Target, content: str, key: str | None) -> Outcome:
        now = self._clock()
        [new] = ulids(now, self._rng, 1)
        entry = self._new_version(target, new, content, None, None)
        write_counted(
            self._table,
            being_id,
            entry_writes(being_id, target, entry, None),
            add={target.counter: 1},
            caps=target.caps,
        )
        remark = None if key is None else f"'{key[:50]}' was not used: keys are given here"
        return Outcome(True, new, 1, remark=remark)

    def _edit(
        self, being_id: str, target: Target, key: str, edit: Callable[[Entry | None], Entry]
    ) -> Outcome:
        def attempt() -> Outcome:
            before = self._find(being_id, target, key)
            entry = edit(before)
            if before is not None and _is_unchanged(before, entry):
                return Outcome(
                    True, key, before.version, before.text, remark="nothing changed: it says so"
                )
            if before is None:
                entry = replace(entry, version=self._first_version(being_id, target, key))
            write_counted(
                self._table,
                being_id,
                [
                    *entry_writes(being_id, target, entry, before),
                    *version_writes(being_id, target, before),
                ],
                add={target.counter: 1} if before is None and target.most is not None else None,
                caps=target.caps,
            )
            return Outcome(True, key, entry.version, None if before is None else before.text)

        return retry_on_conflict(attempt)

    def _delete(self, being_id: str, target: Target, key: str) -> Outcome:
        before = self._find(being_id, target, key)
        if before is None:
            return Outcome(False, key, remark="there is no entry of this key")
        place = Key(keys.home(being_id), target.prefix + key)
        writes: list[Write] = [Delete(place, Compare("version", "=", before.version))]
        if is_stored_apart(target, before):
            writes.append(Delete(body_key(being_id, target, key)))
        writes += version_writes(being_id, target, before)
        count = {target.counter: -1} if target.most is not None else None
        write_counted(self._table, being_id, writes, add=count)
        return Outcome(True, key, before.version, before.text)

    def _find(self, being_id: str, target: Target, key: str) -> Entry | None:
        item = self._table.get(Key(keys.home(being_id), target.prefix + key))
        return None if item is None else self.with_text(being_id, target, Entry.from_item(item))

    def _first_version(self, being_id: str, target: Target, key: str) -> int:
        """Return the first version of a new entry, above those of a deleted one."""
        if target.versions is None:
            return 1
        newest = self._table.query(
            keys.home(being_id),
            keys=Range(prefix=f"{target.versions}{key}#"),
            descending=True,
            limit=1,
        ).items
        return Entry.from_item(newest[0]).version + 1 if newest else 1

    def _new_version(
        self, target: Target, key: str, content: str, before: Entry | None, location: str | None
    ) -> Entry:
        enabled = before.enabled if before else True
        if target is PARTNER_RULES:
            if before is not None and content.casefold() in _TOGGLES:
                enabled = _TOGGLES[content.casefold()]
                content = before.text or ""
            else:
                rule = parse_rule(before.text or "") if before else None
                content = str(parse_rule(content, rule))
        if location is not None:
            location = checked_name(location, "location")
        elif before is not None:
            location = before.location
        return replace(
            new_entry(
                key,
                checked_text(content, "content", limit=target.limit_of(key)),
                version=before.version + 1 if before else 1,
                updated_at=moment(self._clock()),
            ),
            location=location,
            enabled=enabled,
        )

    def _key_for(self, target: Target, key: str | None, content: str) -> str:
        match target.keyed_by:
            case "start":
                return checked_name(key or " ".join(content.split())[:_SLUG], "key")
            case "day":
                return checked_date((key or moment(self._clock())[:10]).strip(), "key")
            case "field":
                if key not in SOUL_FIELDS:
                    raise InvalidInputError(f"'key' must be one of {', '.join(SOUL_FIELDS)}")
                return key
            case "title" | "id":
                if key is None:
                    raise InvalidInputError(f"'key' is needed for {target.name}")
                return checked_name(key, "key")
            case _:
                assert_never(target.keyed_by)


def _joined(mode: Append, before: str, added: str) -> str:
    match mode:
        case "line":
            lines = before.splitlines()
            new = dict.fromkeys(line for line in added.splitlines() if line.strip())
            return "\n".join([before, *(line for line in new if line not in lines)])
        case "paragraph":
            return f"{before}\n\n{added}"
        case "replace" | "new":
            return added
        case _:
            assert_never(mode)


def _is_unchanged(before: Entry, entry: Entry) -> bool:
    same = replace(entry, version=before.version, updated_at=before.updated_at)
    return same == replace(before, size=entry.size, preview=entry.preview)
