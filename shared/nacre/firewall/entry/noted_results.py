"""The ledger of untrusted results in the item store, the same on SQLite and DynamoDB.

An item says that one holder has received content of one origin, and when. It is renewed at most
once in a window, by a conditional write, so it counts for at least one window after the last
result, and for at most two. In a conversation that the wire names it counts for a day, because a
model still reads what it was given before.

For rules with a window, another item says when any client of the Being has received content of an
origin. There is one for each origin, so that no window makes the store grow with tokens or calls.
"""

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from nacre.core.bounded_cache import BoundedCache
from nacre.core.errors import ConditionFailedError
from nacre.core.limits import (
    CLOCK_TOLERANCE_SECONDS,
    MAX_WINDOW_HOURS,
    RECEIVED_CONVERSATION_SECONDS,
    RECEIVED_SECONDS,
)
from nacre.core.origins import Origin, Origins
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import (
    EXPIRES_AT,
    SCHEMA,
    Absent,
    Compare,
    Either,
    Item,
    Key,
    Range,
    Table,
)
from nacre.ports.untrusted_results import Holder

_SCHEMA = 1
_REMEMBERED = 4096  # notes that this process need not write again
_SHORT = 32  # characters of a digest
_LONGEST = MAX_WINDOW_HOURS * 3600 + RECEIVED_SECONDS


def received_partition(being_id: str) -> str:
    """Return the partition of what the callers of a Being have received."""
    return f"B#{being_id}#RECEIVED"


class ReceivedNote(NamedTuple):
    """An origin that a holder has received, and when that was last noted."""

    origin: Origin
    at: datetime


def notes_of(table: Table, holder: Holder) -> list[ReceivedNote]:
    """Return the stored notes about a holder, in all of its conversations, the oldest first."""
    items = every_item(
        table, received_partition(holder.being_id), keys=Range(prefix=_prefix(holder))
    )
    notes = [
        ReceivedNote(Origin.parse(str(item["origin"])), datetime.fromtimestamp(_time(item), UTC))
        for item in items
    ]
    return sorted(notes, key=lambda note: (note.at, str(note.origin)))


class NotedResults:
    """Notes results in a table, for all processes that use it.

    `has_windows` tells whether a rule for the clients of a Being has a window.
    """

    def __init__(self, table: Table, has_windows: Callable[[str], bool] = lambda _: False) -> None:
        self._table = table
        self._has_windows = has_windows
        self._noted: BoundedCache[tuple[Holder, Origin], int] = BoundedCache(_REMEMBERED)

    def note(self, holder: Holder, origin: Origin, at: datetime) -> None:
        """Note that a holder receives content of an origin; raises UnavailableError."""
        if self._has_windows(holder.being_id):
            self._note(_anybody(holder.being_id), origin, at)
        self._note(holder, origin, at)

    def _note(self, holder: Holder, origin: Origin, at: datetime) -> None:
        now = int(at.timestamp())
        if _is_current(self._noted.get((holder, origin)), now):
            return
        key = _key(holder, origin)
        lasting = 2 * RECEIVED_SECONDS
        if holder == _anybody(holder.being_id):
            lasting = _LONGEST
        if holder.conversation is not None:
            lasting = max(lasting, RECEIVED_CONVERSATION_SECONDS)
        item: Item = {
            **key.attributes(),
            SCHEMA: _SCHEMA,
            EXPIRES_AT: now + lasting,
            "at": now,
            "origin": str(origin),
            "conversation": holder.conversation,
        }
        # A time in the future is from before the clock was set back.
        older = Compare("at", "<=", now - RECEIVED_SECONDS)
        future = Compare("at", ">", now + CLOCK_TOLERANCE_SECONDS)
        try:
            self._table.put(item, when=Either((Absent(), older, future)))
        except ConditionFailedError:  # another process has noted it within this window
            stored = self._table.get(key)
            if stored is None:  # it has just expired
                self._table.put(item)
            else:
                now = _time(stored)
        self._noted[holder, origin] = now

    def origins(self, holder: Holder, at: datetime) -> Origins:
        """Return the origins of what a holder has received; raises UnavailableError."""
        now = int(at.timestamp())
        items = every_item(
            self._table, received_partition(holder.being_id), keys=Range(prefix=_prefix(holder))
        )
        return frozenset(
            Origin.parse(str(item["origin"])) for item in items if _counts(item, holder, now)
        )

    def times(self, being_id: str, at: datetime) -> Mapping[Origin, int]:
        """Return when clients of a Being received each origin; raises UnavailableError."""
        latest = int(at.timestamp())
        items = every_item(
            self._table,
            received_partition(being_id),
            keys=Range(prefix=_prefix(_anybody(being_id))),
        )
        return {Origin.parse(str(item["origin"])): min(_time(item), latest) for item in items}


def _anybody(being_id: str) -> Holder:
    """Return the holder that stands for all clients of a Being; no token has this id."""
    return Holder(being_id, "")


def _counts(item: Item, holder: Holder, now: int) -> bool:
    """Tell whether a note is about this holder, and recent enough."""
    conversation = item["conversation"]
    if conversation is not None and conversation == holder.conversation:
        return now < _time(item) + max(2 * RECEIVED_SECONDS, RECEIVED_CONVERSATION_SECONDS)
    # What the token received without a conversation may have gone to any of them.
    is_about = holder.conversation is None or conversation is None
    return is_about and now < _time(item) + 2 * RECEIVED_SECONDS


def _is_current(noted: int | None, now: int) -> bool:
    return noted is not None and -CLOCK_TOLERANCE_SECONDS <= now - noted < RECEIVED_SECONDS


def _time(item: Item) -> int:
    at = item["at"]
    assert isinstance(at, int)
    return at


def _prefix(holder: Holder) -> str:
    # A digest has one length, so that no token's notes begin like another's.
    return f"{_digest(holder.token_id)}#"


def _key(holder: Holder, origin: Origin) -> Key:
    conversation = "" if holder.conversation is None else _digest(holder.conversation)
    note = f"{_prefix(holder)}{conversation}#{_digest(str(origin))}"
    return Key(received_partition(holder.being_id), note)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_SHORT]
