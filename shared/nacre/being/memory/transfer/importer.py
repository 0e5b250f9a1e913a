"""The import of records into a Being. Existing data stays, so a repeated import changes nothing.

Each batch is one transaction with its counters, and each record is written only if it does not
exist. An interrupted import continues when it is repeated, and never overwrites what somebody
wrote meanwhile.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import (
    CLOCK,
    Cap,
    count_in,
    counters,
    write_counted,
)
from nacre.being.memory.model.types import (
    MESSAGE,
)
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.memory.text.searchable_text import IndexEntry
from nacre.being.memory.transfer.deferred_index import DeferredIndex
from nacre.being.memory.transfer.exporter import Exporter
from nacre.being.memory.transfer.portable_records import (
    KINDS,
    Record,
    encode,
    for_being,
    is_same,
)
from nacre.being.memory.transfer.record_writes import (
    cap_of,
    counts_of,
    further_items,
    place_of,
    searched_in,
    writes_of,
)
from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass, field, replace
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

_WRITES = MAX_TRANSACTION_WRITES - 2  # without the mark and the counters
_BYTES = MAX_TRANSACTION_BYTES // 2  # texts are stored a second time in vector items
_NAMED = 20  # records that were not imported, in an answer

Progress = Callable[[int], None]


@dataclass(slots=True)
class ImportResult:
    """The result of an import, counted by kind.

    `same` records existed already. `kept` ones have an existing record of the same key and
    another content, which stays. `no_room` ones exceeded a limit of their kind; `instead` ones
    did too, and were imported as other kinds, where they are counted as well.
    """

    new: Counter[str] = field(default_factory=Counter)
    same: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    no_room: Counter[str] = field(default_factory=Counter)
    instead: Counter[str] = field(default_factory=Counter)
    kept_keys: list[str] = field(default_factory=list)

    @property
    def done(self) -> int:
        """Return the number of records so far."""
        return sum(map(Counter.total, (self.new, self.same, self.kept, self.no_room)))


@dataclass(frozen=True, slots=True)
class Origin:
    """The Being that records come from, with its clock."""

    being_id: str
    clock: int


class Importer:
    """Imports records into Beings."""

    def __init__(self, table: Table, index: DeferredIndex) -> None:
        self._table = table
        self._index = index
        self._exporter = Exporter(table)

    def is_empty(self, being_id: str) -> bool:
        """Return whether the Being has no data yet."""
        records = self._exporter.records(being_id)
        return not any(record.kind != "being" or record.value for record in records)

    def check_room(self, being_id: str, records: Iterable[Record]) -> None:
        """Raise InvalidInputError if the records would exceed a limit of their kind."""
        run = _ImportRun(self, being_id, None, is_dry=True)
        capped = (record for record in records if cap_of(KINDS[record.kind]) is not None)
        for batch in _batches(capped):
            run.take(batch)
        for kind, count in run.result.no_room.items():
            cap = cap_of(KINDS[kind])
            assert cap is not None
            raise InvalidInputError(
                f"there are at most {cap[1].most} {cap[1].noun}, and {count} of the file do not"
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
    ) -> ImportResult:
        """Import the records; a dry run only counts.

        The active days of memories are adjusted to the clock of the Being, if it has one.
        `instead` returns replacements for a record that exceeds a limit, of unlimited kinds.
        """
        run = _ImportRun(self, being_id, origin, is_dry=is_dry, instead=instead)
        for batch in _batches(records):
            run.take(batch)
            progress(run.result.done)
        return run.result


class _ImportRun:
    """One import into one Being."""

    def __init__(
        self,
        imports: Importer,
        being_id: str,
        origin: Origin | None,
        *,
        is_dry: bool,
        instead: Callable[[Record], Sequence[Record]] = lambda _: (),
    ) -> None:
        self._table = imports._table
        self._index = imports._index
        self._exporter = imports._exporter
        self._being_id = being_id
        self._home = keys.home(being_id)
        self._origin = origin
        self._is_dry = is_dry
        self._instead = instead
        self.result = ImportResult()
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
        """Import some records with distinct keys."""
        local = [self._localized(record) for record in batch]
        self._take_meta([record for record in local if record.kind == "being"])
        others = [record for record in local if record.kind != "being"]
        if not others:
            return
        new, same, different, no_room = retry_on_conflict(lambda: self._written(others))
        self.result.new.update(record.kind for record in new)
        self.result.same.update(record.kind for record in same)
        self.result.kept.update(record.kind for record in different)
        others = []
        for record in no_room:
            forms = self._instead(record)
            (self.result.instead if forms else self.result.no_room)[record.kind] += 1
            others += forms
        room = _NAMED - len(self.result.kept_keys)
        self.result.kept_keys += [
            f"{record.kind} {record.key}" for record in different[: max(0, room)]
        ]
        for record in new:
            if record.kind in self._room:
                self._room[record.kind] -= 1
        for batch in _batches(others):
            self.take(batch)

    def _localized(self, record: Record) -> Record:
        """Return the record with ids and days of this Being."""
        if self._origin is None:
            return record
        record = for_being(record, self._origin.being_id, self._being_id)
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
            counts = retry_on_conflict(partial(self._meta_taken, record))
            counts[record.kind] += 1

    def _meta_taken(self, record: Record) -> Counter[str]:
        item = counters(self._table, self._being_id)
        missing = {name: value for name, value in record.value.items() if name not in item}
        if missing:
            if not self._is_dry:
                absent = Every((Present(), *map(Absent, missing)))
                self._table.update(keys.meta(self._being_id), Change(set=missing), when=absent)
            return self.result.new
        same = all(item[name] == value for name, value in record.value.items())
        return self.result.same if same else self.result.kept

    def _written(
        self, records: Sequence[Record]
    ) -> tuple[list[Record], list[Record], list[Record], list[Record]]:
        stored = self._stored(records)
        new: list[Record] = []
        same: list[Record] = []
        different: list[Record] = []
        no_room: list[Record] = []
        room = dict(self._room)
        for record in records:
            before = stored.get(place_of(self._home, record))
            if before is not None:
                unchanged = self._origin is None or is_same(before, record)
                (same if unchanged else different).append(record)
            elif room.get(record.kind, 1) < 1:
                no_room.append(record)
            else:
                new.append(record)
                if record.kind in room:
                    room[record.kind] -= 1
        if new and not self._is_dry:
            self._write(new)
        return new, same, different, no_room

    def _stored(self, records: Sequence[Record]) -> dict[Key, Record]:
        """Return the stored records under the keys of these records."""
        places = {place_of(self._home, record): record.kind for record in records}
        by_kind: dict[str, dict[Key, Item]] = {}
        for place, item in self._table.get_many(places).items():
            by_kind.setdefault(places[place], {})[place] = item
        stored: dict[Key, Record] = {}
        for kind, items in by_kind.items():
            kind_records = self._exporter.records_in(
                self._being_id, KINDS[kind], list(items.values())
            )
            stored |= zip(items, kind_records, strict=True)
        return stored

    def _write(self, records: Sequence[Record]) -> None:
        writes: list[Write] = []
        searched: list[tuple[IndexEntry, Record | None]] = []
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
        writes += self._index.restore_writes(self._being_id, searched)
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
    """Yield batches of records that fit one transaction, each with distinct keys."""
    batch: list[Record] = []
    places: set[Key] = set()
    writes = size = 0
    for record in records:
        place = place_of("", record)
        bytes_ = len(encode(record))
        more = 3 + further_items(record)
        if batch and (writes + more > _WRITES or size + bytes_ > _BYTES or place in places):
            yield batch
            batch, places, writes, size = [], set(), 0, 0
        batch.append(record)
        places.add(place)
        writes += more  # the record, and its vector item and note, or its long text, or its month
        size += bytes_
    if batch:
        yield batch
