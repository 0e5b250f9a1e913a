"""The export of a Being: all its data as records, kind by kind, in the order of their keys."""

from collections.abc import Iterator, Sequence
from itertools import islice

from nacre.being.memory.index.cluster_vectors import stored_means, vector_place
from nacre.being.memory.index.vector_items import SUBJECT_OF, VECTOR_OF, vectors_in
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import counters
from nacre.being.memory.model.records import attributes_of
from nacre.being.memory.model.types import Node
from nacre.being.memory.store.entry_items import Entry, body_key, is_stored_apart
from nacre.being.memory.store.evidence import whole_nodes
from nacre.being.memory.store.recall_log import counted_nodes
from nacre.being.memory.transfer.portable_records import (
    KINDS,
    Kind,
    Record,
    StateHash,
    Vectors,
    record_in,
)
from nacre.core.lazy_dataclasses import replace
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Item, Key, Range, Table

_PAGE = 100
_END_OF_TIME = "9999"  # no recall is later
_LONG_PAGE = 50  # messages and long entries have up to 256 kB each


class Exporter:
    """Reads the data of Beings. A concurrent change may or may not be included."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def records(self, being_id: str, *, with_vectors: bool = False) -> Iterator[Record]:
        """Yield every record; raises NotFoundError when there is no such Being."""
        counters(self._table, being_id)
        for kind in KINDS.values():
            for items in self._pages(being_id, kind):
                records = self.records_in(being_id, kind, items)
                yield from self._with_vectors(being_id, records) if with_vectors else records

    def state_hash(self, being_id: str) -> str:
        """Return the hash of all data of the Being."""
        state = StateHash(being_id)
        for record in self.records(being_id):
            state.add(record)
        return state.hexdigest()

    def records_in(self, being_id: str, kind: Kind, items: Sequence[Item]) -> list[Record]:
        """Return the records in items of one kind, with the texts that are stored apart.

        Recalls that wait for a patrol are counted in the records of their nodes, which list all of
        their scenes.
        """
        records = [record_in(kind, item) for item in items]
        if kind.name == "node":
            recalled = counted_nodes(self._table, being_id, now=_END_OF_TIME)
            changed: dict[str, Node] = {
                record.key: recalled.get(record.key) or record.to_object()
                for record in records
                if record.key in recalled or "earlier" in record.value
            }
            whole = whole_nodes(self._table, being_id, changed.values())
            values = {node.node_id: attributes_of(node) for node in whole}
            return [
                replace(record, value=values[record.key]) if record.key in values else record
                for record in records
            ]
        if kind.target is None or kind.is_version:
            return records
        target = kind.target
        apart = {
            record.key: body_key(being_id, target, record.key)
            for record, item in zip(records, items, strict=True)
            if "text" not in record.value and is_stored_apart(target, Entry.from_item(item))
        }
        texts = self._table.get_many(apart.values())
        return [
            replace(record, value={**record.value, "text": texts[apart[record.key]]["text"]})
            if record.key in apart and apart[record.key] in texts
            else record
            for record in records
        ]

    def _pages(self, being_id: str, kind: Kind) -> Iterator[Sequence[Item]]:
        home = keys.home(being_id)
        partitions = [home + kind.partition]
        if kind.name == "message":
            months = self._table.query(keys.months(being_id)).items
            partitions = [keys.history(being_id, str(month["sk"])) for month in months]
        sort_keys = Range(low=kind.prefix, high=kind.prefix) if kind.name == "being" else None
        if sort_keys is None and kind.prefix:
            sort_keys = Range(prefix=kind.prefix)
        size = _LONG_PAGE if kind.name == "message" or kind.target else _PAGE
        for partition in partitions:
            items = every_item(self._table, partition, keys=sort_keys, at_once=size)
            while page := list(islice(items, size)):
                yield page

    def _with_vectors(self, being_id: str, records: Sequence[Record]) -> list[Record]:
        places: dict[str, Key] = {
            record.key: vector_place(being_id, record.key)
            if record.kind == "cluster"
            else keys.point(being_id, record.key)
            for record in records
            if record.kind == "cluster" or KINDS[record.kind].is_searched
        }
        items = self._table.get_many(places.values())
        result = []
        for record in records:
            item = items.get(places[record.key]) if record.key in places else None
            vectors = None if item is None else _vectors(record.kind, item)
            result.append(record if vectors is None else replace(record, vectors=vectors))
        return result


def _vectors(kind: str, item: Item) -> Vectors | None:
    of = stored_means(item) if kind == "cluster" else vectors_in(item, VECTOR_OF)
    if not of:
        return None
    return Vectors(str(item.get("text_sha", "")), of, vectors_in(item, SUBJECT_OF))
