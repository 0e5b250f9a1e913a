"""The messages of conversations, stored by month in order of time and searched from the newest."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import PENDING_MESSAGES, write_counted
from nacre.being.memory.model.fields import checked_days, checked_name, cleaned_text
from nacre.being.memory.model.message_chain import (
    START,
    ChatMessage,
    links,
    marker_at,
    marker_id_of,
    overlap,
)
from nacre.being.memory.model.records import attributes_of
from nacre.being.memory.model.types import MARKER, MESSAGE, Marker, Message, moment
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.core.clock import Clock
from nacre.core.errors import InvalidInputError
from nacre.core.ids import ulid, ulid_milliseconds
from nacre.core.lazy_dataclasses import dataclass, field
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
_PLACES = 1 << 16  # that a ULID can tell apart within one millisecond
_PAGE = 50  # messages read at once
_RESERVED_WRITES = 10  # for the marker, the months and the counters
_BYTES_AT_ONCE = MAX_TRANSACTION_BYTES - 2 * MAX_CHAT_BYTES


_PLACE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z#[0-9A-Za-z-]{1,64}")


@dataclass(frozen=True, slots=True)
class AddedMessages:
    """The result of adding a batch: how many messages were new, and the marker to continue from."""

    stored: int
    known: int
    marker_id: str | None
    remark: str | None = None
    messages: tuple[Message, ...] = field(default=(), compare=False)  # the new ones


@dataclass(frozen=True, slots=True)
class MessageHits:
    """The messages of a search, newest first."""

    messages: tuple[Message, ...]
    truncated: bool = False  # the search stopped before older messages
    more: bool = False  # older messages match too
    before: str | None = None  # where to continue, if there is more


class History:
    """The messages of a Being's conversations."""

    def __init__(self, table: Table, *, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def add(
        self,
        being_id: str,
        batch: Sequence[ChatMessage],
        *,
        marker_id: str | None = None,
        session_key_hash: str | None = None,
        for_patrol: bool = False,
    ) -> AddedMessages:
        """Store the new messages of a batch; `for_patrol` puts them in the queue of the patrol.

        The head of the batch is skipped as far as the history of the marker ends with it.
        Without a known marker, a batch that begins like a stored history continues that one,
        so adding the same batch again changes nothing.
        """
        batch = _checked(batch)
        marker, remark = self._marker(being_id, marker_id)
        skipped = overlap(marker, batch) if marker else 0
        after = marker.tail[-1] if marker else START
        further, more = self._stored_before(being_id, after, batch[skipped:])
        if further is None and marker is not None and skipped == 0:
            further, more = self._stored_before(being_id, START, batch)
        if further is not None:
            marker, skipped = further, skipped + more
        new = batch[skipped:]
        hashes = links(marker.tail[-1] if marker else START, new)
        stored: list[Message] = []
        for first, end in _portions(new):
            part = _Batch(
                place=marker.count if marker else 0,
                messages=tuple(new[first:end]),
                hashes=tuple(hashes[first:end]),
                session_key_hash=session_key_hash,
                for_patrol=for_patrol,
            )
            following = marker_at(being_id, marker, part.hashes)
            stored += retry_on_conflict(partial(self._store, being_id, part, following))
            marker = following
        return AddedMessages(
            len(stored),
            len(batch) - len(stored),
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
    ) -> MessageHits:
        """Return the newest messages that contain the query, between two dates in UTC, inclusive.

        Case and the width of letters are ignored. The search stops after 4 MB and says so.
        `before` is the place where an earlier search stopped.
        """
        low, high = checked_days(date_from, date_to)
        needle = folded(query) if query else ""
        hits: list[Message] = []
        scanned = 0
        for message in self._newest_first(being_id, low, high, _checked_place(before)):
            scanned += len(message.content.encode())
            if needle in folded(message.content):
                if len(hits) == limit:
                    return MessageHits(tuple(hits), more=True, before=hits[-1].place)
                hits.append(message)
            if scanned > HISTORY_SCAN_BYTES:
                return MessageHits(tuple(hits), truncated=True, before=message.place)
        return MessageHits(tuple(hits))

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
        self, being_id: str, after: str, batch: Sequence[ChatMessage]
    ) -> tuple[Marker | None, int]:
        """Return the end of the longest stored history that continues a hash like the batch."""
        places = {
            Key(keys.markers(being_id), keys.MARKER + marker_id_of(being_id, hash_)): number
            for number, hash_ in enumerate(links(after, batch), start=1)
        }
        markers = self._table.get_many(places)
        if not markers:
            return None, 0
        longest = max(markers, key=lambda place: places[place])
        return Marker.from_item(markers[longest]), places[longest]

    def _store(self, being_id: str, part: "_Batch", marker: Marker) -> list[Message]:
        """Store messages with the marker of their end; return the new ones."""
        place = Key(keys.markers(being_id), keys.MARKER + marker.marker_id)
        if self._table.get(place) is not None:
            return []  # the same batch came twice at once, and the other call has stored it
        now = self._clock()
        month: Item = {"pk": keys.months(being_id), "sk": moment(now)[:7]}
        marker_item: Item = {
            **place.attributes(),
            EXPIRES_AT: int((now + timedelta(days=MARKER_DAYS)).timestamp()),
            **attributes_of(marker),
        }
        messages = part.stored(moment(now))
        listed = keys.unread(being_id) if part.for_patrol else None
        writes: list[Write] = [Put(_item(being_id, message, listed)) for message in messages]
        writes += [Put(MESSAGE.stamp(month)), Put(MARKER.stamp(marker_item), Absent())]
        waiting = {PENDING_MESSAGES: len(messages)} if part.for_patrol else None
        write_counted(self._table, being_id, writes, add=waiting, has_work=part.for_patrol)
        return messages


