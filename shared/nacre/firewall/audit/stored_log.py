"""The audit in the item store: a Being's records by day, and the heads of its chains.

A record is one conditional write. Its chain belongs to one execution environment, whose name no
other has, and the head is moved only from where this environment left it. Should two writers
continue one chain all the same, its head or its verification shows it.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Protocol

from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, UnavailableError
from nacre.core.limits import AUDIT_ANCHOR_RECORDS, AUDIT_ANCHOR_SECONDS, AUDIT_DAYS
from nacre.ports.audit import GENESIS, Chain, Head
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import (
    EXPIRES_AT,
    SCHEMA,
    Absent,
    Compare,
    Condition,
    Either,
    Item,
    Key,
    Range,
    Table,
)

_SCHEMA_1 = 1
_DAY_SECONDS = 86_400


class Appends(Protocol):
    """Writes items; a Table does."""

    def put(self, item: Item, *, when: Condition | None = None) -> None:
        """Write a whole item if the condition holds."""
        ...


class ItemAudit:
    """An AuditLog of one execution environment for one Being; `new_writer` returns unused names.

    A record is one write. The head of the chain is stored with the first record, and then at most
    once a minute or every so many records.
    """

    def __init__(
        self, table: Appends, being_id: str, *, clock: Clock, new_writer: Callable[[], str]
    ) -> None:
        self._table = table
        self._being = being_id
        self._clock = clock
        self._new_writer = new_writer
        self._anchored: tuple[Head, float] | None = None
        self._began = ""

    def open(self) -> Head:
        """Return the head of a new chain."""
        self._anchored = None
        return Head(self._new_writer(), 0, GENESIS)

    def append(self, line: bytes, *, before: Head, after: Head, at: str) -> None:
        """Write the record, and store the head when it is due.

        A failure of either ends the chain, and the record of a refused call stays in it.
        """
        now = self._clock().timestamp()
        text = line.decode()
        record: Item = {
            "pk": _day(self._being, at[:10]),
            "sk": f"{at}#{after.writer}#{after.sequence:012d}",
            SCHEMA: _SCHEMA_1,
            "line": text,
            EXPIRES_AT: int(now) + AUDIT_DAYS * _DAY_SECONDS,
        }
        try:
            self._table.put(record, when=Either((Absent(), Compare("line", "=", text))))
            if before.sequence == 0:
                self._began = at
            if self._is_due(after, now):
                self._anchor(after, now)
        except ConditionFailedError as error:
            raise UnavailableError("another writer continued this audit chain") from error

    def _is_due(self, after: Head, now: float) -> bool:
        if self._anchored is None:
            return True
        head, moment = self._anchored
        is_new = after.sequence - head.sequence < AUDIT_ANCHOR_RECORDS
        return not (is_new and 0 <= now - moment < AUDIT_ANCHOR_SECONDS)

    def _anchor(self, head: Head, now: float) -> None:
        """Move the stored head, if it is where this writer left it or was moved already."""
        item: Item = {
            **Key(_heads(self._being), head.writer).attributes(),
            SCHEMA: _SCHEMA_1,
            "began": self._began,
            "sequence": head.sequence,
            "hash": head.hash,
            # Later than any record that is written before the next head is stored.
            EXPIRES_AT: int(now) + (AUDIT_DAYS + 1) * _DAY_SECONDS,
        }
        left = Absent() if self._anchored is None else Compare("hash", "=", self._anchored[0].hash)
        self._table.put(item, when=Either((left, Compare("hash", "=", head.hash))))
        self._anchored = head, now

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class ItemRecords:
    """Reads the chains of one Being."""

    def __init__(self, table: Table, being_id: str, *, clock: Clock) -> None:
        self._table = table
        self._being = being_id
        self._clock = clock

    def chains(self) -> Iterator[Chain]:
        """Return the chains in the order in which they began."""
        heads = list(every_item(self._table, _heads(self._being)))
        oldest = self._clock().timestamp() - AUDIT_DAYS * _DAY_SECONDS
        lines: dict[str, list[tuple[str, bytes]]] = {str(item["sk"]): [] for item in heads}
        began = min((str(item["began"])[:10] for item in heads), default=None)
        for day in _days(began, self._clock()) if began else ():
            for item in every_item(self._table, _day(self._being, day)):
                _, writer, number = str(item["sk"]).split("#")
                lines.setdefault(writer, []).append((number, str(item["line"]).encode()))
        by_writer = {str(item["sk"]): item for item in heads}
        for writer, of_writer in lines.items():
            head = by_writer.get(writer)
            yield Chain(
                writer,
                # By number, because a clock may be set back. Two of one number are both there,
                # for the verification to find.
                [line for _, line in sorted(of_writer)],
                () if head is None else (_head(head),),
                may_begin_late=head is not None and _seconds(str(head["began"])) < oldest,
            )

    def newest(self, before: str = "") -> Iterator[bytes]:
        """Yield the lines, the newest first, day by day."""
        heads = every_item(self._table, _heads(self._being))
        began = min((str(item["began"])[:10] for item in heads), default=None)
        days = list(_days(began, self._clock())) if began else []
        for day in reversed(days):
            if before and day > before[:10]:
                continue
            # A sort key begins with its moment, and so comes after the moment alone.
            keys = Range(high=before) if before else None
            for item in every_item(
                self._table, _day(self._being, day), keys=keys, descending=True, at_once=200
            ):
                yield str(item["line"]).encode()

    def record(self, writer: str, sequence: int) -> bytes | None:
        """Return the line of one record; reads the days on which its chain was written."""
        item = None if not writer else self._table.get(Key(_heads(self._being), writer))
        if item is None or not 0 < sequence <= _head(item).sequence + AUDIT_ANCHOR_RECORDS:
            return None
        name = f"#{writer}#{sequence:012d}"
        for day in _days(str(item["began"])[:10], min(_ended(item), self._clock())):
            for record in every_item(self._table, _day(self._being, day), at_once=200):
                if str(record["sk"]).endswith(name):
                    return str(record["line"]).encode()
        return None


class Anchors:
    """The heads of a laptop's chains, kept in its database, away from the lines."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def note(self, head: Head) -> None:
        """Store a head; a later one stays."""
        item: Item = {
            "pk": "A#heads",
            "sk": head.writer,
            SCHEMA: _SCHEMA_1,
            "sequence": head.sequence,
            "hash": head.hash,
        }
        ahead = Either((Absent(), Compare("sequence", "<", head.sequence)))
        try:
            self._table.put(item, when=ahead)
        except ConditionFailedError:
            return

    def noted(self) -> dict[str, Head]:
        """Return the heads by writer."""
        return {str(item["sk"]): _head(item) for item in every_item(self._table, "A#heads")}


def _heads(being_id: str) -> str:
    return f"A#{being_id}#heads"


def _day(being_id: str, day: str) -> str:
    return f"A#{being_id}#{day}"


def _head(item: Item) -> Head:
    sequence = item["sequence"]
    assert isinstance(sequence, int)
    return Head(str(item["sk"]), sequence, str(item["hash"]))


def _ended(head: Item) -> datetime:
    """Return the time after which a chain with this head has no record."""
    expires_at = head[EXPIRES_AT]
    assert isinstance(expires_at, int)
    stored = expires_at - (AUDIT_DAYS + 1) * _DAY_SECONDS
    # A later record would have moved the head. The second is the part that was cut off.
    return datetime.fromtimestamp(stored + AUDIT_ANCHOR_SECONDS + 1, UTC)


def _days(first: str, now: datetime) -> Iterator[str]:
    day = date.fromisoformat(first)
    while day <= now.date():
        yield day.isoformat()
        day += timedelta(days=1)


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()
