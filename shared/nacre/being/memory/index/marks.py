"""Marks: which points a write has changed that no index may know of yet.

A mark is written with the items it is about and cleared once every index has them, so that
whatever fails in between is found and done again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import moment
from nacre.core.clock import Clock
from nacre.core.ids import short_id
from nacre.core.limits import (
    CLOCK_TOLERANCE_SECONDS,
    INDEX_GRACE_SECONDS,
    INDEX_KEEP_SECONDS,
    MAX_TRANSACTION_WRITES,
)
from nacre.ports.items.paging import every_item
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Delete, Item, Key, Put, Range, Table

MARK = ItemSchema("index mark", 1)
_PAGE = 100
_SHARDS = 16  # the sweep asks for each


@dataclass(frozen=True, slots=True)
class Mark:
    """Points that an index has to be told of, or an embedding that may be forgotten."""

    key: Key
    ids: tuple[str, ...]
    forget: str | None = None


class Marks:
    """Makes, lists and clears the marks of Beings."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._clock = clock
        self._rng = rng

    def about(self, being_id: str, ids: Sequence[str]) -> Put:
        """Return the write of a mark about points."""
        return self._mark(being_id, 0, {"ids": list(ids)})

    def to_forget(self, being_id: str, emb_id: str, *, seconds: float) -> Put:
        """Return the write of a mark that lets go of an embedding after so long."""
        return self._mark(being_id, seconds, {"ids": [], "forget": emb_id})

    def newest(self, being_id: str) -> list[Mark]:
        """Return the newest marks, whose points are due."""
        page = self._table.query(
            partition(being_id), keys=self._until_now(), descending=True, limit=_PAGE
        )
        return [_mark(item) for item in page.items]

    def all(self, being_id: str) -> Iterator[list[Mark]]:
        """Give all marks that are due, the oldest first."""
        for due in (self._until_now(), self._ahead()):
            start = None
            while True:
                page = self._table.query(partition(being_id), keys=due, limit=_PAGE, start=start)
                if page.items:
                    yield [_mark(item) for item in page.items]
                if (start := page.next) is None:
                    break

    def clear(self, table: Table, marks: Sequence[Mark]) -> None:
        """Remove marks, in whichever way `table` writes."""
        for start in range(0, len(marks), MAX_TRANSACTION_WRITES):
            some = marks[start : start + MAX_TRANSACTION_WRITES]
            table.transact([Delete(mark.key) for mark in some])

    def is_left(self, mark: Mark) -> bool:
        """Whether a write left it behind, rather than still being at work on it."""
        is_old = mark.key.sk < self._grace() or mark.key.sk >= self._latest()
        return is_old and mark.forget is None

    def beings(self) -> Iterator[str]:
        """Give the Beings that have had a mark for longer than a write takes, for the sweep."""
        ranges = (Range(high=self._grace()), self._ahead())
        for shard in range(_SHARDS):
            seen: set[str] = set()
            for keys_ in ranges:
                for item in every_item(self._table, f"REPAIR#{shard:02}", index="gsi1", keys=keys_):
                    being_id = str(item["gsi1sk"]).rpartition("#")[2]
                    if being_id not in seen:
                        seen.add(being_id)
                        yield being_id

    def _grace(self) -> str:
        return moment(self._clock() - timedelta(seconds=INDEX_GRACE_SECONDS))

    def _until_now(self) -> Range:
        return Range(high=moment(self._clock() + timedelta(milliseconds=1)))

    def _ahead(self) -> Range:
        """Return where only marks are that were written before the clock was set back."""
        # Behind the last year other items of the partition begin.
        return Range(low=self._latest(), high=":")

    def _latest(self) -> str:
        longest = INDEX_KEEP_SECONDS + CLOCK_TOLERANCE_SECONDS
        return moment(self._clock() + timedelta(seconds=longest))

    def _mark(self, being_id: str, seconds: float, says: Item) -> Put:
        due = moment(self._clock() + timedelta(seconds=seconds))
        item: Item = {
            "pk": partition(being_id),
            "sk": f"{due}#{short_id(self._rng)}",
            "gsi1pk": f"REPAIR#{int(keys.home(being_id)[2:4], 16) % _SHARDS:02}",
            "gsi1sk": f"{due}#{being_id}",
            **says,
        }
        return Put(MARK.stamp(item))


def partition(being_id: str) -> str:
    """Return the partition of marks."""
    return f"{keys.home(being_id)}#X"


def _mark(item: Item) -> Mark:
    item = MARK.read(item)
    ids, forget = item["ids"], item.get("forget")
    assert isinstance(ids, list)
    return Mark(
        Key(str(item["pk"]), str(item["sk"])),
        tuple(map(str, ids)),
        None if forget is None else str(forget),
    )