@dataclass(frozen=True, slots=True)
class _Batch:
    """The messages of one transaction; `place` is the number of the first in its conversation."""

    place: int
    messages: tuple[ChatMessage, ...]
    hashes: tuple[str, ...]
    session_key_hash: str | None
    for_patrol: bool

    def stored(self, ts: str) -> list[Message]:
        return [
            Message(
                message_id=_message_id(ts, number, chain),
                role=message.role,
                content=message.content,
                ts=ts,
                chain=chain,
                session_key_hash=self.session_key_hash,
                origins=message.origins,
            )
            for number, (message, chain) in enumerate(
                zip(self.messages, self.hashes, strict=True), start=self.place
            )
        ]


def folded(text: str) -> str:
    """Return the form in which queries and messages are compared."""
    return unicodedata.normalize("NFKC", text).casefold()


def _item(being_id: str, message: Message, listed: str | None) -> Item:
    """Return the item of a message, listed in the index partition `listed` if there is one."""
    item = message.to_item(being_id)
    return item if listed is None else {**item, "gsi1pk": listed, "gsi1sk": message.place}


def _checked(batch: Sequence[ChatMessage]) -> list[ChatMessage]:
    if len(batch) > MAX_CHAT_MESSAGES:
        raise InvalidInputError(
            f"'messages' has {len(batch)} entries and its limit is {MAX_CHAT_MESSAGES};"
            " send them in several calls, each with the marker_id of the one before"
        )
    cleaned = [
        ChatMessage(
            checked_name(message.role, f"messages.{place}.role", limit=_MAX_ROLE),
            cleaned_text(message.content, f"messages.{place}.content", limit=MAX_CHAT_BYTES),
            message.origins,
        )
        for place, message in enumerate(batch)
    ]
    return [message for message in cleaned if message.content]


def _portions(batch: Sequence[ChatMessage]) -> Iterator[tuple[int, int]]:
    """Yield the bounds of parts of a batch that fit one transaction."""
    first = size = 0
    for place, message in enumerate(batch):
        length = len(message.content.encode())
        size += length
        full = place - first >= MAX_TRANSACTION_WRITES - _RESERVED_WRITES
        if place > first and (full or size > _BYTES_AT_ONCE):
            yield first, place
            first, size = place, length
    if batch:
        yield first, len(batch)


def _message_id(ts: str, number: int, chain: str) -> str:
    """Return a ULID made from the time, the place in the conversation and the hash."""
    milliseconds = round(datetime.fromisoformat(ts).timestamp() * 1000)
    chance = int.from_bytes(sha256(chain.encode()).digest()[:8])
    return ulid(milliseconds, number % _PLACES << 64 | chance)


def _checked_place(place: str | None) -> str | None:
    if place is not None and not _PLACE.fullmatch(place):
        raise InvalidInputError("'before' is not what an earlier search_history ended with")
    return place
