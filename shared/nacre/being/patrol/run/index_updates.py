"""Telling the index what a run changes: at once, because the next step searches it."""

from collections.abc import Mapping, Sequence

from nacre.being.memory.index.marks import Mark, partition
from nacre.being.memory.index.sync import Indexing, marked
from nacre.being.memory.index.vector_items import VECTOR_OF, point_key, vectors
from nacre.being.memory.model.types import Node, Scene
from nacre.being.memory.text.searchable_text import searchable
from nacre.core.errors import UnavailableError
from nacre.ports.items.table import Delete, Key, Put, Write

_SILENT = "the embedding model does not answer"


class Telling:
    """Writes the points of memories with them, and tells the index once they are written."""

    def __init__(self, indexing: Indexing, being_id: str) -> None:
        self._indexing = indexing
        self._being_id = being_id

    def writes(
        self,
        live: Sequence[Node | Scene],
        gone: Sequence[str] = (),
        *,
        like: Mapping[str, str] | None = None,
    ) -> list[Write]:
        """Return what goes into the transaction; raises UnavailableError rather than lack a vector.

        Whatever is written there is marked in one place, whose points `tell` reads back.
        """
        entries = [searchable(memory) for memory in live]
        written = self._indexing.writes(self._being_id, entries, like=like) if entries else []
        embedder = self._indexing.reading(self._being_id).embedder
        points: list[Write] = []
        for write in written:
            if isinstance(write, Put) and write.item["pk"] == vectors(self._being_id):
                if embedder is not None and VECTOR_OF + embedder.emb_id not in write.item:
                    raise UnavailableError(_SILENT)
                points.append(write)
        points += [Delete(point_key(self._being_id, each)) for each in gone]
        ids = [*(entry.id for entry in entries), *gone]
        return [*points, self._indexing.marks.about(self._being_id, ids)]

    def tell(self, writes: Sequence[Write]) -> None:
        """Tell the index of what was written; raises UnavailableError when it does not answer."""
        for write in writes:
            if isinstance(write, Put) and write.item["pk"] == partition(self._being_id):
                ids = write.item["ids"]
                assert isinstance(ids, list)
                place = Key(str(write.item["pk"]), str(write.item["sk"]))
                self._settle([Mark(place, tuple(map(str, ids)))])

    def catch_up(self) -> None:
        """Tell the index of everything that is marked: what it lacks would be decided anew."""
        for page in self._indexing.marks.all(self._being_id):
            self._settle([mark for mark in page if mark.forget is None])

    def _settle(self, marks: Sequence[Mark]) -> None:
        if not self._indexing.sync(self._being_id, marked(marks)):
            raise UnavailableError(_SILENT)
        self._indexing.marks.clear(self._indexing.relaxed, marks)
