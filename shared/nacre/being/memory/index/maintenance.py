"""Looking after the search index: repair, check, a new embedding, an end."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from nacre.being.memory.index.index_state import IndexState, state_key
from nacre.being.memory.index.marks import Mark, partition
from nacre.being.memory.index.sync import Indexing, marked
from nacre.being.memory.index.vector_items import (
    SUBJECT_OF,
    VECTOR_OF,
    VectorItem,
    cluster_ids,
    pages,
    point_key,
    update_each,
    vectors,
)
from nacre.core.errors import UnavailableError
from nacre.core.limits import INDEX_KEEP_SECONDS, MAX_TRANSACTION_WRITES
from nacre.ports.items.table import Change, Delete, Key, Present, Table, Update
from nacre.ports.vectors import VectorIndex

_AT_ONCE = 64  # points embedded, told to an index and remembered as done
_SCAN = 1000
_VERIFICATIONS = 3  # of a new index before it answers; more would mean that it loses points

Progress = Callable[[int, int], None]
"""Called between steps with how many points are done and how many there are."""


def _silently(_done: int, _total: int) -> None:
    return


@dataclass(frozen=True, slots=True)
class Repaired:
    """How many points were due, and how many could not be brought up to date now."""

    points: int
    left: int


@dataclass(frozen=True, slots=True)
class Differences:
    """Where an index does not hold what the items say."""

    emb_id: str
    points: int  # that it should hold
    missing: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    orphaned: tuple[str, ...] = ()
    without_vector: int = 0  # though there is a model that makes them

    @property
    def ids(self) -> tuple[str, ...]:
        """Return every point that has to be written or removed."""
        return (*self.missing, *self.stale, *self.orphaned)

    @property
    def is_sound(self) -> bool:
        """Whether the index holds what it should."""
        return not self.ids and not self.without_vector


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a change of the embedding did."""

    active: str
    before: str
    points: int


