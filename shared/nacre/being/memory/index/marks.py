"""Marks: lists of points that a write has changed and that an index may not have yet.

A mark is written in the transaction of its items and deleted once every index has them. If
anything fails in between, a repair finds the mark.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice
from random import Random

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import moment
from nacre.core.clock import Clock
from nacre.core.ids import short_id
from nacre.core.lazy_dataclasses import dataclass
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
_SHARDS = 16  # the sweep queries each
REPAIR_PARTITIONS = tuple(f"REPAIR#{shard:02}" for shard in range(_SHARDS))


@dataclass(frozen=True, slots=True)
class Mark:
    """Points to update in an index, or an embedding whose vectors are to be deleted."""

    key: Key
    ids: tuple[str, ...]
    forget: str | None = None


class Marks:
    """Creates, lists and deletes the marks of Beings."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._clock = clock
        self._rng = rng

    def points_mark(self, being_id: str, ids: Sequence[str], *, with_work: bool = False) -> Put:
        """Return the write of a mark for points.

        With `with_work` the same transaction lists the Being for a patrol, which finds the mark.
        Then the list of Beings to repair has no entry for it.
        """
        return self._mark(being_id, 0, {"ids": list(ids)}, is_listed=not with_work)

    def forget_mark(self, being_id: str, emb_id: str, *, seconds: float) -> Put:
        """Return the write of a mark that deletes the vectors of an embedding later."""
        return self._mark(being_id, seconds, {"ids": [], "forget": emb_id})

    def newest(self, being_id: str) -> list[Mark]:
        """Return the newest marks that are due."""
        page = self._table.query(
            keys.marks(being_id), keys=self._until_now(), descending=True, limit=_PAGE
        )
        return [_mark(item) for item in page.items]

    def all(self, being_id: str) -> Iterator[list[Mark]]:
        """Yield pages of all marks that are due, the oldest first."""
        for due in (self._until_now(), self._ahead()):
            items = every_item(self._table, keys.marks(being_id), keys=due, at_once=_PAGE)
            while marks := [_mark(item) for item in islice(items, _PAGE)]:
                yield marks

    def of_points(self, being_id: str) -> Iterator[list[Mark]]:
        """Yield pages of all marks for points, those of a writer whose clock is ahead too."""
        # Other items of the partition sort after the last year.
        items = every_item(self._table, keys.marks(being_id), keys=Range(high=":"), at_once=_PAGE)
        while marks := [_mark(item) for item in islice(items, _PAGE)]:
            yield [mark for mark in marks if mark.forget is None]

    def clear(self, table: Table, marks: Sequence[Mark]) -> None:
        """Delete marks through `table`."""
        for start in range(0, len(marks), MAX_TRANSACTION_WRITES):
            some = marks[start : start + MAX_TRANSACTION_WRITES]
            table.transact([Delete(mark.key) for mark in some])

    def is_abandoned(self, mark: Mark) -> bool:
        """Return whether the write of a mark has failed, rather than being under way."""
        is_old = mark.key.sk < self._grace() or mark.key.sk >= self._latest()
        return is_old and mark.forget is None

    def beings(self) -> Iterator[str]:
        """Yield the Beings with a mark older than any write takes, for the sweep."""
        for partition in REPAIR_PARTITIONS:
            for being_id, _place in self.beings_in(partition):
                yield being_id

    def beings_in(self, partition: str, after: str = "") -> Iterator[tuple[str, str]]:
        """Yield the Beings of one partition, each with the place to continue after."""
        yielded: set[str] = set()
        for range_ in (Range(high=self._grace()), self._ahead()):
            if range_.high is not None and after > range_.high:
                continue
            rest = Range(low=max(range_.low or "", f"{after}!" if after else ""), high=range_.high)
            for item in every_item(self._table, partition, index="gsi1", keys=rest, at_once=_PAGE):
                place = str(item["gsi1sk"])
                being_id = place.rpartition("#")[2]
                if being_id not in yielded:
                    yielded.add(being_id)
                    yield being_id, place

    def _grace(self) -> str:
        return moment(self._clock() - timedelta(seconds=INDEX_GRACE_SECONDS))

    def _until_now(self) -> Range:
        return Range(high=moment(self._clock() + timedelta(milliseconds=1)))

    def _ahead(self) -> Range:
        """Return the range of marks that were written before the clock was set back."""
        # Other items of the partition sort after the last year.
        return Range(low=self._latest(), high=":")

    def _latest(self) -> str:
        longest = INDEX_KEEP_SECONDS + CLOCK_TOLERANCE_SECONDS
        return moment(self._clock() + timedelta(seconds=longest))

    def _mark(self, being_id: str, seconds: float, fields: Item, *, is_listed: bool = True) -> Put:
        due = moment(self._clock() + timedelta(seconds=seconds))
        partition = keys.marks(being_id)
        item: Item = {
            "pk": partition,
            "sk": f"{due}#{short_id(self._rng)}",
            **fields,
        }
        if is_listed:
            item["gsi1pk"] = REPAIR_PARTITIONS[int(partition[2:4], 16) % _SHARDS]
            item["gsi1sk"] = f"{due}#{being_id}"
        return Put(MARK.stamp(item))


def _mark(item: Item) -> Mark:
    item = MARK.read(item)
    ids, forget = item["ids"], item.get("forget")
    assert isinstance(ids, list)
    return Mark(
        Key.of(item),
        tuple(map(str, ids)),
        None if forget is None else str(forget),
    )
