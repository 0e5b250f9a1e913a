"""What was said: messages in the order of time, by month, searched from the newest."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import PENDING_MESSAGES, write_counted
from nacre.being.memory.model.fields import checked_days, checked_name, cleaned_text
from nacre.being.memory.model.message_chain import (
    START,
    Said,
    links,
    marker_at,
    marker_id_of,
    overlap,
)
from nacre.being.memory.model.records import attributes_of
from nacre.being.memory.model.types import MARKER, MESSAGE, Marker, Message, moment
from nacre.being.memory.store.retry import settled
from nacre.core.clock import Clock
from nacre.core.errors import InvalidInputError
from nacre.core.ids import ulid, ulid_milliseconds
from nacre.core.limits import (
    HISTORY_SCAN_BYTES,
    MARKER_DAYS,
    MAX_CHAT_BYTES,
    MAX_CHAT_MESSAGES,
    MAX_TRANSACTION_BYTES,
    MAX_TRANSACTION_WRITES,
)
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import EXPIRES_AT, Absent, Item, Key, Put, Range, Table, Write

_MAX_ROLE = 32  # user, assistant, system, tool
_PLACES = 1 << 16  # what a ULID has room for: messages of one moment are fewer
_PAGE = 50  # messages read at once
_WRITES_KEPT_FREE = 10  # the marker, the months and the check that the Being is there
_BYTES_AT_ONCE = MAX_TRANSACTION_BYTES - 2 * MAX_CHAT_BYTES


_PLACE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z#[0-9A-Za-z-]{1,64}")


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a batch: how many messages were new, and where the next may go on."""

    stored: int
    known: int
    marker_id: str | None
    remark: str | None = None
    messages: tuple[Message, ...] = field(default=(), compare=False)  # those that were new


@dataclass(frozen=True, slots=True)
class Findings:
    """Messages that were found, newest first."""

    messages: tuple[Message, ...]
    truncated: bool = False  # older messages were not looked at
    more: bool = False  # older messages match too
    before: str | None = None  # the place to go on from, where something is left