class Upkeep:
    """What is done for a whole Being; each step may be repeated.

    `renew` makes a cluster's vector anew from its members, in every embedding in use.
    """

    def __init__(
        self, indexing: Indexing, renew: Callable[[str, str], object] = lambda *_: None
    ) -> None:
        self._indexing = indexing
        self._renew = renew
        self._table = indexing.table
        self._states = indexing.states
        self._marks = indexing.marks

    def repair(self, being_id: str, progress: Progress = _silently) -> Repaired:
        """Bring up to date what is marked; marks of what cannot be done now stay."""
        done = left = 0
        for marks in self._marks.all(being_id):
            finished: list[Mark] = []
            for mark in marks:
                if mark.forget is not None:
                    self._forget(being_id, mark.forget)
                elif not self._indexing.sync(being_id, mark.ids):
                    left += len(mark.ids)
                    continue
                finished.append(mark)
            if finished:
                self._marks.clear(self._indexing.relaxed, finished)
            done += len(marked(marks))
            progress(done, done)
        return Repaired(done, left)

    def check(self, being_id: str, progress: Progress = _silently) -> Differences:
        """Compare the index that answers with the items; nothing is written.

        Somebody may write meanwhile, so only what differs twice counts.
        """
        active = self._active(being_id)
        first = self._differences(being_id, active, progress)
        if first.is_sound:
            return first
        again = self._differences(being_id, active, progress)
        return replace(
            again,
            missing=_in_both(first.missing, again.missing),
            stale=_in_both(first.stale, again.stale),
            orphaned=_in_both(first.orphaned, again.orphaned),
            without_vector=min(first.without_vector, again.without_vector),
        )

    def mend(self, being_id: str, progress: Progress = _silently) -> Differences:
        """Repair what is marked, then what differs; return what differed."""
        self.repair(being_id)
        active = self._active(being_id)
        found = self._differences(being_id, active, progress)
        self._indexing.sync(being_id, found.ids, [active])
        if found.without_vector:
            for items in pages(self._table, being_id, size=_AT_ONCE):
                lacking = self._lacking(items, active)
                self._indexing.sync(being_id, [item.id for item in lacking], [active])
        return found

    def reindex(self, being_id: str, progress: Progress = _silently) -> Rebuilt | None:
        """Make the index of the embedding that the settings ask for, then let it answer.

        Searches go on in the old one meanwhile and every write goes to both. What was done
        is remembered, so that another call goes on there. None when nothing is to be done.
        """
        wanted = self._indexing.wanted
        state = self._states.get(being_id)
        if state is None:
            return None
        if state.target not in (None, wanted):  # the settings have changed again meanwhile
            at_once = self._marks.to_forget(being_id, state.emb_ids[-1], seconds=0)
            self._states.give_up(being_id, state, at_once)
            state = IndexState(state.active)
        if state.active == wanted:
            return None
        if state.target is None:
            self._states.aim(being_id, state, wanted)
            state = IndexState(state.active, wanted)
        state = self._fill(being_id, state, progress)
        self._verify(being_id, wanted)
        self._renew_clusters(being_id)
        later = self._marks.to_forget(being_id, state.active, seconds=INDEX_KEEP_SECONDS)
        self._states.switch(being_id, state, later)
        return Rebuilt(wanted, state.active, state.done)

    def erase(self, being_id: str) -> None:
        """Remove everything that is searched of a Being, from the items and every index."""
        state = self._states.get(being_id)
        emb_ids = {self._indexing.wanted, *(state.emb_ids if state else ())}
        for items in pages(self._table, being_id):
            emb_ids.update(*(item.vectors for item in items))
        for mark in self._marks.all(being_id):
            emb_ids.update(each.forget for each in mark if each.forget is not None)
        _delete_all(self._table, vectors(being_id))
        for emb_id in sorted(emb_ids):
            self._indexing.index(emb_id).erase(being_id)
        _delete_all(self._table, partition(being_id))
        self._table.delete(state_key(being_id))

    def _active(self, being_id: str) -> str:
        """Return the embedding that answers, or will where nothing was indexed yet."""
        state = self._states.get(being_id)
        return self._indexing.wanted if state is None else state.active

    def _fill(self, being_id: str, state: IndexState, progress: Progress) -> IndexState:
        total = sum(1 for _ in self._indexed(being_id, self._indexing.index(state.active)))
        target = state.emb_ids[-1]
        for items in pages(self._table, being_id, after=state.cursor, size=_AT_ONCE):
            if not self._indexing.sync(being_id, [item.id for item in items], [target]):
                raise UnavailableError(
                    f"the embedding model {target} does not answer; run 'nacre reindex' again,"
                    f" it goes on after {state.done} memories"
                )
            state = replace(state, cursor=items[-1].id, done=state.done + len(items))
            self._states.checkpoint(self._indexing.relaxed, being_id, state)
            progress(state.done, max(total, state.done))
        return state

    def _verify(self, being_id: str, emb_id: str) -> None:
        for _ in range(_VERIFICATIONS):
            found = self._differences(being_id, emb_id, _silently)
            if found.is_sound:
                return
            self._indexing.sync(being_id, found.ids, [emb_id])
            for items in pages(self._table, being_id, size=_AT_ONCE):
                lacking = self._lacking(items, emb_id)
                self._indexing.sync(being_id, [item.id for item in lacking], [emb_id])
        raise UnavailableError(
            f"the index of {emb_id} does not keep what it is given ({len(found.ids)} points);"
            " the old one goes on answering"
        )

    def _differences(self, being_id: str, emb_id: str, progress: Progress) -> Differences:
        index = self._indexing.index(emb_id)
        indexed = dict(self._indexed(being_id, index))
        missing: list[str] = []
        stale: list[str] = []
        points = without_vector = 0
        for items in pages(self._table, being_id):
            for item in items:
                found = indexed.pop(item.id, None)
                if found is None:
                    missing.append(item.id)
                elif found != item.digest(emb_id):
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
        """Let go of an embedding, unless it is in use again."""
        state = self._states.get(being_id)
        if state is not None and emb_id in state.emb_ids:
            return
        self._indexing.index(emb_id).erase(being_id)
        change = Change(remove=frozenset({VECTOR_OF + emb_id, SUBJECT_OF + emb_id}))
        for items in pages(self._table, being_id):
            update_each(
                self._indexing.relaxed,
                [
                    Update(point_key(being_id, item.id), change, Present())
                    for item in items
                    if emb_id in item.vectors
                ],
            )
        self._renew_clusters(being_id)

    def _renew_clusters(self, being_id: str) -> None:
        for cluster_id in cluster_ids(self._table, being_id):
            self._renew(being_id, cluster_id)


def _in_both(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    known = set(first)
    return tuple(id_ for id_ in second if id_ in known)


def _delete_all(table: Table, partition: str) -> None:
    while items := table.query(partition, limit=MAX_TRANSACTION_WRITES).items:
        table.transact([Delete(Key(str(item["pk"]), str(item["sk"]))) for item in items])
