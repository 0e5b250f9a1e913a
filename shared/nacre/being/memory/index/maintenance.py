"""Maintenance of the search index: repair, check, change of the embedding, erasing."""

from collections.abc import Callable, Iterator, Sequence

from nacre.being.memory.index.index_state import IndexState
from nacre.being.memory.index.marks import Mark
from nacre.being.memory.index.summaries import renew_summaries
from nacre.being.memory.index.sync import AlwaysChangingError, IndexSync, marked
from nacre.being.memory.index.vector_items import (
    SUBJECT_OF,
    VECTOR_OF,
    VectorItem,
    cluster_ids,
    pages,
    update_each,
)
from nacre.being.memory.model import keys
from nacre.being.memory.store.partitions import delete_all
from nacre.core.errors import UnavailableError
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import INDEX_KEEP_SECONDS
from nacre.ports.items.table import Change, Present, Update
from nacre.ports.vectors.vector_index import VectorIndex

_AT_ONCE = 64  # points that are embedded, indexed and checkpointed together
_SCAN = 1000
_VERIFICATIONS = 3  # of a new index; if more are needed, it loses points

Progress = Callable[[int, int], None]
"""Called between steps with the numbers of points done and in all."""


def _no_progress(_done: int, _total: int) -> None:
    return


@dataclass(frozen=True, slots=True)
class RepairResult:
    """The numbers of points that were marked, and of those that could not be updated now."""

    points: int
    remaining: int


