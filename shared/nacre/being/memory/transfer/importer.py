"""Taking records into a Being: what is there stays, so that the same again changes nothing.

A batch is one transaction with what it counts, and each of its records is written on condition
that it is not there. So an import that broke off goes on when it is repeated, and what
somebody wrote meanwhile is never overwritten.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import (
    Cap,
    count_in,
    counters,
    write_counted,
)
from nacre.being.memory.model.types import (
    MESSAGE,
)
from nacre.being.memory.store.merges import CLOCK
from nacre.being.memory.store.retry import settled
from nacre.being.memory.text.searchable_text import Entry as Searched
from nacre.being.memory.transfer.deferred_index import MarkingIndex
from nacre.being.memory.transfer.exporter import Exports
from nacre.being.memory.transfer.portable_records import (
    KINDS,
    Record,
    encode,
    moved,
    says_the_same,
)
from nacre.being.memory.transfer.record_writes import (
    cap_of,
    counts_of,
    place_of,
    searched_in,
    writes_of,
)
from nacre.core.errors import InvalidInputError
from nacre.core.limits import MAX_TRANSACTION_BYTES, MAX_TRANSACTION_WRITES
from nacre.ports.items.table import (
    Absent,
    Change,
    Every,
    Item,
    Key,
    Present,
    Put,
    Table,
    Write,
)

_WRITES = MAX_TRANSACTION_WRITES - 2  # the mark, and what is counted
_BYTES = MAX_TRANSACTION_BYTES // 2  # texts stand in the vector items once more
_NAMED = 20  # of what was not taken in, in an answer

Progress = Callable[[int], None]


@dataclass(slots=True)
class Imported:
    """What became of an import, counted by kind.

    `same` was there already. `kept` is there under the same key and says something else: it
    stays as it is. `no_room` did not fit below the number of entries that there may be;
    `instead` did not either, and is kept in another form, which is counted as what it is.
    """

    new: Counter[str] = field(default_factory=Counter)
    same: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    no_room: Counter[str] = field(default_factory=Counter)
    instead: Counter[str] = field(default_factory=Counter)
    kept_keys: list[str] = field(default_factory=list)

    @property
    def done(self) -> int:
        """Return how many records were looked at."""
        return sum(map(Counter.total, (self.new, self.same, self.kept, self.no_room)))


@dataclass(frozen=True, slots=True)
class Origin:
    """Where records come from: a Being with its clock; None for another program's."""

    being_id: str
    clock: int


class Imports:
    """Takes records into Beings."""

    def __init__(self, table: Table, index: MarkingIndex) -> None:
        self._table = table
        self._index = index
        self._exports = Exports(table)

    def is_empty(self, being_id: str) -> bool:
        """Whether the Being keeps nothing yet."""
        records = self._exports.records(being_id)
        return not any(record.kind != "being" or record.value for record in records)

    def check_room(self, being_id: str, records: Iterable[Record]) -> None:
        """Raise InvalidInputError when more would come than there may be of something."""
        plan = _Plan(self, being_id, None, is_dry=True)
        capped = (record for record in records if cap_of(KINDS[record.kind]) is not None)
        for batch in _batches(capped):
            plan.take(batch)
        for kind, count in plan.result.no_room.items():
            cap = cap_of(KINDS[kind])
            assert cap is not None
            raise InvalidInputError(
                f"there are at most {cap[1].most} {cap[1].what}, and {count} of the file do not"
                " fit; delete some first, or import into another Being"
            )

    def run(
        self,
        being_id: str,
        records: Iterable[Record],
        *,
        origin: Origin | None = None,
        is_dry: bool = False,
        instead: Callable[[Record], Sequence[Record]] = lambda _: (),
        progress: Progress = lambda _: None,
    ) -> Imported:
        """Take the records in; a dry run only says what would become of them.

        The active days of memories are moved to the clock of a Being that has one. `instead`
        gives other records, of kinds without a limit, for one that finds no room.
        """
        plan = _Plan(self, being_id, origin, is_dry=is_dry, instead=instead)
        for batch in _batches(records):
            plan.take(batch)
            progress(plan.result.done)
        return plan.result


