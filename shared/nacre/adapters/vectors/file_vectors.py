"""A vector index in one file for each Being, for stores that are asked over a network.

The file is a blob that is derived from the vector items. An item says which file it is and which
points have changed since; a search reads that item, the changed points, and the file if this
process has not read it before. So each search finds every acknowledged write, and costs the same
for any number of memories. Writers renew the file after some changes.

Without a file, as before the first one or when blobs cannot be read, searches read the items.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from random import Random

from nacre.adapters.vectors.file_copies import FileCopies
from nacre.adapters.vectors.index_files import IndexFile, IndexFiles
from nacre.adapters.vectors.item_vectors import ItemVectors, row_of_item
from nacre.adapters.vectors.point_file import DamagedFileError, StoredPoint, decoded, encoded
from nacre.adapters.vectors.point_matrix import PointMatrix
from nacre.adapters.vectors.point_rules import check_names, check_points, check_question
from nacre.being.memory.index.vector_items import VectorItem, from_item, pages
from nacre.being.memory.model import keys
from nacre.core.clock import Clock
from nacre.core.errors import UnavailableError
from nacre.core.ids import short_id
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import (
    INDEX_COPY_SECONDS,
    INDEX_FILE_BUSY_CHANGES,
    INDEX_FILE_CHANGES,
    INDEX_FILE_CLAIM_SECONDS,
    INDEX_FILE_DAYS,
    INDEX_FILE_GRACE_SECONDS,
    INDEX_FILE_LOST_CHANGES,
    INDEX_FILE_QUIET_SECONDS,
    INDEX_FILE_RETRY_SECONDS,
    INDEX_POINTS_IN_MEMORY,
)
from nacre.ports.blobs import Blobs
from nacre.ports.items.table import Table, Write
from nacre.ports.vectors.vector_index import (
    Candidates,
    Filter,
    Listing,
    Point,
    Question,
    dimension_of,
)

_PAGE = 500
_ATTEMPTS = 3  # at reading a file that others are renewing
_DAY = 86_400
_EXPIRY_SECONDS = 60  # between two looks for copies that are too old

_Points = dict[str, StoredPoint]


class FileVectors:
    """A VectorIndex in files that `blobs` keeps; `grace_seconds` is how long older calls may run.

    Only the active embedding of a Being has a file. Another one, which is being built, is read
    from the items.
    """

    is_derived = True
    is_told_in_transaction = True

    def __init__(
        self,
        table: Table,
        blobs: Callable[[], Blobs],
        emb_id: str,
        *,
        copies: FileCopies,
        clock: Clock,
        rng: Random,
        grace_seconds: float = INDEX_FILE_GRACE_SECONDS,
    ) -> None:
        self.emb_id = emb_id
        self._table = table
        self._blobs = blobs
        self._dimension = dimension_of(emb_id)
        self.copies = copies
        self._clock = clock
        self._rng = rng
        self._grace_seconds = grace_seconds
        self._files = IndexFiles(table, clock=clock, rng=rng)
        self._items = ItemVectors(table, emb_id)
        self._guard = threading.Lock()
        self._beings: OrderedDict[str, _InMemory] = OrderedDict()
        self._paused_until = self._expired = 0.0

    @property
    def beings_in_memory(self) -> tuple[str, ...]:
        """The Beings whose points are in memory, the last one used at the end."""
        return tuple(self._beings)

    # Writing

    def changes(self, being_id: str, ids: Sequence[str]) -> list[Write]:
        """Return the write that notes changed points, for the transaction of the change."""
        return [self._files.note(being_id, ids)]

    def upsert(self, being_id: str, points: Sequence[Point]) -> None:
        """Note points whose items are written already, outside of the transaction."""
        check_points(being_id, points, self._dimension)
        self._note(being_id, [point.id for point in points])

    def delete(self, being_id: str, ids: Sequence[str]) -> None:
        """Remove points from the file at once: they may have been erased."""
        check_names(being_id, *ids)
        if not self._note(being_id, ids):
            return
        for _ in range(_ATTEMPTS):
            state = self._files.read(being_id)
            if state is None or (state.name is None and not state.left and state.claim is None):
                return
            if self._fold(being_id, state):
                return
        raise UnavailableError("the file of the search index is being renewed all the time")

    def settle(self, being_id: str, *, more_follow: bool = False) -> None:
        """Renew the file if enough points have changed; a failure leaves them in the tail.

        If more changes follow, it does not wait for a quiet moment: each of them writes the tail.
        """
        state = self._files.read(being_id)
        if state is not None:
            self._settle(being_id, state, in_quiet=not more_follow)

    def renew(self, being_id: str) -> bool:
        """Write the file now; return False if it cannot be, or need not be."""
        state = self._files.read(being_id)
        if state is None or (state.name is not None and not state.tail):
            return False
        if state.since is None:
            self._files.begin(being_id)
            state = self._files.read(being_id)
        return state is not None and self._try_fold(being_id, state)

    def erase(self, being_id: str) -> None:
        """Remove the files of a Being; a file that is being written is given up by its writer."""
        check_names(being_id)
        with self._guard:
            self._beings.pop(being_id, None)
        state = self._files.read(being_id)
        if state is None or state.emb_id not in (None, self.emb_id):
            return
        self._remove(*state.left, *_names(state))
        self._table.delete(keys.index_file(being_id))

    # Reading

    def search(self, being_id: str, question: Question) -> Candidates:
        """Return up to `limit` hits for a vector and as many for terms."""
        check_question(being_id, question, self._dimension)
        points = self._in_memory(being_id)
        with points.lock:
            if self._catch_up(being_id, points):
                return points.search(question)
        return self._items.search(being_id, question)

    def list_days(self, being_id: str, where: Filter, *, limit: int) -> Listing:
        """Return the first points that pass the filter, in order of time."""
        check_names(being_id)
        points = self._in_memory(being_id)
        with points.lock:
            if self._catch_up(being_id, points):
                return points.matrix.list_days(where, limit)
        return self._items.list_days(being_id, where, limit=limit)

    def scan(self, being_id: str, *, after: str | None, limit: int) -> list[tuple[str, str]]:
        """Return the next points as (id, text_sha), in the order of their ids."""
        check_names(being_id)
        points = self._in_memory(being_id)
        with points.lock:
            if self._catch_up(being_id, points):
                ids = sorted(id_ for id_ in points.digests if after is None or id_ > after)
                return [(id_, points.digests[id_]) for id_ in ids[:limit]]
        return self._items.scan(being_id, after=after, limit=limit)

    def _catch_up(self, being_id: str, points: "_InMemory") -> bool:
        """Bring the points in memory up to date; return False if the Being has no file."""
        for _ in range(_ATTEMPTS):
            state = self._files.read(being_id)
            if state is None or state.name is None or state.emb_id != self.emb_id:
                state = self._first_file(being_id, state)
            elif int(self._clock().timestamp()) - state.written > INDEX_FILE_DAYS * _DAY:
                self._settle(being_id, state)
            if state is None or state.name is None:
                points.clear()
                return False
            if not points.has(state):
                stored = self._stored(state.name)
                if stored is None:  # it has just been renewed, or has expired
                    self._replaced(being_id, state)
                    continue
                points.load(state, stored)
            self._keep_copy(points, state.name)
            changed = [id_ for id_, at in state.tail.items() if points.tail.get(id_) != at]
            points.apply(state, changed, self._read(being_id, changed))
            return True
        points.clear()
        return False

    def _keep_copy(self, points: "_InMemory", name: str) -> None:
        """Keep the copy of this file only: an older one may have what was erased since."""
        if points.name not in (None, name):
            self.copies.remove(str(points.name))
        points.name = name

    def _first_file(self, being_id: str, state: IndexFile | None) -> IndexFile | None:
        """Write the first file if it is time for it, and return the new state."""
        if state is None or state.since is None:
            self._files.begin(being_id)
            state = self._files.read(being_id) if self._grace_seconds == 0 else None
        if state is None or not self._try_fold(being_id, state):
            return None
        state = self._files.read(being_id)
        return None if state is None or state.emb_id != self.emb_id else state

    def _replaced(self, being_id: str, state: IndexFile) -> None:
        """Write a file anew that is gone, unless another one has taken its place."""
        now = self._files.read(being_id)
        if now is not None and now.name == state.name:
            self._try_fold(being_id, now)

    def _in_memory(self, being_id: str) -> "_InMemory":
        """Return the points of a Being, and drop those that were not used for a while."""
        with self._guard:
            now = time.monotonic()
            if now - self._expired > _EXPIRY_SECONDS:
                self._expired = now
                self.copies.expire()
            points = self._beings.pop(being_id, None) or _InMemory(self._dimension)
            points.used = now
            self._beings[being_id] = points
            room = INDEX_POINTS_IN_MEMORY
            for other, theirs in reversed(list(self._beings.items())):
                room -= len(theirs.digests)
                is_old = now - theirs.used > INDEX_COPY_SECONDS
                if other != being_id and (room < 0 or is_old):
                    del self._beings[other]
            return points

    # Files

    def _settle(self, being_id: str, state: IndexFile, *, in_quiet: bool = True) -> None:
        age = self._clock().timestamp() - state.written
        waiting = len(state.tail)
        if waiting > INDEX_FILE_LOST_CHANGES:
            self._files.drop(being_id, state)
        elif (
            (waiting >= INDEX_FILE_CHANGES and (age > INDEX_FILE_QUIET_SECONDS or not in_quiet))
            or waiting >= INDEX_FILE_BUSY_CHANGES
            or (state.name is not None and age > INDEX_FILE_DAYS * _DAY)
        ):
            if state.since is None:
                self._files.begin(being_id)
            else:
                self._try_fold(being_id, state)

    def _try_fold(self, being_id: str, state: IndexFile) -> bool:
        """Write a new file, unless another process does, or blobs could not be written lately."""
        now = self._clock().timestamp()
        if state.claim is not None and now - state.claimed < INDEX_FILE_CLAIM_SECONDS:
            return False
        if state.since is None or now - state.since < self._grace_seconds:
            return False
        if self._is_paused():
            return False
        try:
            return self._fold(being_id, state)
        except UnavailableError:
            self._pause()
            return False

    def _fold(self, being_id: str, state: IndexFile) -> bool:
        """Write the points of the file and of the tail as a new file, and remove the old one."""
        name = f"{being_id}/search/{short_id(self._rng)}"
        self._remove(*state.left)
        if not self._files.claim(being_id, state, name):
            return False
        stored = self._stored(state.name) if state.emb_id == self.emb_id and state.name else None
        if stored is None:
            points = self._all(being_id)
        else:
            points = {point.row.id: point for point in stored}
            for id_ in state.tail:
                points.pop(id_, None)
            points |= self._read(being_id, list(state.tail))
        data = encoded([points[id_] for id_ in sorted(points)], self.emb_id)
        self._blobs().put(name, data)
        if not self._files.replace(being_id, state, name, self.emb_id):
            self._remove(name)
            return False
        self.copies.put(name, data)
        self._remove(*_names(state))
        return True

    def _stored(self, name: str) -> list[StoredPoint] | None:
        """Return the points of a file, or None if it is gone or damaged."""
        data = self.copies.get(name)
        if data is None:
            data = self._blob(name)
            if data is None:
                return None
            self.copies.put(name, data)
        try:
            return decoded(data)
        except DamagedFileError:
            self.copies.remove(name)
            return None

    def _blob(self, name: str) -> bytes | None:
        if self._is_paused():
            return None
        try:
            return self._blobs().get(name)
        except UnavailableError:
            self._pause()
            return None

    def _is_paused(self) -> bool:
        return time.monotonic() < self._paused_until

    def _pause(self) -> None:
        self._paused_until = time.monotonic() + INDEX_FILE_RETRY_SECONDS

    def _remove(self, *names: str) -> None:
        for name in names:
            self.copies.remove(name)
            self._blobs().delete(name)

    # Items

    def _note(self, being_id: str, ids: Sequence[str]) -> bool:
        """Note changed points; return False if no file of this embedding has to know of them."""
        state = self._files.read(being_id) if ids else None
        if state is None:
            return False
        if state.emb_id not in (None, self.emb_id) and state.claim is None:
            return False
        self._files.note_now(being_id, ids)
        return True

    def _all(self, being_id: str) -> _Points:
        return {
            item.id: self._point(item)
            for items in pages(self._table, being_id, size=_PAGE)
            for item in items
        }

    def _read(self, being_id: str, ids: Sequence[str]) -> _Points:
        items = self._table.get_many([keys.point(being_id, id_) for id_ in ids]) if ids else {}
        points = map(from_item, items.values())
        return {item.id: self._point(item) for item in points}

    def _point(self, item: VectorItem) -> StoredPoint:
        row = row_of_item(item, self.emb_id)
        return StoredPoint(row, item.digest(self.emb_id), item.point_summary)


class _InMemory:
    """A Being's points as of the last change that was read; hold `lock` while using them."""

    def __init__(self, dimension: int) -> None:
        self.lock = threading.Lock()
        self.used = 0.0
        self.name: str | None = None  # the newest file that was seen
        self._dimension = dimension
        self.clear()

    def clear(self) -> None:
        """Forget all points."""
        self.matrix = PointMatrix(self._dimension)
        self.digests: dict[str, str] = {}
        self._summaries: dict[str, str] = {}
        self.tail: dict[str, str] = {}
        self._since: int | None = None
        self._changes = -1

    def search(self, question: Question) -> Candidates:
        """Return the best points, with those summaries that they have now."""
        summaries = self._summaries
        return replace(
            self.matrix.search(question),
            summaries=lambda ids: {id_: summaries[id_] for id_ in ids if id_ in summaries},
        )

    def _add(self, stored: Sequence[StoredPoint]) -> None:
        self.matrix.add([point.row for point in stored])
        self.digests.update({point.row.id: point.text_sha for point in stored})
        self._summaries.update(
            {point.row.id: point.summary for point in stored if point.summary is not None}
        )

    def has(self, state: IndexFile) -> bool:
        """Return whether every change in the file is in memory already."""
        is_same = self._since == state.since and not self.matrix.is_sparse
        return is_same and state.folded <= self._changes <= state.changes

    def load(self, state: IndexFile, stored: Sequence[StoredPoint]) -> None:
        """Replace all points by those of a file."""
        self.clear()
        self._add(stored)
        self._since = state.since

    def apply(self, state: IndexFile, changed: Sequence[str], points: _Points) -> None:
        """Replace or remove the points that have changed since."""
        self.matrix.remove(changed)
        for id_ in changed:
            self.digests.pop(id_, None)
            self._summaries.pop(id_, None)
        self._add(list(points.values()))
        self.tail = dict(state.tail)
        self._changes = state.changes


def _names(state: IndexFile) -> tuple[str, ...]:
    return tuple(name for name in (state.name, state.claim) if name is not None)
