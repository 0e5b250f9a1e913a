"""Updates of the search index by a run: at once, because the next step searches it."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from nacre.being.memory.index.marks import Mark
from nacre.being.memory.index.sync import IndexSync, marked
from nacre.being.memory.index.vector_items import is_point
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Node, Scene
from nacre.being.memory.text.searchable_text import searchable
from nacre.core.errors import UnavailableError
from nacre.core.limits import INDEX_FILE_CHANGES
from nacre.ports.items.table import Delete, Key, Put, Write
from nacre.ports.vectors.vector_index import VectorIndex

_SILENT = "the embedding model does not answer"


class IndexUpdates:
    """Prepares index updates for a transaction, and applies them after it."""

    def __init__(self, indexing: IndexSync, being_id: str) -> None:
        self._indexing = indexing
        self._being_id = being_id
        self._changed = 0  # points since the index could settle

    def writes(
        self,
        live: Sequence[Node | Scene],
        gone: Sequence[str] = (),
        *,
        like: Mapping[str, str] | None = None,
    ) -> list[Write]:
        """Return the writes for the transaction; raises UnavailableError if a vector is missing.

        One mark among the writes names all changed points; `apply` finds them by it.
        """
        entries = [searchable(memory) for memory in live]
        # A Being is listed for a patrol as long as a run of it is open.
        change = self._indexing.prepare(
            self._being_id, entries, gone, like=like, complete=True, with_work=True
        )
        return list(change.writes)

    def apply(self, writes: Sequence[Write]) -> None:
        """Apply the updates of a committed transaction; raises UnavailableError on failure."""
        for write in writes:
            if isinstance(write, Put) and write.item["pk"] == keys.marks(self._being_id):
                ids = write.item["ids"]
                assert isinstance(ids, list)
                place = Key.of(write.item)
                self._sync([Mark(place, tuple(map(str, ids)))])
        self._changed += sum(self._changes_a_point(write) for write in writes)
        if self._changed >= INDEX_FILE_CHANGES:
            self._changed = 0
            self._index.settle(self._being_id, more_follow=True)

    def catch_up(self) -> None:
        """Apply all updates that are still marked, so that decisions see the whole memory."""
        for page in self._indexing.marks.of_points(self._being_id):
            self._sync(page)

    @cached_property
    def _index(self) -> VectorIndex:
        return self._indexing.active_index(self._being_id).index

    def _changes_a_point(self, write: Write) -> bool:
        match write:
            case Put(item):
                return is_point(self._being_id, Key.of(item))
            case Delete(key):
                return is_point(self._being_id, key)
            case _:
                return False

    def _sync(self, marks: Sequence[Mark]) -> None:
        if not self._indexing.sync(self._being_id, marked(marks)):
            raise UnavailableError(_SILENT)
        self._indexing.marks.clear(self._indexing.non_durable_table, marks)
