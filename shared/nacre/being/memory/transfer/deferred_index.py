"""Index work that is left for later: the items are written, with a mark that a repair follows.

What moves or erases many memories at once needs no embedder and no index of its own then, and
does the same on every wiring.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from nacre.being.memory.index.marks import Marks
from nacre.being.memory.index.vector_items import from_item, point_key, vector_item
from nacre.being.memory.text.searchable_text import Entry
from nacre.being.memory.transfer.portable_records import Record
from nacre.core.clock import Clock
from nacre.ports.items.table import Delete, Put, Table, Write


class MarkingIndex:
    """A SearchIndex that embeds nothing and tells no index."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._marks = Marks(table, clock=clock, rng=rng)

    def writes(self, being_id: str, entries: Sequence[Entry]) -> list[Write]:
        """Return what goes into the transaction that writes the memories themselves."""
        return self.restoring(being_id, [(entry, None) for entry in entries])

    def restoring(
        self, being_id: str, entries: Sequence[tuple[Entry, Record | None]]
    ) -> list[Write]:
        """Return the same for memories of an export; vectors made of their text are kept."""
        if not entries:
            return []
        places = {entry.id: point_key(being_id, entry.id) for entry, _ in entries}
        found = self._table.get_many(places.values())
        writes: list[Write] = []
        for entry, record in entries:
            known = found.get(places[entry.id])
            item = vector_item(entry, None if known is None else from_item(known))
            brought = None if record is None else record.vectors
            if brought is not None and brought.text_sha == item.text_sha:
                item = replace(
                    item,
                    vectors={**brought.of, **item.vectors},
                    subjects={**brought.subjects, **item.subjects},
                )
            writes.append(Put(item.to_item(being_id)))
        return [*writes, self._marks.about(being_id, [entry.id for entry, _ in entries])]

    def apply(self, being_id: str, entries: Sequence[Entry]) -> None:
        """Do nothing: the mark says what is left to do."""

    def remove_writes(self, being_id: str, ids: Sequence[str]) -> list[Write]:
        """Return what goes into the transaction that deletes memories."""
        if not ids:
            return []
        deletes: list[Write] = [Delete(point_key(being_id, each)) for each in ids]
        return [*deletes, self._marks.about(being_id, ids)]

    def remove(self, being_id: str, ids: Sequence[str]) -> None:
        """Do nothing: the mark says what is left to do."""
