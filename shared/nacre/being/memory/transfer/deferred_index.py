"""A search index that is updated later: memories are stored with a mark that a repair follows.

Imports and erasing change many memories at once. This way, they need neither an embedder nor an
index.
"""

from collections.abc import Sequence
from random import Random

from nacre.being.memory.index.marks import Marks
from nacre.being.memory.index.vector_items import from_item, vector_item
from nacre.being.memory.model import keys
from nacre.being.memory.text.searchable_text import IndexChange, IndexEntry
from nacre.being.memory.transfer.portable_records import Record
from nacre.core.clock import Clock
from nacre.core.lazy_dataclasses import replace
from nacre.ports.items.table import Delete, Put, Table, Write


class DeferredIndex:
    """A SearchIndex that embeds nothing and leaves the update of the index to a repair."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._marks = Marks(table, clock=clock, rng=rng)

    def prepare(
        self,
        being_id: str,
        entries: Sequence[IndexEntry],
        removed: Sequence[str] = (),
        *,
        with_work: bool = False,
    ) -> IndexChange:
        """Return the change that adds or replaces these entries and removes these ids."""
        writes = self.restore_writes(being_id, [(entry, None) for entry in entries])
        if removed:
            writes += [Delete(keys.point(being_id, point_id)) for point_id in removed]
            writes.append(self._marks.points_mark(being_id, removed, with_work=with_work))
        return IndexChange(writes, lambda: None)

    def restore_writes(
        self, being_id: str, entries: Sequence[tuple[IndexEntry, Record | None]]
    ) -> list[Write]:
        """Return the writes for entries with the records that they come from.

        The vectors of a record are kept if they were made from the same text.
        """
        if not entries:
            return []
        places = {entry.id: keys.point(being_id, entry.id) for entry, _ in entries}
        stored = self._table.get_many(places.values())
        writes: list[Write] = []
        for entry, record in entries:
            before = stored.get(places[entry.id])
            item = vector_item(entry, None if before is None else from_item(before))
            vectors = None if record is None else record.vectors
            if vectors is not None and vectors.text_sha == item.text_sha:
                item = replace(
                    item,
                    vectors={**vectors.of, **item.vectors},
                    subjects={**vectors.subjects, **item.subjects},
                )
            writes.append(Put(item.to_item(being_id)))
        return [*writes, self._marks.points_mark(being_id, [entry.id for entry, _ in entries])]