class History:
    """The messages of a Being's conversations."""

    def __init__(self, table: Table, *, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def add(
        self,
        being_id: str,
        batch: Sequence[Said],
        *,
        marker_id: str | None = None,
        session_key_hash: str | None = None,
        for_patrol: bool = False,
    ) -> Added:
        """Store the messages that are not known yet; `for_patrol` counts them as waiting for one.

        What the marker's history ends with is dropped from the head of the batch. Without a
        marker, and with an unknown one, a batch that begins as a stored history did goes on
        from there; so the same batch again changes nothing.
        """
        said = _checked(batch)
        marker, remark = self._marker(being_id, marker_id)
        known = overlap(marker, said) if marker else 0
        after = marker.tail[-1] if marker else START
        further, more = self._stored_before(being_id, after, said[known:])
        if further is None and marker is not None and known == 0:
            further, more = self._stored_before(being_id, START, said)
        if further is not None:
            marker, known = further, known + more
        new = said[known:]
        hashes = links(marker.tail[-1] if marker else START, new)
        stored: list[Message] = []
        for first, end in _portions(new):
            part = _Part(
                place=marker.count if marker else 0,
                said=tuple(new[first:end]),
                hashes=tuple(hashes[first:end]),
                session_key_hash=session_key_hash,
                for_patrol=for_patrol,
            )
            following = marker_at(being_id, marker, part.hashes)
            stored += settled(partial(self._store, being_id, part, following))
            marker = following
        return Added(
            len(stored),
            len(said) - len(stored),
            marker.marker_id if marker else None,
            remark,
            tuple(stored),
        )

    def get(self, being_id: str, message_id: str) -> Message | None:
        """Return the message of this id, or None."""
        milliseconds = ulid_milliseconds(message_id)
        if milliseconds is None:
            return None
        try:
            ts = moment(datetime.fromtimestamp(milliseconds / 1000, UTC))
        except (OverflowError, ValueError, OSError):
            return None
        item = self._table.get(Key(keys.history(being_id, ts[:7]), f"{ts}#{message_id}"))
        return None if item is None else Message.from_item(item)

    def search(
        self,
        being_id: str,
        *,
        limit: int,
        query: str | None = None,
        date_from: str | None = None,
        date_to: str | None = None,
        before: str | None = None,
    ) -> Findings:
        """Return the newest messages that hold the query, between two dates in UTC, inclusive.

        Upper and lower case and the width of letters make no difference. The search ends
        after 4 MB and says so. `before` is a place that an earlier search ended at.
        """
        low, high = checked_days(date_from, date_to)
        wanted = folded(query) if query else ""
        found: list[Message] = []
        scanned = 0
        for message in self._newest_first(being_id, low, high, _checked_place(before)):
            scanned += len(message.content.encode())
            if wanted in folded(message.content):
                if len(found) == limit:
                    return Findings(tuple(found), more=True, before=found[-1].place)
                found.append(message)
            if scanned > HISTORY_SCAN_BYTES:
                return Findings(tuple(found), truncated=True, before=message.place)
        return Findings(tuple(found))

    def _newest_first(
        self, being_id: str, low: str | None, high: str | None, before: str | None
    ) -> Iterator[Message]:
        newest = f"{high}T23:59:59.999Z~" if high else None
        if before is not None:
            newest = min(before, newest or before)
        months = self._table.query(
            keys.months(being_id),
            keys=Range(low=low[:7] if low else None, high=newest[:7] if newest else None),
            descending=True,
        )
        within = Range(low=low, high=newest)
        for month in months.items:
            partition = keys.history(being_id, str(month["sk"]))
            for item in every_item(
                self._table, partition, keys=within, descending=True, at_once=_PAGE
            ):
                message = Message.from_item(item)
                if message.place != before:
                    yield message

    def _marker(self, being_id: str, marker_id: str | None) -> tuple[Marker | None, str | None]:
        if not marker_id:
            return None, None
        place = Key(keys.markers(being_id), keys.MARKER + checked_name(marker_id, "marker_id"))
        item = self._table.get(place)
        if item is None:
            return None, "the marker is not known: the messages were taken as a new conversation"
        return Marker.from_item(item), None

    def _stored_before(
        self, being_id: str, after: str, said: Sequence[Said]
    ) -> tuple[Marker | None, int]:
        """Return the longest stored history that goes on from a hash as the batch does."""
        places = {
            Key(keys.markers(being_id), keys.MARKER + marker_id_of(being_id, each)): number
            for number, each in enumerate(links(after, said), start=1)
        }
        found = self._table.get_many(places)
        if not found:
            return None, 0
        longest = max(found, key=lambda place: places[place])
        return Marker.from_item(found[longest]), places[longest]

    def _store(self, being_id: str, part: "_Part", marker: Marker) -> list[Message]:
        """Store messages with the marker of their end; return those that were not there."""
        place = Key(keys.markers(being_id), keys.MARKER + marker.marker_id)
        if self._table.get(place) is not None:
            return []  # the same batch came twice at once, and the other call stored it
        now = self._clock()
        month: Item = {"pk": keys.months(being_id), "sk": moment(now)[:7]}
        kept: Item = {
            "pk": place.pk,
            "sk": place.sk,
            EXPIRES_AT: int((now + timedelta(days=MARKER_DAYS)).timestamp()),
            **attributes_of(marker),
        }
        messages = part.messages(moment(now))
        listed = keys.unread(being_id) if part.for_patrol else None
        writes: list[Write] = [Put(_item(being_id, message, listed)) for message in messages]
        writes += [Put(MESSAGE.stamp(month)), Put(MARKER.stamp(kept), Absent())]
        waiting = {PENDING_MESSAGES: len(messages)} if part.for_patrol else None
        write_counted(self._table, being_id, writes, add=waiting, has_work=part.for_patrol)
        return messages


@dataclass(frozen=True, slots=True)
class _Part:
    """Messages that one transaction stores; `place` is that of the first in its conversation."""

    place: int
    said: tuple[Said, ...]
    hashes: tuple[str, ...]
    session_key_hash: str | None
    for_patrol: bool

    def messages(self, ts: str) -> list[Message]:
        return [
            Message(
                message_id=_message_id(ts, number, chain),
                role=said.role,
                content=said.content,
                ts=ts,
                chain=chain,
                session_key_hash=self.session_key_hash,
            )
            for number, (said, chain) in enumerate(
                zip(self.said, self.hashes, strict=True), start=self.place
            )
        ]


def folded(text: str) -> str:
    """Return the form in which a query and a message are compared."""
    return unicodedata.normalize("NFKC", text).casefold()


def _item(being_id: str, message: Message, listed: str | None) -> Item:
    """Return a message's item, in the list of those that wait for a patrol if it is one."""
    item = message.to_item(being_id)
    return item if listed is None else {**item, "gsi1pk": listed, "gsi1sk": message.place}


def _checked(batch: Sequence[Said]) -> list[Said]:
    if len(batch) > MAX_CHAT_MESSAGES:
        raise InvalidInputError(
            f"'messages' has {len(batch)} entries and its limit is {MAX_CHAT_MESSAGES};"
            " send them in several calls, each with the marker_id of the one before"
        )
    cleaned = [
        Said(
            checked_name(each.role, f"messages.{place}.role", limit=_MAX_ROLE),
            cleaned_text(each.content, f"messages.{place}.content", limit=MAX_CHAT_BYTES),
        )
        for place, each in enumerate(batch)
    ]
    return [each for each in cleaned if each.content]


def _portions(batch: Sequence[Said]) -> Iterator[tuple[int, int]]:
    """Split a batch into parts that one transaction takes."""
    first = size = 0
    for place, said in enumerate(batch):
        size += len(said.content.encode())
        full = place - first >= MAX_TRANSACTION_WRITES - _WRITES_KEPT_FREE
        if place > first and (full or size > _BYTES_AT_ONCE):
            yield first, place
            first, size = place, len(said.content.encode())
    if batch:
        yield first, len(batch)


def _message_id(ts: str, number: int, chain: str) -> str:
    """Return a ULID: the moment, the place in the conversation, and what the message says."""
    milliseconds = round(datetime.fromisoformat(ts).timestamp() * 1000)
    chance = int.from_bytes(sha256(chain.encode()).digest()[:8])
    return ulid(milliseconds, number % _PLACES << 64 | chance)


def _checked_place(place: str | None) -> str | None:
    if place is not None and not _PLACE.fullmatch(place):
        raise InvalidInputError("'before' is not what an earlier search_history ended with")
    return place
