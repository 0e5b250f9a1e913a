"""What the tests of the index share: a model of few words, and stores whose parts can fail."""

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random
from typing import Any

from nacre.being.memory.index.maintenance import IndexMaintenance
from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.text.searchable_text import IndexEntry
from nacre.core.clock import Clock
from nacre.core.errors import UnavailableError
from nacre.core.ids import new_uuid
from nacre.ports.items.table import Table, Write
from nacre.ports.vectors.embedder import Embedder, Vector
from nacre.ports.vectors.vector_index import (
    Candidates,
    Filter,
    Listing,
    Point,
    Question,
    VectorIndex,
)


@dataclass
class Words:
    """An Embedder: every word is a direction of its own; it can be down."""

    name: str = "words"
    dimension: int = 16
    is_down: bool = False
    asked: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)  # that it gave vectors for

    @property
    def emb_id(self) -> str:
        return f"test:{self.name}:{self.dimension}:1"

    def documents(self, texts: Sequence[str]) -> list[Vector]:
        self.asked += texts
        if self.is_down:
            raise UnavailableError("the model is down")
        self.texts += texts
        return [self.query(text) for text in texts]

    def query(self, text: str) -> Vector:
        if self.is_down:
            raise UnavailableError("the model is down")
        numbers = [0.0] * self.dimension
        for word in text.lower().split():
            place = sha256(f"{self.name} {word}".encode()).digest()[0] % self.dimension
            numbers[place] += 1.0
        length = math.hypot(*numbers) or 1.0
        return array("f", [number / length for number in numbers]).tobytes()


class Failing:
    """A VectorIndex that hands on, unless it is down, and counts what it was told."""

    def __init__(self, index: VectorIndex) -> None:
        self.emb_id = index.emb_id
        self.is_derived = index.is_derived
        self.is_told_in_transaction = index.is_told_in_transaction
        self.is_down = False
        self.before_upsert: Callable[[], object] = lambda: None
        self.upserted: list[str] = []
        self._index = index

    def changes(self, being_id: str, ids: Sequence[str]) -> list[Write]:
        return self._index.changes(being_id, ids)

    def settle(self, being_id: str, *, more_follow: bool = False) -> None:
        self._check()
        self._index.settle(being_id, more_follow=more_follow)

    def upsert(self, being_id: str, points: Sequence[Point]) -> None:
        self._check()
        before, self.before_upsert = self.before_upsert, lambda: None
        before()
        self.upserted += [point.id for point in points]
        self._index.upsert(being_id, points)

    def delete(self, being_id: str, ids: Sequence[str]) -> None:
        self._check()
        self._index.delete(being_id, ids)

    def search(self, being_id: str, question: Question) -> Candidates:
        self._check()
        return self._index.search(being_id, question)

    def list_days(self, being_id: str, where: Filter, *, limit: int) -> Listing:
        self._check()
        return self._index.list_days(being_id, where, limit=limit)

    def scan(self, being_id: str, *, after: str | None, limit: int) -> list[tuple[str, str]]:
        self._check()
        return self._index.scan(being_id, after=after, limit=limit)

    def erase(self, being_id: str) -> None:
        self._check()
        self._index.erase(being_id)

    def _check(self) -> None:
        if self.is_down:
            raise UnavailableError("the index is down")


class Bench:
    """A Being's index over a table, and a second process with other settings where wanted."""

    def __init__(
        self, table: Table, open_index: Callable[[str], VectorIndex], clock: Clock
    ) -> None:
        self.table = table
        self.clock = clock
        self.rng = Random(3)
        self.being_id = new_uuid(self.rng)
        self.words = Words()
        self.failed: list[str] = []
        self._open = open_index
        self._indexes: dict[str, Failing] = {}
        self.indexing = self.process(self.words)
        self.upkeep = IndexMaintenance(self.indexing)

    def process(self, embedder: Embedder | None, *others: Embedder, **settings: Any) -> IndexSync:
        """Return what another process has, with these settings."""
        known = {each.emb_id: each for each in others}
        return IndexSync(
            self.table,
            self.index,
            embedder,
            clock=self.clock,
            rng=self.rng,
            load_embedder=known.get,
            failed=self.failed.append,
            **settings,
        )

    def index(self, emb_id: str) -> Failing:
        """Return the index of an embedding, the same for all processes."""
        if emb_id not in self._indexes:
            self._indexes[emb_id] = Failing(self._open(emb_id))
        return self._indexes[emb_id]

    @property
    def active(self) -> Failing:
        """Return the index of the first process."""
        return self.index(self.words.emb_id)

    def write(self, *entries: IndexEntry, by: IndexSync | None = None, apply: bool = True) -> None:
        """Write entries as a repository does; without `apply` it dies after the commit."""
        indexing = by or self.indexing
        change = indexing.prepare(self.being_id, entries)
        self.table.transact(change.writes)
        if apply:
            change.apply()

    def remove(self, *ids: str, apply: bool = True) -> None:
        """Delete entries as a repository does."""
        change = self.indexing.prepare(self.being_id, [], ids)
        self.table.transact(change.writes)
        if apply:
            change.apply()

    def found(self, text: str, by: IndexSync | None = None) -> tuple[list[str], list[str]]:
        """Return what a search for a text finds: by meaning and by words."""
        reading = (by or self.indexing).active_index(self.being_id)
        vector = reading.embedder.query(text) if reading.embedder else None
        found = reading.index.search(
            self.being_id, Question(dense=vector, sparse=text.split(), where=Filter(), limit=50)
        )
        near = [hit.id for hit in found.dense if hit.score > 0.1]
        return near, [hit.id for hit in found.sparse]

    def marks(self) -> list[tuple[str, ...]]:
        """Return what is marked now."""
        return [mark.ids for page in self.indexing.marks.all(self.being_id) for mark in page]


def entry(id_: str, text: str, **fields: Any) -> IndexEntry:
    given: dict[str, Any] = {
        "id": id_,
        "kind": "node",
        "text": text,
        "state": "active",
        "cluster_id": None,
        "days": ("2026-07-01",),
        "actors": (),
        **fields,
    }
    return IndexEntry(**given)
