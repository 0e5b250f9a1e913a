"""Everything that a Being keeps, read as records: kind by kind, in the order of their keys."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from nacre.being.memory.index.vector_items import SUBJECT_OF, VECTOR_OF, point_key, vectors
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import counters
from nacre.being.memory.store.entries import body_key, entry_in, is_apart
from nacre.being.memory.transfer.portable_records import (
    KINDS,
    Kind,
    Record,
    StateHash,
    Vectors,
    record_in,
)
from nacre.ports.embedder import Vector
from nacre.ports.items.table import Item, Key, Range, Table

_PAGE = 100
_LONG_PAGE = 50  # messages and long entries have up to 256 kB each


class Exports:
    """Reads Beings. What somebody changes meanwhile is in it as it was or as it is."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def records(self, being_id: str, *, with_vectors: bool = False) -> Iterator[Record]:
        """Give every record; raises NotFoundError when there is no such Being."""
        counters(self._table, being_id)
        for kind in KINDS.values():
            for items in self._pages(being_id, kind):
                records = self.records_in(being_id, kind, items)
                yield from self._with_vectors(being_id, records) if with_vectors else records

    def state_hash(self, being_id: str) -> str:
        """Return the hash of all that the Being keeps now."""
        state = StateHash(being_id)
        for record in self.records(being_id):
            state.add(record)
        return state.hexdigest()

    def records_in(self, being_id: str, kind: Kind, items: Sequence[Item]) -> list[Record]:
        """Return the records in items of one kind, with texts that are kept apart."""
        records = [record_in(kind, item) for item in items]
        if kind.target is None or kind.is_version:
            return records
        target = kind.target
        apart = {
            record.key: body_key(being_id, target, record.key)
            for record, item in zip(records, items, strict=True)
            if "text" not in record.value and is_apart(target, entry_in(item))
        }
        found = self._table.get_many(apart.values())
        return [
            replace(record, value={**record.value, "text": found[apart[record.key]]["text"]})
            if record.key in apart and apart[record.key] in found
            else record
            for record in records
        ]

    def _pages(self, being_id: str, kind: Kind) -> Iterator[Sequence[Item]]:
        home = keys.home(being_id)
        partitions = [home + kind.partition]
        if kind.name == "message":
            months = self._table.query(keys.months(being_id)).items
            partitions = [keys.history(being_id, str(month["sk"])) for month in months]
        wanted = Range(low=kind.prefix, high=kind.prefix) if kind.name == "being" else None
        if wanted is None and kind.prefix:
            wanted = Range(prefix=kind.prefix)
        size = _LONG_PAGE if kind.name == "message" or kind.target else _PAGE
        for partition in partitions:
            start = None
            while True:
                page = self._table.query(partition, keys=wanted, limit=size, start=start)
                if page.items:
                    yield page.items
                if (start := page.next) is None:
                    break

    def _with_vectors(self, being_id: str, records: Sequence[Record]) -> list[Record]:
        places: dict[str, Key] = {
            record.key: cluster_place(being_id, record.key)
            if record.kind == "cluster"
            else point_key(being_id, record.key)
            for record in records
            if record.kind == "cluster" or KINDS[record.kind].is_searched
        }
        found = self._table.get_many(places.values())
        result = []
        for record in records:
            item = found.get(places[record.key]) if record.key in places else None
            held = {} if item is None else vectors_in(item)
            if item is not None and held:
                text_sha, subjects = str(item.get("text_sha", "")), vectors_in(item, SUBJECT_OF)
                record = replace(record, vectors=Vectors(text_sha, held, subjects))
            result.append(record)
        return result


def cluster_place(being_id: str, cluster_id: str) -> Key:
    """Return where the vector of a cluster is."""
    return Key(vectors(being_id), f"C#{cluster_id}")


def vectors_in(item: Item, of: str = VECTOR_OF) -> dict[str, Vector]:
    """Return an item's vectors by embedding; `of` says of what."""
    return {
        name[len(of) :]: value
        for name, value in item.items()
        if name.startswith(of) and isinstance(value, bytes)
    }
