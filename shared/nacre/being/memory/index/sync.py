"""Keeping the search index in sync with the items, which are the source of truth.

The transaction that writes a memory also writes its text and vector as an item, and a mark.
Afterwards the index is updated and the mark deleted. If anything fails in between, the mark
stays, and a repair updates the index.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from random import Random

from nacre.being.memory.index.index_state import LEXICAL, IndexState, IndexStates, state_from_item
from nacre.being.memory.index.marks import Mark, Marks
from nacre.being.memory.index.vector_items import (
    SUBJECT_OF,
    VECTOR_OF,
    VectorItem,
    from_item,
    update_each,
    vector_item,
)
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import CLOCK, KEEPS_QUESTIONS, count_in
from nacre.being.memory.text.searchable_text import IndexChange, IndexEntry
from nacre.core.bounded_cache import BoundedCache
from nacre.core.clock import Clock
from nacre.core.errors import UnavailableError
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import INDEX_RETRY_SECONDS
from nacre.ports.items.table import Change, Compare, Delete, Put, Table, Update, Value, Write
from nacre.ports.vectors.embedder import Embedder
from nacre.ports.vectors.packed_vectors import packed
from nacre.ports.vectors.vector_index import VectorIndex

_AT_ONCE = 100  # points in one transaction and in one request to an index
_REMEMBERED = 1000  # Beings whose embedding a process has seen to be that of its settings
_ROUNDS = 5  # of reading points again because somebody changes them meanwhile

_StateAndItems = tuple[IndexState | None, Mapping[str, VectorItem]]


@dataclass(frozen=True, slots=True)
class ActiveIndex:
    """The index that answers the searches of a Being, and the embedder of its vectors.

    Without an embedder it is searched by words. `remark` says why, or what the owner can do.
    `clock` is the Being's, in active days. `keeps_questions` says whether its owner wants the
    questions of searches to be kept.
    """

    index: VectorIndex
    embedder: Embedder | None
    remark: str | None = None
    clock: int = 0
    keeps_questions: bool = False


class AlwaysChangingError(UnavailableError):
    """Other writers changed the memories after each attempt to index them."""

    def __init__(self) -> None:
        super().__init__("these memories change faster than they can be indexed")


class IndexSync:
    """Chooses, updates and repairs the search indexes of Beings.

    `embedder` is the one in the settings, None for a search by words only. `load_embedder` loads
    the one of an earlier setting, if possible. `non_durable_table` is the same table with writes
    that do not wait for the disk. `failed` is called with a Being whose index could not be updated,
    so that it is repaired soon. `gives_way` says whether the embedding in the settings replaces an
    active one automatically. If it does, `outdated` is called with the Being and the new embedding,
    so that the index is rebuilt. If another process then changes the embedding of the Being again,
    this one does not change it back: two processes with different settings would do so forever.
    """

    def __init__(
        self,
        table: Table,
        indexes: Callable[[str], VectorIndex],
        embedder: Embedder | None,
        *,
        clock: Clock,
        rng: Random,
        load_embedder: Callable[[str], Embedder | None] = lambda _: None,
        non_durable_table: Table | None = None,
        failed: Callable[[str], object] = lambda _: None,
        gives_way: Callable[[str, str], bool] = lambda _active, _configured: False,
        outdated: Callable[[str, str], object] = lambda _being_id, _configured: None,
    ) -> None:
        self.table = table
        self.non_durable_table = non_durable_table or table
        self.states = IndexStates(table)
        self.marks = Marks(table, clock=clock, rng=rng)
        self._open = indexes
        self._embedder = embedder
        self._load_embedder = load_embedder
        self._failed = failed
        self._gives_way = gives_way
        self._outdated = outdated
        self._clock = clock
        self._guard = threading.Lock()
        self._indexes: dict[str, VectorIndex] = {}
        self._embedders: dict[str, Embedder | None] = {}
        self._paused_until: dict[str, datetime] = {}  # of embedders that failed
        self._arrived: BoundedCache[str, bool] = BoundedCache(_REMEMBERED)

    @property
    def configured(self) -> str:
        """Return the embedding in the settings."""
        return LEXICAL if self._embedder is None else self._embedder.emb_id

    def searched_index(self, being_id: str) -> ActiveIndex:
        """Return the index that answers a search of this Being, read at half the price.

        Its state may be that of a moment ago. An index that was just replaced is kept for a day,
        and a question is kept only if its owner wishes so when it is written.
        """
        return self.active_index(being_id, may_lag=True)

    def active_index(self, being_id: str, *, may_lag: bool = False) -> ActiveIndex:
        """Return the index that answers the searches of this Being now. Changes no memory."""
        place, meta = keys.index_state(being_id), keys.meta(being_id)
        items = self.table.get_many([place, meta], may_lag=may_lag)
        active = state_from_item(items[place]).active if place in items else self.configured
        being = items.get(meta, {})
        clock, keeps_questions = count_in(being, CLOCK), being.get(KEEPS_QUESTIONS) is True
        index, embedder = self.index(active), self.embedder(active)
        if self._gives_way_now(being_id, active) or active == self.configured:
            return ActiveIndex(index, embedder, clock=clock, keeps_questions=keeps_questions)
        how = "by words only" if embedder is None else f"with the embedding {active}"
        return ActiveIndex(
            index,
            embedder,
            f"the search still works {how}, because the setting has changed since;"
            " run 'nacre reindex'",
            clock=clock,
            keeps_questions=keeps_questions,
        )

    # Called by writers of memories

    def prepare(
        self,
        being_id: str,
        entries: Sequence[IndexEntry],
        removed: Sequence[str] = (),
        *,
        like: Mapping[str, str] | None = None,
        complete: bool = False,
        with_work: bool = False,
    ) -> IndexChange:
        """Return the change that adds or replaces these entries and removes these ids.

        It has at most one write more than there are entries and ids; entries that hardly differ
        from what is stored need none. If the embedder does not
        answer, the memory is found by its words until a repair; with `complete` this raises
        UnavailableError instead. `like` maps an entry to the point that it is made from, whose
        vectors are reused where the texts are the same. With `with_work` the same transaction lists
        the Being for a patrol.
        """
        if not entries and not removed:
            return IndexChange((), lambda: None)
        like = like or {}
        state, stored = self.read(being_id, [*(entry.id for entry in entries), *like.values()])
        if state is None:
            emb_id = self.configured
            state = self.states.create(being_id, emb_id) if entries else IndexState(emb_id)
        self._gives_way_now(being_id, state.active)
        state = self._told(being_id, state)
        items = {
            entry.id: vector_item(entry, stored.get(entry.id) or stored.get(like.get(entry.id, "")))
            for entry in entries
        }
        for emb_id in state.emb_ids:
            items = self._embedded(items.values(), emb_id)
        items = {
            id_: item
            for id_, item in items.items()
            if id_ not in stored or not stored[id_].is_near(item)
        }
        if complete and any(
            state.active not in item.vectors for item in self._lacking(items.values(), state.active)
        ):
            raise UnavailableError("the embedding model does not answer")
        ids = [*items, *removed]
        if not ids:
            return IndexChange((), lambda: None)
        writes: list[Write] = [Put(item.to_item(being_id)) for item in items.values()]
        writes += [Delete(keys.point(being_id, id_)) for id_ in removed]
        writes += self.index(state.active).changes(being_id, ids)
        if self._needs_mark(state, items, removed):
            writes.append(self.marks.points_mark(being_id, ids, with_work=with_work))
        return IndexChange(writes, partial(self._apply, being_id, ids, (state, items)))

    def _needs_mark(
        self, state: IndexState, items: Mapping[str, VectorItem], removed: Sequence[str]
    ) -> bool:
        """Return whether an index may miss a change if nothing follows the transaction."""
        followed = [*state.emb_ids, *(state.former if removed else ())]
        indexes = map(self.index, followed)
        return any(
            index.is_derived and not index.is_told_in_transaction for index in indexes
        ) or any(self._lacking(items.values(), emb_id) for emb_id in state.emb_ids)

    def _told(self, being_id: str, state: IndexState) -> IndexState:
        """Give up a file of points that this process's index does not tell of changes."""
        if not state.filed or self.index(state.active).is_told_in_transaction:
            return state
        self.states.unfile(being_id)
        return replace(state, filed=False)

    def _gives_way_now(self, being_id: str, active: str) -> bool:
        """Return whether the embedding in the settings takes over now; if so, start the change."""
        if active == self.configured:
            if not self._arrived.get(being_id):
                self._arrived[being_id] = True
            return False
        if self._arrived.get(being_id) or not self._gives_way(active, self.configured):
            return False
        self._outdated(being_id, self.configured)
        return True

    # Called by repairs and rebuilds

    def sync(self, being_id: str, ids: Iterable[str], emb_ids: Sequence[str] | None = None) -> bool:
        """Update the indexes from the items of these points; return False if vectors are missing.

        After each update of an index the items are read again, so that two writers at once never
        leave an older state behind.
        """
        distinct = list(dict.fromkeys(ids))
        complete = True
        for start in range(0, len(distinct), _AT_ONCE):
            complete &= self._sync(being_id, distinct[start : start + _AT_ONCE], emb_ids)
        return complete

    def read(self, being_id: str, ids: Sequence[str]) -> _StateAndItems:
        """Return the state of the index and the items of these points, from one read."""
        places = {keys.point(being_id, id_): id_ for id_ in ids}
        key = keys.index_state(being_id)
        items = self.table.get_many([key, *places])
        state = items.pop(key, None)
        points = {places[place]: from_item(item) for place, item in items.items()}
        return None if state is None else state_from_item(state), points

    def index(self, emb_id: str) -> VectorIndex:
        """Return the index of an embedding."""
        with self._guard:
            if emb_id not in self._indexes:
                self._indexes[emb_id] = self._open(emb_id)
            return self._indexes[emb_id]

    def embedder(self, emb_id: str) -> Embedder | None:
        """Return the embedder of an embedding, or None if it is not available here."""
        if emb_id == LEXICAL:
            return None
        if self._embedder is not None and self._embedder.emb_id == emb_id:
            return self._embedder
        with self._guard:
            if emb_id not in self._embedders:
                self._embedders[emb_id] = self._load_embedder(emb_id)
            return self._embedders[emb_id]

    def _apply(self, being_id: str, ids: Sequence[str], prepared: _StateAndItems) -> None:
        """Update the index after the transaction, beginning with the prepared items."""
        with suppress(UnavailableError):  # the memory is stored, and a repair finds its mark
            # The marks are read first, so the items read later include their changes.
            marks = self.marks.newest(being_id)
            own_marks = [mark for mark in marks if not frozenset(ids).isdisjoint(mark.ids)]
            others = frozenset(marked(own_marks)).difference(ids)
            if self._sync(being_id, ids, None, prepared) and self.sync(being_id, others):
                self.marks.clear(self.non_durable_table, own_marks)
                self._catch_up(being_id, [mark for mark in marks if mark not in own_marks])
                return
        self._failed(being_id)

    def _catch_up(self, being_id: str, marks: Sequence[Mark]) -> None:
        """Finish one update that an earlier write left, for a process that has no worker."""
        abandoned = [mark for mark in marks if self.marks.is_abandoned(mark)]
        if abandoned and self.sync(being_id, abandoned[-1].ids):
            self.marks.clear(self.non_durable_table, abandoned[-1:])

    def _sync(
        self,
        being_id: str,
        ids: Sequence[str],
        emb_ids: Sequence[str] | None,
        prepared: _StateAndItems | None = None,
    ) -> bool:
        """Update the indexes until a later read of the items shows no further change.

        `prepared` are the items as their writer knows them, used in place of the first read.
        """
        indexed: dict[tuple[str, str], str | None] = {}
        for _ in range(_ROUNDS):
            state, items = prepared or self.read(being_id, ids)
            if state is None:  # the items were imported, and nothing has been indexed yet
                emb_id = self.configured
                state = self.states.create(being_id, emb_id) if items else IndexState(emb_id)
            state = self._told(being_id, state)
            complete, changed = True, prepared is not None
            if prepared is not None:
                indexed |= self._already_told(state, ids, items)
            prepared = None
            for emb_id in state.emb_ids if emb_ids is None else emb_ids:
                items = self._completed(being_id, items, emb_id)
                complete &= not self._lacking(items.values(), emb_id)
                changed |= self._update(being_id, ids, items, emb_id, indexed)
            self._remove_from(state.former, being_id, [id_ for id_ in ids if id_ not in items])
            if not changed:
                self.index(state.active).settle(being_id)
                return complete
        raise AlwaysChangingError

    def _remove_from(self, former: Sequence[str], being_id: str, gone: Sequence[str]) -> None:
        """Remove points from the indexes of earlier embeddings, which no writer updates."""
        for emb_id in former if gone else ():
            index = self.index(emb_id)
            if index.is_derived:
                index.delete(being_id, gone)

    def _already_told(
        self, state: IndexState, ids: Sequence[str], items: Mapping[str, VectorItem]
    ) -> dict[tuple[str, str], str | None]:
        """Return the points that a transaction has told the indexes of, as `_update` expects."""
        return {
            (emb_id, id_): items[id_].digest(emb_id) if id_ in items else None
            for emb_id in state.emb_ids
            if self.index(emb_id).is_told_in_transaction
            for id_ in ids
        }

    def _update(
        self,
        being_id: str,
        ids: Sequence[str],
        items: Mapping[str, VectorItem],
        emb_id: str,
        indexed: dict[tuple[str, str], str | None],
    ) -> bool:
        """Update one index with points that are not in `indexed`; return False without any."""
        index = self.index(emb_id)
        if not index.is_derived:
            return False
        points = [
            item.point(emb_id)
            for item in items.values()
            if indexed.get((emb_id, item.id)) != item.digest(emb_id)
        ]
        gone = [
            id_ for id_ in ids if id_ not in items and indexed.get((emb_id, id_), "") is not None
        ]
        if points:
            index.upsert(being_id, points)
        if gone:
            index.delete(being_id, gone)
        indexed.update({(emb_id, point.id): point.text_sha for point in points})
        indexed.update({(emb_id, id_): None for id_ in gone})
        return bool(points or gone)

    def _completed(
        self, being_id: str, items: Mapping[str, VectorItem], emb_id: str
    ) -> dict[str, VectorItem]:
        """Return the items with vectors of an embedding; missing ones are made and stored."""
        lacking = self._lacking(items.values(), emb_id)
        embedded = self._embedded(lacking, emb_id) if lacking else {}
        writes = [
            Update(
                keys.point(being_id, item.id),
                Change(set=_vectors_of(item, emb_id)),
                Compare("text_sha", "=", item.text_sha),
            )
            for item in embedded.values()
            if emb_id in item.vectors
        ]
        update_each(self.non_durable_table, writes)
        return {**items, **embedded}

    def _embedded(self, items: Collection[VectorItem], emb_id: str) -> dict[str, VectorItem]:
        """Return the items by id, with vectors if the embedder answers."""
        result = {item.id: item for item in items}
        lacking = self._lacking(items, emb_id)
        embedder = self.embedder(emb_id)
        if embedder is None or not lacking or self._is_paused(emb_id):
            return result
        subjects = [item for item in lacking if item.subject is not None]
        texts = [item.embedded for item in lacking] + [item.subject or "" for item in subjects]
        try:
            vectors = [packed(vector) for vector in embedder.documents(texts)]
        except UnavailableError:
            with self._guard:
                self._paused_until[emb_id] = self._clock() + timedelta(seconds=INDEX_RETRY_SECONDS)
            return result
        for item, vector in zip(lacking, vectors[: len(lacking)], strict=True):
            result[item.id] = replace(item, vectors={**item.vectors, emb_id: vector})
        for item, vector in zip(subjects, vectors[len(lacking) :], strict=True):
            with_subject = {**item.subjects, emb_id: vector}
            result[item.id] = replace(result[item.id], subjects=with_subject)
        return result

    def _lacking(self, items: Iterable[VectorItem], emb_id: str) -> list[VectorItem]:
        """Return the items without a vector that an embedder here could make."""
        lacking = [item for item in items if item.lacks(emb_id)]
        return lacking if lacking and self.embedder(emb_id) is not None else []

    def _is_paused(self, emb_id: str) -> bool:
        with self._guard:
            until = self._paused_until.get(emb_id)
            return until is not None and self._clock() < until


def _vectors_of(item: VectorItem, emb_id: str) -> dict[str, Value]:
    vectors: dict[str, Value] = {VECTOR_OF + emb_id: item.vectors[emb_id]}
    if emb_id in item.subjects:
        vectors[SUBJECT_OF + emb_id] = item.subjects[emb_id]
    return vectors


def marked(marks: Iterable[Mark]) -> list[str]:
    """Return the ids of the points in these marks, without repetitions."""
    return list(dict.fromkeys(id_ for mark in marks for id_ in mark.ids))