class _Plan:
    """One import into one Being."""

    def __init__(
        self,
        imports: Imports,
        being_id: str,
        origin: Origin | None,
        *,
        is_dry: bool,
        instead: Callable[[Record], Sequence[Record]] = lambda _: (),
    ) -> None:
        self._table = imports._table
        self._index = imports._index
        self._exports = imports._exports
        self._being_id = being_id
        self._home = keys.home(being_id)
        self._origin = origin
        self._is_dry = is_dry
        self._instead = instead
        self.result = Imported()
        item = counters(self._table, being_id)
        self._clock_shift = (
            count_in(item, CLOCK) - origin.clock if origin is not None and CLOCK in item else 0
        )
        self._room = {
            kind.name: cap[1].most - count_in(item, cap[0])
            for kind in KINDS.values()
            if (cap := cap_of(kind)) is not None
        }

    def take(self, batch: Sequence[Record]) -> None:
        """Take in some records with distinct keys."""
        local = [self._here(record) for record in batch]
        self._take_meta([record for record in local if record.kind == "being"])
        others = [record for record in local if record.kind != "being"]
        if not others:
            return
        new, same, kept, no_room = settled(lambda: self._written(others))
        self.result.new.update(record.kind for record in new)
        self.result.same.update(record.kind for record in same)
        self.result.kept.update(record.kind for record in kept)
        others = []
        for record in no_room:
            forms = self._instead(record)
            (self.result.instead if forms else self.result.no_room)[record.kind] += 1
            others += forms
        room = _NAMED - len(self.result.kept_keys)
        self.result.kept_keys += [f"{each.kind} {each.key}" for each in kept[: max(0, room)]]
        for record in new:
            if record.kind in self._room:
                self._room[record.kind] -= 1
        for batch in _batches(others):
            self.take(batch)

    def _here(self, record: Record) -> Record:
        """Return the record as it is for this Being and its clock."""
        if self._origin is None:
            return record
        record = moved(record, self._origin.being_id, self._being_id)
        if record.kind != "node" or not self._clock_shift:
            return record
        value = dict(record.value)
        for name in ("clock0", "due"):
            days = value.get(name)
            if isinstance(days, int):
                value[name] = max(0, days + self._clock_shift)
        return replace(record, value=value)

    def _take_meta(self, records: Sequence[Record]) -> None:
        for record in records:
            found = settled(partial(self._meta_taken, record))
            found[record.kind] += 1

    def _meta_taken(self, record: Record) -> Counter[str]:
        item = counters(self._table, self._being_id)
        missing = {name: each for name, each in record.value.items() if name not in item}
        if missing:
            if not self._is_dry:
                absent = Every((Present(), *map(Absent, missing)))
                self._table.update(keys.meta(self._being_id), Change(set=missing), when=absent)
            return self.result.new
        same = all(item[name] == each for name, each in record.value.items())
        return self.result.same if same else self.result.kept

    def _written(
        self, records: Sequence[Record]
    ) -> tuple[list[Record], list[Record], list[Record], list[Record]]:
        known = self._known(records)
        new: list[Record] = []
        same: list[Record] = []
        kept: list[Record] = []
        no_room: list[Record] = []
        room = dict(self._room)
        for record in records:
            before = known.get(place_of(self._home, record))
            if before is not None:
                is_same = self._origin is None or says_the_same(before, record)
                (same if is_same else kept).append(record)
            elif room.get(record.kind, 1) < 1:
                no_room.append(record)
            else:
                new.append(record)
                if record.kind in room:
                    room[record.kind] -= 1
        if new and not self._is_dry:
            self._write(new)
        return new, same, kept, no_room

    def _known(self, records: Sequence[Record]) -> dict[Key, Record]:
        """Return what is there under the keys of these records."""
        places = {place_of(self._home, record): record.kind for record in records}
        found = self._table.get_many(places)
        by_kind: dict[str, list[tuple[Key, Item]]] = {}
        for place, item in found.items():
            by_kind.setdefault(places[place], []).append((place, item))
        known: dict[Key, Record] = {}
        for kind, pairs in by_kind.items():
            items = [item for _, item in pairs]
            there = self._exports.records_in(self._being_id, KINDS[kind], items)
            known |= zip((place for place, _ in pairs), there, strict=True)
        return known

    def _write(self, records: Sequence[Record]) -> None:
        writes: list[Write] = []
        searched: list[tuple[Searched, Record | None]] = []
        add: Counter[str] = Counter()
        months: set[str] = set()
        for record in records:
            writes += writes_of(self._being_id, record)
            add.update(counts_of(record))
            if record.kind == "message":
                months.add(str(record.value["ts"])[:7])
            elif (entry := searched_in(record)) is not None:
                searched.append((entry, record))
        for month in sorted(months):
            place = {"pk": keys.months(self._being_id), "sk": month}
            writes.append(Put(MESSAGE.stamp({**place})))
        writes += self._index.restoring(self._being_id, searched)
        caps: dict[str, Cap] = {}
        for record in records:
            if (cap := cap_of(KINDS[record.kind])) is not None:
                caps[cap[0]] = cap[1]
        write_counted(
            self._table,
            self._being_id,
            writes,
            add=add,
            caps=caps,
            has_work=any(record.kind in ("scene", "node", "cluster") for record in records),
        )


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Split records into parts that one transaction takes, each key once."""
    batch: list[Record] = []
    places: set[Key] = set()
    writes = size = 0
    for record in records:
        place = place_of("", record)
        bytes_ = len(encode(record))
        if batch and (writes + 3 > _WRITES or size + bytes_ > _BYTES or place in places):
            yield batch
            batch, places, writes, size = [], set(), 0, 0
        batch.append(record)
        places.add(place)
        writes += 3  # with its vector item and its note, its long text or its month
        size += bytes_
    if batch:
        yield batch
