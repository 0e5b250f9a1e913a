"""Keeping the search index in step with the items, which are the truth.

A write puts, in the transaction of what it is about, the text and its vector as an item and a
mark. Afterwards the index is told and the mark cleared. Whatever fails in between leaves the
mark, and a repair does the rest.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random

from nacre.being.memory.index.index_state import (
    LEXICAL,
    IndexState,
    IndexStates,
    state_in,
    state_key,
)
from nacre.being.memory.index.marks import Mark, Marks
from nacre.being.memory.index.vector_items import (
    SUBJECT_OF,
    VECTOR_OF,
    VectorItem,
    from_item,
    point_key,
    update_each,
    vector_item,
)
from nacre.being.memory.text.searchable_text import Entry
from nacre.core.clock import Clock
from nacre.core.errors import UnavailableError
from nacre.core.limits import INDEX_RETRY_SECONDS
from nacre.ports.embedder import Embedder
from nacre.ports.items.table import Change, Compare, Delete, Put, Table, Update, Value, Write
from nacre.ports.vectors import VectorIndex

_AT_ONCE = 100  # points: one transaction, one request to an index
_ROUNDS = 5  # how often points are looked at again because somebody changes them meanwhile


@dataclass(frozen=True, slots=True)
class Reading:
    """What answers a Being's searches: an index, and the embedder whose vectors it holds.

    Without an embedder it is searched by words; `remark` says why, or what is to be done.
    """

    index: VectorIndex
    embedder: Embedder | None
    remark: str | None = None


class Indexing:
    """Writes, repairs and chooses the indexes of Beings.

    `embedder` is the one of the settings, None for a search by words only; `other` loads the
    one of an earlier setting where that is possible. `relaxed` is the same table where
    acknowledged writes need not wait for the disk. `failed` is called with a Being whose
    index could not be told, so that somebody repairs it.
    """

    def __init__(
        self,
        table: Table,
        indexes: Callable[[str], VectorIndex],
        embedder: Embedder | None,
        *,
        clock: Clock,
        rng: Random,
        other: Callable[[str], Embedder | None] = lambda _: None,
        relaxed: Table | None = None,
        failed: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.table = table
        self.relaxed = relaxed or table
        self.states = IndexStates(table)
        self.marks = Marks(table, clock=clock, rng=rng)
        self._open = indexes
        self._embedder = embedder
        self._other = other
        self._failed = failed
        self._clock = clock
        self._guard = threading.Lock()
        self._indexes: dict[str, VectorIndex] = {}
        self._embedders: dict[str, Embedder | None] = {}
        self._resting: dict[str, datetime] = {}  # embedders that failed, until then

    @property
    def wanted(self) -> str:
        """Return the embedding that the settings ask for."""
        return LEXICAL if self._embedder is None else self._embedder.emb_id

    def reading(self, being_id: str) -> Reading:
        """Return what answers this Being's searches now; it writes nothing."""
        state = self.states.get(being_id)
        active = self.wanted if state is None else state.active
        index, embedder = self.index(active), self.embedder(active)
        if active == self.wanted:
            return Reading(index, embedder)
        how = "by words only" if embedder is None else f"with the embedding {active}"
        return Reading(
            index,
            embedder,
            f"the search still works {how}, because the setting has changed since;"
            " run 'nacre reindex'",
        )

    # What writers of memories call

    def writes(
        self,
        being_id: str,
        entries: Sequence[Entry],
        *,
        like: Mapping[str, str] | None = None,
    ) -> list[Write]:
        """Return what goes into the transaction that writes the memories themselves.

        It makes at most one write more than there are entries. An embedder that does not
        answer holds nothing up: the memory is found by its words until a repair. `like` names
        for an entry the point it comes from, whose vectors serve as long as the texts agree.
        """
        like = like or {}
        state, known = self.read(being_id, [*(entry.id for entry in entries), *like.values()])
        state = state or self.states.begun(being_id, self.wanted)
        items = [
            vector_item(entry, known.get(entry.id) or known.get(like.get(entry.id, "")))
            for entry in entries
        ]
        for emb_id in state.emb_ids:
            items = list(self._embedded(items, emb_id).values())
        puts: list[Write] = [Put(item.to_item(being_id)) for item in items]
        if any(self.index(emb_id).is_derived for emb_id in state.emb_ids) or any(
            self._lacks(item, emb_id) for item in items for emb_id in state.emb_ids
        ):
            puts.append(self.marks.about(being_id, [item.id for item in items]))
        return puts

    def apply(self, being_id: str, entries: Sequence[Entry]) -> None:
        """Tell the index of memories that were written; call it once they are."""
        self._settle(being_id, [entry.id for entry in entries])

    def remove_writes(self, being_id: str, ids: Sequence[str]) -> list[Write]:
        """Return what goes into the transaction that deletes memories."""
        deletes: list[Write] = [Delete(point_key(being_id, id_)) for id_ in ids]
        return [*deletes, self.marks.about(being_id, ids)]

    def remove(self, being_id: str, ids: Sequence[str]) -> None:
        """Tell the index of memories that were deleted; call it once they are."""
        self._settle(being_id, ids)

    # What repairs and rebuilds call

    def sync(self, being_id: str, ids: Iterable[str], emb_ids: Sequence[str] | None = None) -> bool:
        """Make the indexes hold what the items say of these points; False if vectors lack.

        Whoever is the last to tell an index reads the items once more afterwards, so that
        of two writers at once none leaves the older state behind.
        """
        left = list(dict.fromkeys(ids))
        complete = True
        for start in range(0, len(left), _AT_ONCE):
            complete &= self._synced(being_id, left[start : start + _AT_ONCE], emb_ids)
        return complete

    def read(
        self, being_id: str, ids: Sequence[str]
    ) -> tuple[IndexState | None, dict[str, VectorItem]]:
        """Return the state of the index and the items of these points, as last acknowledged."""
        places = {point_key(being_id, id_): id_ for id_ in ids}
        key = state_key(being_id)
        found = self.table.get_many([key, *places])
        state = found.pop(key, None)
        items = {places[place]: from_item(item) for place, item in found.items()}
        return None if state is None else state_in(state), items

    def index(self, emb_id: str) -> VectorIndex:
        """Return the index of an embedding."""
        with self._guard:
            if emb_id not in self._indexes:
                self._indexes[emb_id] = self._open(emb_id)
            return self._indexes[emb_id]

    def embedder(self, emb_id: str) -> Embedder | None:
        """Return what makes vectors of an embedding; None where nothing here can."""
        if emb_id == LEXICAL:
            return None
        if self._embedder is not None and self._embedder.emb_id == emb_id:
            return self._embedder
        with self._guard:
            if emb_id not in self._embedders:
                self._embedders[emb_id] = self._other(emb_id)
            return self._embedders[emb_id]

    def _settle(self, being_id: str, ids: Sequence[str]) -> None:
        wanted = frozenset(ids)
        with suppress(UnavailableError):  # the memory is stored; its mark says what is left to do
            # Marks are read before the items, so what they are about was written by now.
            found = self.marks.newest(being_id)
            mine = [mark for mark in found if wanted & set(mark.ids)]
            if self.sync(being_id, [*ids, *marked(mine)]):
                self.marks.clear(self.relaxed, mine)
                self._catch_up(being_id, [mark for mark in found if mark not in mine])
                return
        self._failed(being_id)

    def _catch_up(self, being_id: str, marks: Sequence[Mark]) -> None:
        """Do what an earlier write left, a little with each: a lone process has no worker."""
        left_behind = [mark for mark in marks if self.marks.is_left(mark)]
        if left_behind and self.sync(being_id, left_behind[-1].ids):
            self.marks.clear(self.relaxed, left_behind[-1:])

    def _synced(self, being_id: str, ids: Sequence[str], emb_ids: Sequence[str] | None) -> bool:
        told: dict[tuple[str, str], str | None] = {}
        for _ in range(_ROUNDS):
            state, items = self.read(being_id, ids)
            if state is None:  # what an import brought is indexed here for the first time
                wanted = self.wanted
                state = self.states.begun(being_id, wanted) if items else IndexState(wanted)
            complete, changed = True, False
            for emb_id in state.emb_ids if emb_ids is None else emb_ids:
                items = self._completed(being_id, items, emb_id)
                complete &= not any(self._lacks(item, emb_id) for item in items.values())
                changed |= self._tell(being_id, ids, items, emb_id, told)
            if not changed:
                return complete
        raise UnavailableError("these memories change faster than they can be indexed")

    def _tell(
        self,
        being_id: str,
        ids: Sequence[str],
        items: Mapping[str, VectorItem],
        emb_id: str,
        told: dict[tuple[str, str], str | None],
    ) -> bool:
        """Bring one index up to date with what it was not told yet; False if there was nothing."""
        index = self.index(emb_id)
        if not index.is_derived:
            return False
        points = [item.point(emb_id) for item in items.values()]
        points = [point for point in points if told.get((emb_id, point.id)) != point.text_sha]
        gone = [id_ for id_ in ids if id_ not in items and told.get((emb_id, id_), "") is not None]
        if points:
            index.upsert(being_id, points)
        if gone:
            index.delete(being_id, gone)
        told.update({(emb_id, point.id): point.text_sha for point in points})
        told.update({(emb_id, id_): None for id_ in gone})
        return bool(points or gone)

    def _completed(
        self, being_id: str, items: Mapping[str, VectorItem], emb_id: str
    ) -> dict[str, VectorItem]:
        """Return the items with vectors of an embedding, made and stored where they lack."""
        lacking = [item for item in items.values() if self._lacks(item, emb_id)]
        made = self._embedded(lacking, emb_id) if lacking else {}
        writes = [
            Update(
                point_key(being_id, item.id),
                Change(set=_vectors_of(item, emb_id)),
                Compare("text_sha", "=", item.text_sha),
            )
            for item in made.values()
            if emb_id in item.vectors
        ]
        update_each(self.relaxed, writes)
        return {**items, **made}

    def _embedded(self, items: Sequence[VectorItem], emb_id: str) -> dict[str, VectorItem]:
        """Return the items by id, with vectors as far as the embedder answers."""
        result = {item.id: item for item in items}
        lacking = [item for item in items if self._lacks(item, emb_id)]
        embedder = self.embedder(emb_id)
        if embedder is None or not lacking or self._rests(emb_id):
            return result
        subjects = [item for item in lacking if item.subject is not None]
        texts = [item.text for item in lacking] + [item.subject or "" for item in subjects]
        try:
            made = embedder.documents(texts)
        except UnavailableError:
            with self._guard:
                self._resting[emb_id] = self._clock() + timedelta(seconds=INDEX_RETRY_SECONDS)
            return result
        for item, vector in zip(lacking, made[: len(lacking)], strict=True):
            result[item.id] = replace(item, vectors={**item.vectors, emb_id: vector})
        for item, vector in zip(subjects, made[len(lacking) :], strict=True):
            with_subject = {**item.subjects, emb_id: vector}
            result[item.id] = replace(result[item.id], subjects=with_subject)
        return result

    def _lacks(self, item: VectorItem, emb_id: str) -> bool:
        return item.lacks(emb_id) and self.embedder(emb_id) is not None

    def _rests(self, emb_id: str) -> bool:
        with self._guard:
            until = self._resting.get(emb_id)
            return until is not None and self._clock() < until


def _vectors_of(item: VectorItem, emb_id: str) -> dict[str, Value]:
    found: dict[str, Value] = {VECTOR_OF + emb_id: item.vectors[emb_id]}
    if emb_id in item.subjects:
        found[SUBJECT_OF + emb_id] = item.subjects[emb_id]
    return found


def marked(marks: Iterable[Mark]) -> list[str]:
    """Return the points that marks are about, each once."""
    return list(dict.fromkeys(id_ for mark in marks for id_ in mark.ids))