@dataclass(frozen=True, slots=True)
class Differences:
    """The differences between an index and the items."""

    emb_id: str
    points: int  # in the items
    missing: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    orphaned: tuple[str, ...] = ()
    without_vector: int = 0  # though their model is available

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids of all points that have to be written or removed."""
        return (*self.missing, *self.stale, *self.orphaned)

    @property
    def is_in_sync(self) -> bool:
        """Return whether the index agrees with the items."""
        return not self.ids and not self.without_vector


@dataclass(frozen=True, slots=True)
class ReindexResult:
    """The result of a change of the embedding."""

    active: str
    before: str
    points: int


class IndexMaintenance:
    """Work on the index of a whole Being; each step may be repeated.

    `renew` computes the vectors of a cluster again from its members.
    """

    def __init__(
        self, indexing: IndexSync, renew: Callable[[str, str], object] = lambda *_: None
    ) -> None:
        self._indexing = indexing
        self._renew = renew
        self._table = indexing.table
        self._states = indexing.states
        self._marks = indexing.marks

    def repair(self, being_id: str, progress: Progress = _no_progress) -> RepairResult:
        """Update the marked points; marks of points that cannot be updated now stay."""
        done = remaining = 0
        for marks in self._marks.all(being_id):
            finished: list[Mark] = []
            for mark in marks:
                if mark.forget is not None:
                    self._forget(being_id, mark.forget)
                elif not self._indexing.sync(being_id, mark.ids):
                    remaining += len(mark.ids)
                    continue
                finished.append(mark)
            if finished:
                self._marks.clear(self._indexing.non_durable_table, finished)
            done += len(marked(marks))
            progress(done, done)
        return RepairResult(done, remaining)

    def check(self, being_id: str, progress: Progress = _no_progress) -> Differences:
        """Compare the active index with the items, without writing anything.

        Somebody may write meanwhile, so only differences that are found twice count.
        """
        active = self._active(being_id)
        first = self._differences(being_id, active, progress)
        if first.is_in_sync:
            return first
        again = self._differences(being_id, active, progress)
        return replace(
            again,
            missing=_in_both(first.missing, again.missing),
            stale=_in_both(first.stale, again.stale),
            orphaned=_in_both(first.orphaned, again.orphaned),
            without_vector=min(first.without_vector, again.without_vector),
        )

    def check_and_repair(self, being_id: str, progress: Progress = _no_progress) -> Differences:
        """Repair the marked points, then summaries, then the differences, and return these."""
        self.repair(being_id)
        for items in pages(self._table, being_id, size=_AT_ONCE):
            self._indexing.sync(being_id, renew_summaries(self._indexing, being_id, items))
        active = self._active(being_id)
        differences = self._differences(being_id, active, progress)
        self._indexing.sync(being_id, differences.ids, [active])
        if differences.without_vector:
            self._embed_lacking(being_id, active)
        return differences

    def reindex(self, being_id: str, progress: Progress = _no_progress) -> ReindexResult | None:
        """Build the index of the embedding in the settings, then make it the active one.

        Meanwhile searches use the old index, and every write updates both. The progress is
        stored, so that another call continues there. Returns None if there is nothing to do.
        """
        target = self._indexing.configured
        state = self._states.get(being_id)
        if state is None:
            return None
        if state.target not in (None, target):  # the settings have changed again
            at_once = self._marks.forget_mark(being_id, state.emb_ids[-1], seconds=0)
            self._states.give_up(being_id, state, at_once)
            former = (*state.former, *state.emb_ids[1:])
            state = IndexState(state.active, former=former)
        if state.active == target:
            return None
        if state.target is None:
            self._states.aim(being_id, state, target)
            state = IndexState(state.active, target, former=state.former)
        state = self._fill(being_id, state, progress)
        self._verify(being_id, target)
        self._renew_clusters(being_id)
        later = self._marks.forget_mark(being_id, state.active, seconds=INDEX_KEEP_SECONDS)
        self._states.switch(being_id, state, later)
        return ReindexResult(target, state.active, state.done)

    def erase(self, being_id: str) -> None:
        """Delete the points of a Being from the items and from every index."""
        state = self._states.get(being_id)
        emb_ids = {self._indexing.configured}
        if state is not None:
            emb_ids.update(state.emb_ids, state.former)
        for items in pages(self._table, being_id):
            emb_ids.update(*(item.vectors for item in items))
        for marks in self._marks.all(being_id):
            emb_ids.update(mark.forget for mark in marks if mark.forget is not None)
        delete_all(self._table, keys.vectors(being_id))
        for emb_id in sorted(emb_ids):
            self._indexing.index(emb_id).erase(being_id)
        delete_all(self._table, keys.marks(being_id))
        self._table.delete(keys.index_state(being_id))

    def _active(self, being_id: str) -> str:
        """Return the active embedding, or the configured one if nothing is indexed yet."""
        state = self._states.get(being_id)
        return self._indexing.configured if state is None else state.active

    def _fill(self, being_id: str, state: IndexState, progress: Progress) -> IndexState:
        total = sum(1 for _ in self._indexed(being_id, self._indexing.index(state.active)))
        target = state.emb_ids[-1]
        for items in pages(self._table, being_id, after=state.cursor, size=_AT_ONCE):
            if not self._synced(being_id, [item.id for item in items], target):
                raise UnavailableError(
                    f"the embedding model {target} does not answer; run 'nacre reindex' again,"
                    f" it goes on after {state.done} memories"
                )
            state = replace(state, cursor=items[-1].id, done=state.done + len(items))
            self._states.checkpoint(self._indexing.non_durable_table, being_id, state)
            progress(state.done, max(total, state.done))
        return state

    def _verify(self, being_id: str, emb_id: str) -> None:
        lost: set[str] = set()
        for turn in range(_VERIFICATIONS):
            differences = self._differences(being_id, emb_id, _no_progress)
            if differences.is_in_sync:
                return
            # Somebody may write meanwhile, so only what differs each time is lost.
            lost = lost.intersection(differences.ids) if turn else set(differences.ids)
            self._synced(being_id, differences.ids, emb_id)
            self._embed_lacking(being_id, emb_id)
        if lost or differences.without_vector:
            raise UnavailableError(
                f"the index of {emb_id} loses points ({len(lost)} after"
                f" {_VERIFICATIONS} repairs); searches still use the old index"
            )

    def _synced(self, being_id: str, ids: Sequence[str], emb_id: str) -> bool:
        """Update an index that is not in use yet; return False if vectors are missing.

        Points that a patrol changes at the same time are left to it, because every writer
        updates this index too.
        """
        try:
            return self._indexing.sync(being_id, ids, [emb_id])
        except AlwaysChangingError:
            return True

    def _embed_lacking(self, being_id: str, emb_id: str) -> None:
        for items in pages(self._table, being_id, size=_AT_ONCE):
            lacking = self._lacking(items, emb_id)
            self._synced(being_id, [item.id for item in lacking], emb_id)

    def _differences(self, being_id: str, emb_id: str, progress: Progress) -> Differences:
        index = self._indexing.index(emb_id)
        indexed = dict(self._indexed(being_id, index))
        missing: list[str] = []
        stale: list[str] = []
        points = without_vector = 0
        for items in pages(self._table, being_id):
            for item in items:
                digest = indexed.pop(item.id, None)
                if digest is None:
                    missing.append(item.id)
                elif digest != item.digest(emb_id):
                    stale.append(item.id)
            points += len(items)
            without_vector += len(self._lacking(items, emb_id))
            progress(points, points + len(indexed))
        return Differences(
            emb_id, points, tuple(missing), tuple(stale), tuple(sorted(indexed)), without_vector
        )

    def _lacking(self, items: Sequence[VectorItem], emb_id: str) -> list[VectorItem]:
        if self._indexing.embedder(emb_id) is None:
            return []
        return [item for item in items if item.lacks(emb_id)]

    def _indexed(self, being_id: str, index: VectorIndex) -> Iterator[tuple[str, str]]:
        after = None
        while page := index.scan(being_id, after=after, limit=_SCAN):
            yield from page
            after = page[-1][0]

    def _forget(self, being_id: str, emb_id: str) -> None:
        """Delete the vectors of an embedding, unless it is in use again."""
        state = self._states.get(being_id)
        if state is not None and emb_id in state.emb_ids:
            return
        self._indexing.index(emb_id).erase(being_id)
        change = Change(remove=frozenset({VECTOR_OF + emb_id, SUBJECT_OF + emb_id}))
        for items in pages(self._table, being_id):
            update_each(
                self._indexing.non_durable_table,
                [
                    Update(keys.point(being_id, item.id), change, Present())
                    for item in items
                    if emb_id in item.vectors
                ],
            )
        self._renew_clusters(being_id)
        if state is not None and emb_id in state.former:
            self._states.forget(being_id, state, emb_id)

    def _renew_clusters(self, being_id: str) -> None:
        for cluster_id in cluster_ids(self._table, being_id):
            self._renew(being_id, cluster_id)


def _in_both(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    ids = set(first)
    return tuple(id_ for id_ in second if id_ in ids)
